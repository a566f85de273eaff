//! UBIFS on UBI on a simulated chip: files come back, through remounts, power cuts, full devices.

mod bulk_read;
mod content;
mod cuts;
mod device;
mod fastmap;
mod flusher;
mod images;
mod wear;
