//! The command at its boundaries: arguments in, output, files and exit codes out.

mod bench;
mod command;
mod compare;
mod fit;
mod image;
mod index;
mod machine;
mod model;
mod repro;
mod tpcc;
mod trace;
