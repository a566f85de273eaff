//! The block table: for each physical block, which logical block it holds.
//!
//! ```text
//! code u16: space in the upper two bits, three with rings, number below | wear, dead share
//! ```
//!
//! The last sixteen numbers of the last space are the codes of blocks that are no logical block.
//!
//! 1. No two entries name the same logical block.
//! 2. Nothing else knows in which physical block a logical block lies.
//! 3. Wear and dead shares are guesses. They decide what is done next, and never what is believed.
//!    A cut may forget some of them, which costs time and nothing else.

use super::address::{Numbers, Space};
use crate::bytes::array;

/// Bytes of an entry, in RAM and on flash.
pub const ENTRY_SIZE: usize = 3;
/// The greatest dead share, in sixteenths.
pub(crate) const DEAD_MAX: u8 = 15;
/// The greatest wear that an entry can hold.
const WEAR_MAX: u8 = 15;

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// For nothing: it may be taken.
    Free,
    /// For nothing any more: it is marked bad, by the factory or after a failure.
    Bad,
    /// For a root.
    Root,
    /// For the log.
    Log,
    /// For the logical block of a space with this number.
    Data(Space, u32),
}

const FREE: u16 = 0xFFFF;
const BAD: u16 = 0xFFFE;
const ROOT: u16 = 0xFFFD;
const LOG: u16 = 0xFFFC;
/// First of the codes that are no logical block: numbers of the last space stay below.
const RESERVED: u16 = 0xFFF0;
/// A bit that is set in the entries of rings' blocks, in a database with rings.
const RING: u16 = 1 << 13;
/// Greatest number of blocks of a partition with rings: their numbers have to leave the bit
/// [`RING`] free.
pub(crate) const RING_BLOCKS_MAX: u32 = 4096;

impl Use {
    /// The code of this use, in RAM and on flash.
    pub(crate) const fn code(self) -> u16 {
        match self {
            Self::Free => FREE,
            Self::Bad => BAD,
            Self::Root => ROOT,
            Self::Log => LOG,
            Self::Data(space, number) => {
                debug_assert!(number < 1 << 14, "a block number has 14 bits");
                match space {
                    Space::RingA => RING | number as u16,
                    Space::RingB => 1 << 14 | RING | number as u16,
                    Space::Hot | Space::Cold | Space::Young | Space::Old => {
                        (space as u16) << 14 | number as u16
                    }
                }
            }
        }
    }

    /// The use that a code stands for; None where it stands for none.
    pub(crate) const fn of_code(code: u16, has_rings: bool) -> Option<Self> {
        match code {
            FREE => Some(Self::Free),
            BAD => Some(Self::Bad),
            ROOT => Some(Self::Root),
            LOG => Some(Self::Log),
            RESERVED.. => None,
            _ if has_rings && code & RING != 0 => match code >> 14 {
                0 => Some(Self::Data(Space::RingA, (code & !RING) as u32)),
                1 => Some(Self::Data(Space::RingB, (code & (RING - 1)) as u32)),
                _ => None,
            },
            _ => match Space::of_code((code >> 14) as u8) {
                Some(space) => Some(Self::Data(space, (code & 0x3FFF) as u32)),
                None => None,
            },
        }
    }
}

/// How many erases of a block a unit of wear is, after so many erases of the device.
const fn wear_unit(erases: u32, blocks: u32) -> u32 {
    let fifties = erases / (50 * blocks);
    if fifties < 2 { 1 } else { 1 << fifties.ilog2() }
}

/// Number of logical blocks whose physical block is remembered.
const CACHE_LEN: usize = 8;

/// The block table in RAM.
#[derive(Debug)]
pub(crate) struct Table<'ram> {
    entries: &'ram mut [u8],
    /// For logical blocks that were looked up lately, the code and the physical block.
    cache: [(u16, u16); CACHE_LEN],
    next: u8,
    /// Number of free blocks.
    free: u16,
    /// Whether the database has rings, so that codes have the bit [`RING`].
    pub(crate) has_rings: bool,
}

impl<'ram> Table<'ram> {
    /// A table in which every block is free.
    pub(crate) fn new(entries: &'ram mut [u8], has_rings: bool) -> Self {
        for entry in entries.chunks_exact_mut(ENTRY_SIZE) {
            entry.copy_from_slice(&[0xFF, 0xFF, 0]);
        }
        let free = (entries.len() / ENTRY_SIZE) as u16;
        Self { entries, cache: [(FREE, 0); CACHE_LEN], next: 0, free, has_rings }
    }

    /// Number of blocks in the table.
    pub(crate) fn len(&self) -> u32 {
        (self.entries.len() / ENTRY_SIZE) as u32
    }

