//! The virtual machine: Debian's unmodified Linux kernel in QEMU, with nandsim as the flash chip.
//!
//! [`store`] is what is kept between runs, and [`set_up`] makes it: `packages` fetches it with the
//! system's package manager, `module` builds the helper module, and `unpack` extracts the files.
//! [`guest`] describes a guest and `image` makes its memory disk. [`qemu`] runs the guest and
//! watches it. [`answer`] is what the guest returns.
//!
//! Invariants:
//! 1. A guest leaves nothing behind: its disk is in memory, its console and results are temporary
//!    files.
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
