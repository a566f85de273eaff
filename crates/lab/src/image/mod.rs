//! Images: a folder of the host becomes the flash of a stack, and the other way round.
//!
//! An image is what `nanddump --oob` makes of a partition and `nandwrite --oob` puts back: each
//! page's data followed by its OOB bytes.
//!
//! Invariants:
//! 1. No name of an image leads out of the folder it is taken out into.
//! 2. Taking files out of any image ends, whatever it claims of sizes and folders.

mod extract;
mod make;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use flysch_chip::ImageError;
use flysch_linux::filesystem::FsError;

use crate::machine::StackError;

pub use extract::{Extracted, extract};
pub use make::{Made, make};

/// Bytes that are moved at once.
const PIECE: usize = 64 << 10;

/// Why an image was not made, or nothing taken out of one.
#[derive(Debug)]
pub enum TransferError {
    /// The stack refuses the part or the image.
    Stack(StackError),
    /// A file of the host.
    Host(PathBuf, io::Error),
    /// A file on the flash.
    Flash(String, FsError),
    /// Neither a file nor a folder, or of a name that is no text.
    Kind(PathBuf),
    /// The image itself.
    Image(ImageError),
    /// It is not of whole blocks of the part, or of more than it has.
    Size {
        /// Bytes of the image.
        image: u64,
        /// Name of the part.
        part: String,
        /// Bytes of a block with OOB.
        block: u64,
        /// Blocks of the part.
        blocks: u32,
    },
    /// The cut was to be later than all operations.
    Uncut {
        /// The operation that was to be cut.
        cut: u64,
        /// How many there were.
        operations: u64,
    },
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(error) => error.fmt(f),
            Self::Host(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Flash(path, error) => write!(f, "{path}: {error}"),
            Self::Kind(path) => {
                write!(f, "{}: only files and folders named in UTF-8 are kept", path.display())
            }
            Self::Image(error) => error.fmt(f),
            Self::Size { image, part, block, blocks } => write!(
                f,
                "image is {image} bytes, part {part} has {blocks} blocks of {block} with OOB"
            ),
            Self::Uncut { cut, operations } => {
                write!(f, "no cut at operation {cut}: there were {operations}")
            }
        }
    }
}

impl std::error::Error for TransferError {}

impl From<StackError> for TransferError {
    fn from(error: StackError) -> Self {
        Self::Stack(error)
    }
}

impl From<ImageError> for TransferError {
    fn from(error: ImageError) -> Self {
        Self::Image(error)
    }
}

impl TransferError {
    fn host(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Host(path.to_owned(), error)
    }
}
