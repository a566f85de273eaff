//! A partition: a run of blocks, addressed in bytes from its own start.

use std::cell::{Ref, RefCell};
use std::rc::Rc;

use flysch_nand::{BlockAddr, Geometry, PageAddr};

use super::{MtdError, RawNand, ReadQuality};
use crate::cpu::Cpu;

/// First OOB byte that file systems may use. In the kernel's large-page layout
/// (`nand_ooblayout_lp`) two bytes before it hold the bad-block mark, and the ECC codes stand at
/// the end.
const OOB_FREE_START: u32 = 2;

/// A partition of a raw NAND chip.
#[derive(Clone)]
pub struct Partition {
    raw: Rc<RefCell<RawNand>>,
    geometry: Geometry,
    first_block: u32,
    block_count: u32,
}

impl Partition {
    /// Make a partition of `block_count` blocks from `first_block` on. `None` if the chip has
    /// fewer.
    pub fn new(raw: Rc<RefCell<RawNand>>, first_block: u32, block_count: u32) -> Option<Self> {
        let geometry = raw.borrow().geometry();
        let end = first_block.checked_add(block_count)?;
        let fits = end <= geometry.block_count && block_count > 0;
        fits.then_some(Self { raw, geometry, first_block, block_count })
    }

    /// The partition with a raw NAND layer of its own, in the state of this one and on the same
    /// chip.
    #[must_use]
    pub fn apart(&self) -> Self {
        let raw = self.raw.borrow().clone();
        Self { raw: Rc::new(RefCell::new(raw)), ..self.clone() }
    }

    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub const fn block_count(&self) -> u32 {
        self.block_count
    }

    /// OOB bytes per page that a file system may use.
    pub const fn oob_free(&self) -> u32 {
        self.geometry.oob_size.saturating_sub(OOB_FREE_START)
    }

    /// Number, on the chip, of the partition's first block.
    pub const fn first_block(&self) -> u32 {
        self.first_block
    }

