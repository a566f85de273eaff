//! Tests of the whole command: arguments go in, and output, files and exit codes come out.

mod bench;
mod command;
mod compare;
mod engine;
mod fit;
mod image;
mod index;
mod machine;
mod model;
mod repro;
mod run;
mod sheet;
mod tpcc;
mod trace;
mod wrong;
