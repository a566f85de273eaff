//! The command at its boundaries: arguments in, output, files and exit codes out.

mod command;
mod trace;
