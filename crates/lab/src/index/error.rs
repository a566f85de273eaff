//! The errors of index methods.

use std::fmt;

use flysch::store::{self, StoreError};
use flysch_indexes::flash::FlashError;
use flysch_indexes::{ConfigError, IndexError};
use flysch_linux::block_device::BlockError;
use flysch_linux::ftl::FtlError;

use super::keys::KeyError;

/// Why a run of an index method failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodError {
    /// The engine's index, the chip or the parameters failed.
    Index(IndexError),
    /// The translation layer below the method could not be mounted.
    Ftl(FtlError),
    /// The translation layer below the method failed.
    Device(BlockError),
    /// The database's index store failed.
    Store(StoreError),
    /// The store cannot be made with these parameters.
    StoreConfig(store::ConfigError),
    /// Keys of this size and number cannot be made.
    Keys(KeyError),
    /// This key was inserted but not found.
    Missed(u32),
    /// This key was never inserted but was found.
    Imagined(u32),
    /// Some rows of this key were not found.
    Lost(u32),
    /// The method needs more blocks than any chip has.
    TooManyBlocks {
        /// The number of blocks of the part that it needs.
        blocks: u32,
    },
    /// The method has no such option.
    Refused {
        method: &'static str,
        /// The option, by its name on the command line.
        option: &'static str,
    },
}

impl fmt::Display for MethodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(error) => error.fmt(f),
            Self::Ftl(error) => error.fmt(f),
            Self::Device(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
            Self::StoreConfig(store::ConfigError::RamTooSmall { needed }) => {
                write!(f, "the store needs {needed} bytes of RAM beside a page and a cell")
            }
            Self::StoreConfig(store::ConfigError::Indexes) => f.write_str("the store has no index"),
            Self::Keys(error) => error.fmt(f),
            Self::Missed(number) => write!(f, "key {number} was inserted and is not found"),
            Self::Imagined(number) => write!(f, "absent key {number} is found"),
            Self::Lost(number) => write!(f, "rows of key {number} are not found"),
            Self::TooManyBlocks { blocks } => write!(
                f,
                "{blocks} blocks are needed, and no chip of this part is so large; try a smaller --n"
            ),
            Self::Refused { method, option } => write!(f, "{method} does not take --{option}"),
        }
    }
}

impl std::error::Error for MethodError {}

impl From<IndexError> for MethodError {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

impl From<ConfigError> for MethodError {
    fn from(error: ConfigError) -> Self {
        Self::Index(error.into())
    }
}

impl From<FlashError> for MethodError {
    fn from(error: FlashError) -> Self {
        Self::Index(error.into())
    }
}

impl From<FtlError> for MethodError {
    fn from(error: FtlError) -> Self {
        Self::Ftl(error)
    }
}

impl From<BlockError> for MethodError {
    fn from(error: BlockError) -> Self {
        Self::Device(error)
    }
}

impl From<KeyError> for MethodError {
    fn from(error: KeyError) -> Self {
        Self::Keys(error)
    }
}

impl From<StoreError> for MethodError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<store::ConfigError> for MethodError {
    fn from(error: store::ConfigError) -> Self {
        Self::StoreConfig(error)
    }
}
