//! The virtual machine: the unmodified Linux kernel of Debian with nandsim for a chip, in QEMU.
//!
//! [`store`] is what is kept between runs, and [`set_up`] makes it: `packages` fetches with the
//! system's package manager, `module` builds the one helper module, `unpack` takes the files out.
//! [`guest`] is what a guest is made of, `image` its memory disk, [`qemu`] runs it and looks after
//! it, [`answer`] is what it leaves.
//!
//! Invariants:
//! 1. A guest leaves nothing: its disk is memory, its console and results are temporary files.
//! 2. A guest ends: by itself, at its time limit, or with this program.

pub mod answer;
mod error;
pub mod guest;
mod image;
mod module;
mod packages;
mod process;
pub mod qemu;
pub mod set_up;
pub mod store;
mod ubi;
mod unpack;

pub use error::VmError;
