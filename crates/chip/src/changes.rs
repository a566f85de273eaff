//! The list of all changes that devices on one power supply made, in order. With it, their content
//! at any moment can be restored.

use std::cell::RefCell;
use std::rc::Rc;

use flysch_nand::{BlockAddr, EraseError, Nand, NvRam, NvRamError, PageAddr, ProgramError};

/// A change that a device made, with all of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Program {
        page: PageAddr,
        column: u32,
        data: Vec<u8>,
        oob: Vec<u8>,
    },
    Erase(BlockAddr),
    MarkBad(BlockAddr),
    /// A write to byte-addressable memory.
    Write {
        addr: u32,
        bytes: Vec<u8>,
    },
}

impl Change {
    /// Apply the change again. Returns whether it succeeded, which it does not if the power is cut.
    pub fn apply(&self, nand: &mut impl Nand, memory: &mut impl NvRam) -> bool {
        match self {
            Self::Program { page, column, data, oob } => {
                nand.program(*page, *column, data, oob) != Err(ProgramError::PowerLost)
            }
            Self::Erase(block) => nand.erase(*block) != Err(EraseError::PowerLost),
            Self::MarkBad(block) => nand.mark_bad(*block).is_ok(),
            Self::Write { addr, bytes } => memory.write(*addr, bytes) != Err(NvRamError::PowerLost),
        }
    }
}

/// A list of changes. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Changes(Rc<RefCell<Vec<Change>>>);

impl Changes {
    pub(crate) fn push(&self, change: Change) {
        self.0.borrow_mut().push(change);
    }

    /// Number of changes so far.
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Take all changes. The list is then empty.
    pub fn take(&self) -> Vec<Change> {
        self.0.take()
    }
}
