//! Tests of the whole command: arguments go in, and output, files and exit codes come out.

mod advise;
mod bench;
mod budget;
mod command;
mod compare;
mod crash;
mod engine;
mod fit;
mod image;
mod index;
mod machine;
mod model;
mod record;
mod repro;
mod run;
mod sheet;
mod tpcc;
mod trace;
mod wrong;
