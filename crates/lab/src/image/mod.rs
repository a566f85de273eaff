//! Images: make the flash of a stack from a folder of the host, and copy files out of an image.
//!
//! An image that is made is what `nandwrite --oob` writes to a partition: the data of each page
//! followed by its OOB bytes. Files are copied out of what `nanddump` reads with OOB bytes and
//! without, and of the outputs of `mkfs.jffs2` and `ubinize`.
//!
//! Invariants:
//! 1. No name in an image leads out of the folder that files are copied to.
//! 2. Copying files out of an image ends, whatever sizes and folders the image claims.
//! 3. Copying files out never succeeds with an empty folder.

mod extract;
mod make;
mod pram;
mod recognise;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use flysch_chip::ImageError;
use flysch_linux::filesystem::FsError;
use flysch_nand::GeometryError;

use crate::machine::StackError;
use crate::machine::stack::Main;

pub use extract::{Extracted, extract};
pub use make::{Made, make};
pub use recognise::Unrecognised;

/// Bytes in each piece of a file that is copied.
const PIECE: usize = 64 << 10;

/// The memory and the file system that an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageOf {
    /// NAND flash with this file system.
    Flash(Main),
    /// A PRAM with PRAMFS.
    Pram,
}

impl ImageOf {
    /// Name of the file system.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flash(main) => main.name(),
            Self::Pram => "pramfs",
        }
    }
}

/// Why an image could not be made or read.
#[derive(Debug)]
pub enum TransferError {
    /// The stack cannot be built, or it cannot mount the image.
    Stack(StackError),
    /// A file of the host failed.
    Host(PathBuf, io::Error),
    /// A file on the flash failed.
    Flash(String, FsError),
    /// This path cannot be written to an image, for this reason.
    Kind(PathBuf, &'static str),
    /// The user ended it early.
    Interrupted,
    /// The image file cannot be read or written.
    Image(ImageError),
    /// The image has OOB bytes, and ends within a block.
    CutOff {
        /// Size of the image in bytes.
        image: u64,
        /// Size of a block with its OOB bytes.
        block: u64,
    },
    /// The image has more blocks than the part.
    Size {
        /// Size of the image in bytes.
        image: u64,
        part: String,
        /// Size of a block with its OOB bytes.
        block: u64,
        /// Number of blocks of the part.
        blocks: u32,
    },
    /// The file system in the image cannot be recognised.
    Unrecognised(Unrecognised),
    /// The geometry that follows from the image is impossible.
    Geometry(GeometryError),
    /// The file system can be mounted, but is empty.
    Empty(ImageOf),
    /// The power was to be cut during an operation that the run did not reach.
    Uncut {
        /// The number of that operation.
        cut: u64,
        /// How many operations there were.
        operations: u64,
    },
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(error) => error.fmt(f),
            Self::Host(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Flash(path, error) => write!(f, "{path}: {error}"),
            Self::Kind(path, why) => write!(f, "{}: {why}", path.display()),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Image(error) => error.fmt(f),
            Self::Size { image, part, block, blocks } => write!(
                f,
                "image is {image} bytes, part {part} has {blocks} blocks of {block} with OOB"
            ),
            Self::CutOff { image, block } => write!(
                f,
                "image is {image} bytes, which ends within a block of {block} with OOB: it is cut \
                 off, or of another part; dump it again, or name the part with --part"
            ),
            Self::Unrecognised(why) => why.fmt(f),
            Self::Geometry(error) => error.fmt(f),
            Self::Empty(of) => write!(f, "its {} holds no file", of.name()),
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