    /// The entries in their form on flash.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.entries
    }

    /// Take over entries from flash, beginning with that of block `from`. Impossible codes are
    /// refused.
    pub(crate) fn load(&mut self, from: usize, bytes: &[u8]) -> Result<(), ()> {
        debug_assert!(bytes.len().is_multiple_of(ENTRY_SIZE), "entries are whole");
        debug_assert!(
            from * ENTRY_SIZE + bytes.len() <= self.entries.len(),
            "they are in the table"
        );
        self.cache = [(FREE, 0); CACHE_LEN];
        let code = |entry: &[u8]| u16::from_le_bytes(array(&entry[..2]));
        let known = |entry: &[u8]| self.use_of(code(entry)).is_some();
        if !bytes.chunks_exact(ENTRY_SIZE).all(known) {
            return Err(());
        }
        self.entries[from * ENTRY_SIZE..][..bytes.len()].copy_from_slice(bytes);
        self.free = (0..self.len()).filter(|&block| self.code(block) == FREE).count() as u16;
        Ok(())
    }

    /// The use that a code on flash stands for; None where it stands for none, or for a block that
    /// no space can name.
    pub(crate) fn use_of(&self, code: u16) -> Option<Use> {
        let limit = Numbers::new(self.len(), 1).block_count();
        let is_named = |used: &Use| !matches!(used, Use::Data(_, number) if *number >= limit);
        Use::of_code(code, self.has_rings).filter(is_named)
    }

    /// What a block is used for.
    pub(crate) fn at(&self, block: u32) -> Use {
        let used = Use::of_code(self.code(block), self.has_rings);
        debug_assert!(used.is_some(), "only entries with a meaning are stored");
        used.unwrap_or(Use::Bad)
    }

    /// Change what a block is used for. A block that had the same logical name loses it, and is
    /// given back.
    pub(crate) fn set(&mut self, block: u32, used: Use) -> Option<u32> {
        assert!(block < self.len(), "the block is in the table");
        let old = match used {
            Use::Data(space, number) => self.find(space, number),
            Use::Free | Use::Bad | Use::Root | Use::Log => None,
        };
        if let Some(old) = old {
            self.write(old, FREE);
        }
        self.write(block, used.code());
        old
    }

    /// The physical block that holds a logical block; None where none does.
    pub(crate) fn find(&mut self, space: Space, number: u32) -> Option<u32> {
        let code = Use::Data(space, number).code();
        let known = self.cache.iter().find(|(known, _)| *known == code);
        if let Some((_, block)) = known.filter(|(_, block)| self.code(u32::from(*block)) == code) {
            return Some(u32::from(*block));
        }
        let block = (0..self.len()).find(|&block| self.code(block) == code)?;
        self.cache[usize::from(self.next)] = (code, block as u16);
        self.next = (self.next + 1) % CACHE_LEN as u8;
        Some(block)
    }

    /// Number of free blocks.
    pub(crate) const fn free_count(&self) -> u32 {
        self.free as u32
    }

    /// How much of a block is dead, in sixteenths: a guess.
    pub(crate) fn dead(&self, block: u32) -> u8 {
        self.note(block) & 0x0F
    }

    /// Set how much of a block is dead, in sixteenths.
    pub(crate) fn set_dead(&mut self, block: u32, dead: u8) {
        debug_assert!(block < self.len(), "the block is in the table");
        let wear = self.note(block) & 0xF0;
        self.entries[block as usize * ENTRY_SIZE + 2] = wear | dead.min(DEAD_MAX);
    }

    /// How much more a block is worn than the least worn one, in units of wear: a guess.
    pub(crate) fn wear(&self, block: u32) -> u8 {
        self.note(block) >> 4
    }

    /// The wear of the most worn free block, which content that stays is given; 0 if there is none.
    pub(crate) fn greatest_free_wear(&self) -> u8 {
        let free = (0..self.len()).filter(|block| self.at(*block) == Use::Free);
        free.map(|block| self.wear(block)).max().unwrap_or(0)
    }

    /// Note that a block was erased. `erases` is the device's number of erases with this one.
    ///
    /// A unit of wear is 1, 2, 4 and so on erases as the device ages, but never more than a
    /// fiftieth of the mean wear. Where a unit is `n` erases, one erase in `n` is counted; the hash
    /// of the erase's number picks it.
    pub(crate) fn note_erase(&mut self, block: u32, erases: u32) {
        debug_assert!(erases > 0, "the erase was counted");
        let unit = wear_unit(erases, self.len());
        if wear_unit(erases - 1, self.len()) < unit {
            self.change_wear(|wear| wear / 2);
        }
        debug_assert!(unit.is_power_of_two(), "units double");
        if (erases.wrapping_mul(0x9E37_79B9) >> 16) & (unit - 1) != 0 {
            return;
        }
        if self.wear(block) == WEAR_MAX {
            let counts = |block: &u32| !matches!(self.at(*block), Use::Bad | Use::Root);
            let least = (0..self.len()).filter(counts).map(|block| self.wear(block)).min();
            // The most worn blocks stay apart, whatever the least worn one is. Blocks of roots may
            // be worn far more, and would wipe out what is known of the others.
            let least = least.unwrap_or(0).max(u8::from(counts(&block)));
            self.change_wear(|wear| wear.saturating_sub(least));
        }
        let wear = (self.wear(block) + 1).min(WEAR_MAX);
        self.entries[block as usize * ENTRY_SIZE + 2] = wear << 4 | self.dead(block);
    }

    fn change_wear(&mut self, change: impl Fn(u8) -> u8) {
        for entry in self.entries.chunks_exact_mut(ENTRY_SIZE) {
            entry[2] = (entry[2] & 0x0F) | change(entry[2] >> 4) << 4;
        }
    }

    fn note(&self, block: u32) -> u8 {
        self.entries[block as usize * ENTRY_SIZE + 2]
    }

    fn code(&self, block: u32) -> u16 {
        u16::from_le_bytes(array(&self.entries[block as usize * ENTRY_SIZE..][..2]))
    }

    /// Write the code of a block. Its content is another one, so nothing of it is dead.
    fn write(&mut self, block: u32, code: u16) {
        self.free += u16::from(code == FREE);
        self.free -= u16::from(self.code(block) == FREE);
        debug_assert!(u32::from(self.free) <= self.len(), "no more blocks are free than there are");
        self.set_dead(block, 0);
        let at = block as usize * ENTRY_SIZE;
        self.entries[at..at + 2].copy_from_slice(&code.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logical_name_is_in_one_place() {
        let mut memory = [0; 24 * ENTRY_SIZE];
        let mut table = Table::new(&mut memory, false);
        assert_eq!(table.free_count(), 24);
        table.set(3, Use::Data(Space::Young, 77));
        assert_eq!(table.find(Space::Young, 77), Some(3));
        table.set(9, Use::Data(Space::Young, 77));
        assert_eq!(table.find(Space::Young, 77), Some(9), "the cache does not keep what moved");
        assert_eq!(table.at(3), Use::Free);
        table.set(9, Use::Bad);
        assert_eq!(table.find(Space::Young, 77), None);
    }

    #[test]
    fn codes_come_back_and_those_without_meaning_are_refused() {
        let uses = [Use::Free, Use::Bad, Use::Root, Use::Log, Use::Data(Space::Old, 16_367)];
        for used in uses {
            assert_eq!(Use::of_code(used.code(), false), Some(used));
        }
        let mut memory = [0; 2 * ENTRY_SIZE];
        let mut table = Table::new(&mut memory, false);
        assert_eq!(table.load(0, &[0xF5, 0xFF, 0]), Err(()));
        assert_eq!(table.load(1, &[0x04, 0xC0, 0]), Err(()), "two blocks have numbers up to 3");
        assert_eq!(table.load(1, &[0x03, 0xC0, 0x37]), Ok(()));
        assert_eq!(table.at(1), Use::Data(Space::Old, 3));
        assert_eq!((table.wear(1), table.dead(1), table.free_count()), (3, 7, 1));
    }

    #[test]
    fn wear_is_told_in_coarser_units_as_the_device_ages() {
        let mut memory = [0; 2 * ENTRY_SIZE];
        let mut table = Table::new(&mut memory, false);
        assert_eq!((wear_unit(199, 2), wear_unit(200, 2), wear_unit(1_000, 2)), (1, 2, 8));
        (1..=8).for_each(|erases| table.note_erase(0, erases));
        (9..=200).for_each(|erases| table.note_erase(1, erases));
        let (less, more) = (table.wear(0), table.wear(1));
        assert!(less < more && more <= 8, "{less} and {more} after the unit has doubled");
        (201..=301).for_each(|erases| table.note_erase(0, erases));
        assert!(table.wear(0) > table.wear(1), "one erase in two is counted");
    }

    #[test]
    fn wear_is_told_against_the_least_worn_block() {
        let mut memory = [0; 2 * ENTRY_SIZE];
        let mut table = Table::new(&mut memory, false);
        (1..=20).for_each(|erases| table.note_erase(0, erases));
        assert_eq!((table.wear(0), table.wear(1)), (15, 0), "what is too much is not told");
        (21..=24).for_each(|erases| table.note_erase(1, erases));
        table.note_erase(0, 25);
        assert_eq!((table.wear(0), table.wear(1)), (12, 0));
        table.set_dead(1, 9);
        table.set(1, Use::Log);
        assert_eq!((table.wear(1), table.dead(1)), (0, 0), "what is dead goes with the block");
    }

    /// One block is never erased, and one holds roots.
    #[test]
    fn the_most_worn_blocks_stay_apart() {
        let mut memory = [0; 4 * ENTRY_SIZE];
        let mut table = Table::new(&mut memory, false);
        table.set(3, Use::Root);
        (1..=15).for_each(|erases| table.note_erase(0, erases));
        (1..=10).for_each(|erases| table.note_erase(1, erases));
        (1..=30).for_each(|erases| table.note_erase(3, erases));
        assert_eq!([0, 1, 2, 3].map(|block| table.wear(block)), [15, 10, 0, 15]);
        (31..=33).for_each(|erases| table.note_erase(0, erases));
        assert_eq!([0, 1, 2].map(|block| table.wear(block)), [15, 7, 0]);
        assert_eq!(table.greatest_free_wear(), 15);
        table.set(0, Use::Log);
        assert_eq!(table.greatest_free_wear(), 7, "that of the log is not free");
    }
}
