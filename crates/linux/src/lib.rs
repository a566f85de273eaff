//! The Linux flash storage stack, one folder or file per layer, bottom-up.
//!
//! From the chip upwards the layers are:
//!
//! * [`mtd`]: partitions of the raw NAND, the one-page buffer, ECC in hardware or in software;
//! * [`ftl`]: flash translation layers, which turn a chip into a [`block_device`]; [`card`] adds
//!   the bus of an SD card or eMMC;
//! * the file systems: [`jffs2`], [`yaffs2`] and [`ubifs`] (on [`ubi`]) for raw NAND, [`plainfs`]
//!   for block devices, [`pramfs`] for byte-addressed memory, [`tmpfs`] for RAM;
//! * [`cache`]: the page cache, with its read-ahead;
//! * [`vfs`]: the system calls that a program makes.
//!
//! A layer knows the layers below it and nothing of SQL. Each layer charges its CPU time through
//! [`cpu`], and opens scopes of `flysch_chip::Recorder` so that every flash operation in a trace
//! has a cause.

#![forbid(unsafe_code)]

pub mod block_device;
pub mod cache;
pub mod card;
pub mod cpu;
mod crc16;
mod deflate;
pub mod filesystem;
pub mod ftl;
pub mod jffs2;
pub mod lzo;
mod memo;
pub mod mtd;
pub mod plainfs;
pub mod pramfs;
mod timer;
pub mod tmpfs;
pub mod ubi;
pub mod ubifs;
pub mod vfs;
pub mod yaffs2;
mod zstd;