    /// The CPU that pays for requests.
    pub fn cpu(&self) -> Ref<'_, Cpu> {
        Ref::map(self.raw.borrow(), RawNand::cpu)
    }

    /// Read `bytes` from `offset` on. This costs one array read for each page touched, except the
    /// page in the buffer.
    ///
    /// A page that ECC cannot correct is no error: see [`ReadQuality::Damaged`].
    ///
    /// # Panics
    /// If the bytes are not within the partition.
    pub fn read(&self, offset: impl Into<u64>, bytes: &mut [u8]) -> Result<ReadQuality, MtdError> {
        let mut raw = self.raw.borrow_mut();
        raw.charge_request();
        let page_size = self.geometry.page_size;
        let mut quality = ReadQuality::Clean;
        let (mut at, mut rest) = (offset.into(), bytes);
        while !rest.is_empty() {
            let column = self.column_at(at);
            let len = rest.len().min((page_size - column) as usize);
            let (part, tail) = rest.split_at_mut(len);
            quality = quality.worst(raw.read(self.page_at(at), column, part)?);
            at += len as u64;
            rest = tail;
        }
        Ok(quality)
    }

    /// Program whole pages from `offset` on, which must be the start of a page. Each page costs one
    /// program. The first page that fails ends the call.
    ///
    /// # Panics
    /// If the bytes are not whole pages within the partition.
    pub fn write(&self, offset: impl Into<u64>, data: &[u8]) -> Result<(), MtdError> {
        let (offset, page_size) = (offset.into(), self.geometry.page_size as usize);
        assert!(self.column_at(offset) == 0, "write at a page boundary");
        assert!(data.len().is_multiple_of(page_size), "write whole pages");
        let mut raw = self.raw.borrow_mut();
        raw.charge_request();
        let first = self.page_at(offset);
        for (page, bytes) in (first.0..).zip(data.chunks(page_size)) {
            raw.program(PageAddr(page), 0, bytes, &[])?;
        }
        Ok(())
    }

    /// Program whole sectors of one page. This costs one program. Linux allows it on chips without
    /// the flag `NAND_NO_SUBPAGE_WRITE`.
    pub fn write_sectors(&self, offset: impl Into<u64>, data: &[u8]) -> Result<(), MtdError> {
        let offset = offset.into();
        let column = self.column_at(offset);
        let mut raw = self.raw.borrow_mut();
        raw.charge_request();
        raw.program(self.page_at(offset), column, data, &[])
    }

    /// Read the OOB bytes of the page at `offset` that file systems may use. This costs one OOB
    /// read.
    pub fn read_oob(
        &self,
        offset: impl Into<u64>,
        bytes: &mut [u8],
    ) -> Result<ReadQuality, MtdError> {
        self.raw.borrow_mut().read_oob(self.page_at(offset.into()), OOB_FREE_START, bytes)
    }

    /// Program the OOB bytes of the page at `offset` that file systems may use. This costs one OOB
    /// program.
    pub fn write_oob(&self, offset: impl Into<u64>, bytes: &[u8]) -> Result<(), MtdError> {
        let mut oob = vec![0xFF; OOB_FREE_START as usize];
        oob.extend_from_slice(bytes);
        self.raw.borrow_mut().program(self.page_at(offset.into()), 0, &[], &oob)
    }

    /// Read the page at `offset` together with its free OOB bytes. This costs one array read even
    /// if the page is in the buffer.
    pub fn read_with_oob(
        &self,
        offset: impl Into<u64>,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<ReadQuality, MtdError> {
        let mut raw = self.raw.borrow_mut();
        raw.charge_request();
        raw.read_whole(self.page_at(offset.into()), data, OOB_FREE_START, oob)
    }

    /// Program the page at `offset` together with its free OOB bytes. This costs one program.
    pub fn write_with_oob(
        &self,
        offset: impl Into<u64>,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), MtdError> {
        let mut whole_oob = vec![0xFF; OOB_FREE_START as usize];
        whole_oob.extend_from_slice(oob);
        let mut raw = self.raw.borrow_mut();
        raw.charge_request();
        raw.program(self.page_at(offset.into()), 0, data, &whole_oob)
    }

    pub fn erase(&self, block: u32) -> Result<(), MtdError> {
        self.raw.borrow_mut().erase(self.block_at(block))
    }

    /// Erase every good block and call `prepare` with its number. A block is marked bad if either
    /// fails.
    pub(crate) fn erase_all(
        &self,
        prepare: impl Fn(u32) -> Result<(), MtdError>,
    ) -> Result<(), MtdError> {
        for block in (0..self.block_count).filter(|&block| !self.is_bad(block)) {
            match self.erase(block).and_then(|()| prepare(block)) {
                Err(MtdError::PowerLost) => return Err(MtdError::PowerLost),
                Err(_) => self.mark_bad(block)?,
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Whether a block of the partition is bad. The table of bad blocks is in memory, so that
    /// asking costs nothing.
    pub fn is_bad(&self, block: u32) -> bool {
        self.raw.borrow().is_bad(self.block_at(block))
    }

    /// Mark a block of the partition bad. This costs one OOB program.
    pub fn mark_bad(&self, block: u32) -> Result<(), MtdError> {
        self.raw.borrow_mut().mark_bad(self.block_at(block))
    }

    fn block_at(&self, block: u32) -> BlockAddr {
        assert!(block < self.block_count, "block {block} is beyond the partition");
        BlockAddr(self.first_block + block)
    }

    fn page_at(&self, offset: u64) -> PageAddr {
        let block = offset / u64::from(self.geometry.block_size());
        let block = u32::try_from(block).expect("within the partition");
        let in_block = offset % u64::from(self.geometry.block_size());
        let page = u32::try_from(in_block).expect("within a block") / self.geometry.page_size;
        PageAddr(self.geometry.first_page(self.block_at(block)).0 + page)
    }

    /// The place in its page of the byte at `offset`.
    fn column_at(&self, offset: u64) -> u32 {
        let column = offset % u64::from(self.geometry.page_size);
        u32::try_from(column).expect("within a page")
    }
}
