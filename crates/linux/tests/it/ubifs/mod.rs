//! UBIFS on UBI on a simulated chip: files are intact after remounts, power cuts, and on full
//! devices.

mod attach;
mod bulk_read;
mod commits;
mod content;
mod cuts;
mod device;
mod fastmap;
mod flusher;
mod full;
mod images;
mod journal_cuts;
mod moves;
mod wear;
