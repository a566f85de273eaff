//! The Linux flash storage stack, one folder or file per layer, bottom-up.
//!
//! [`mtd`] (partitions, the one-page buffer, ECC in hardware or software), the flash translation
//! layers ([`ftl`]) that make a [`block_device`] of a chip, the bus to one in a [`card`], the file systems ([`jffs2`], [`pramfs`],
//! [`plainfs`], [`tmpfs`], [`ubifs`] on [`ubi`], [`yaffs2`]), the page [`cache`] with its read-ahead, and the [`vfs`] on top.
//! A layer knows the layers below it and nothing of SQL; CPU time is charged through [`cpu`],
//! causes through the scopes of `flysch_chip::Recorder`.

#![forbid(unsafe_code)]

pub mod block_device;
pub mod cache;
pub mod card;
pub mod cpu;
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
pub mod zstd;
