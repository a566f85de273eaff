//! Sectors on pages: requests are cut into pages. A page that is written in part is read first.

use flysch_chip::Recorder;

use super::log_block::LogBlockFtl;
use super::page_map::PageFtl;
use crate::block_device::{BlockDevice, BlockError};

/// A store of logical pages, with one of the two mappings.
#[derive(Clone)]
pub(super) enum Store {
    Page(PageFtl),
    LogBlock(LogBlockFtl),
}

impl Store {
    fn read(&mut self, logical: u32, data: &mut [u8]) -> Result<bool, BlockError> {
        match self {
            Self::Page(ftl) => ftl.pool.read(logical, data),
            Self::LogBlock(ftl) => ftl.pool.read(logical, data),
        }
    }

    fn write(&mut self, logical: u32, data: &[u8]) -> Result<(), BlockError> {
        match self {
            Self::Page(ftl) => ftl.write(logical, data),
            Self::LogBlock(ftl) => ftl.write(logical, data),
        }
    }
}

/// A block device that stores its sectors in logical pages.
#[derive(Clone)]
pub(super) struct Sectors {
    pub(super) store: Store,
    pub(super) recorder: Recorder,
    pub(super) sector_size: u32,
    pub(super) sector_count: u32,
    pub(super) page_size: usize,
}

/// The part of a request that lies in one page.
struct Piece {
    logical: u32,
    column: usize,
    /// Where the part begins in the bytes of the request.
    at: usize,
    len: usize,
}

impl Sectors {
    fn pieces(&self, first: u32, len: usize) -> Vec<Piece> {
        let sector_size = self.sector_size as usize;
        assert!(len.is_multiple_of(sector_size), "a request is whole sectors");
        let start = first as usize * sector_size;
        let size = self.sector_count as usize * sector_size;
        assert!(start + len <= size, "sector {first} and {len} bytes reach beyond the device");
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < len {
            let column = (start + at) % self.page_size;
            let logical = u32::try_from((start + at) / self.page_size).expect("a page number");
            let part = (self.page_size - column).min(len - at);
            pieces.push(Piece { logical, column, at, len: part });
            at += part;
        }
        pieces
    }

    /// The sector in which a piece begins.
    fn sector_of(&self, piece: &Piece) -> u32 {
        let byte = piece.logical as usize * self.page_size + piece.column;
        u32::try_from(byte / self.sector_size as usize).expect("a sector number")
    }

    fn read_piece(&mut self, piece: &Piece, page: &mut [u8]) -> Result<(), BlockError> {
        if self.store.read(piece.logical, page)? {
            return Ok(());
        }
        Err(BlockError::Damaged { sector: self.sector_of(piece) })
    }
}

impl BlockDevice for Sectors {
    fn sector_size(&self) -> u32 {
        self.sector_size
    }

    fn sector_count(&self) -> u32 {
        self.sector_count
    }

    fn read(&mut self, first: u32, bytes: &mut [u8]) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_read");
        let mut page = vec![0; self.page_size];
        for piece in self.pieces(first, bytes.len()) {
            self.read_piece(&piece, &mut page)?;
            let part = &page[piece.column..][..piece.len];
            bytes[piece.at..][..piece.len].copy_from_slice(part);
        }
        Ok(())
    }

    fn write(&mut self, first: u32, bytes: &[u8]) -> Result<(), BlockError> {
        let _scope = self.recorder.scope("ftl_write");
        let mut page = vec![0; self.page_size];
        for piece in self.pieces(first, bytes.len()) {
            if piece.len < self.page_size {
                self.read_piece(&piece, &mut page)?;
            }
            page[piece.column..][..piece.len].copy_from_slice(&bytes[piece.at..][..piece.len]);
            self.store.write(piece.logical, &page)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        Ok(())
    }

    fn copy(&self) -> Option<Box<dyn BlockDevice>> {
        Some(Box::new(self.clone()))
    }
}
