//! Images: the content of a chip in a file, page after page.
//!
//! With OOB, the layout is that of `nanddump --oob`: the data of each page, followed by its OOB
//! bytes. An image lacks some facts: erase counts, how often a page was programmed, bit errors, and
//! whether a sector was programmed with nothing but `0xFF`. So a chip that is loaded from an image
//! has erase counts of 0, and each page that is not blank counts as programmed once.
//!
//! The marks in an image may be wrong. A storage stack that relies on them may then program a page
//! that is programmed already. On a page from an image this does not panic: the bits of both
//! programs are combined, and ECC fails.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_nand::{BlockAddr, Geometry, Nand, is_erased};
use tempfile::NamedTempFile;

use crate::array::{Block, ERASED};
use crate::{Chip, Clock, Part};

#[derive(Debug)]
pub enum ImageError {
    /// The file exists and must not be overwritten.
    Exists(PathBuf),
    /// The size of the image does not fit the part.
    Size {
        /// Size of the image, bytes.
        image: u64,
        /// Name of the part that was asked for.
        part: String,
        /// Size of an image of the part, bytes.
        expected: u64,
    },
    /// The chip does not have all of these blocks.
    Range {
        /// The blocks to save.
        blocks: Range<u32>,
        /// Number of blocks on the chip.
        block_count: u32,
    },
    Io(PathBuf, io::Error),
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(path) => write!(f, "{} exists already", path.display()),
            Self::Size { image, part, expected } => {
                write!(f, "image is {image} bytes, part {part} has {expected}")
            }
            Self::Range { blocks, block_count } => write!(
                f,
                "blocks {}..{} asked for, the chip has {block_count}",
                blocks.start, blocks.end
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for ImageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            Self::Exists(_) | Self::Size { .. } | Self::Range { .. } => None,
        }
    }
}

impl Chip {
    /// Write the whole chip with OOB to `path`. If this fails, no incomplete file is left.
    pub fn save(&self, path: &Path, overwrite: bool) -> Result<(), ImageError> {
        self.save_blocks(path, 0..self.geometry().block_count, overwrite, &|| false)
    }

    /// Write `blocks` with OOB to `path`, as `nanddump --oob` does for a partition.
    pub fn save_blocks(
        &self,
        path: &Path,
        blocks: Range<u32>,
        overwrite: bool,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ImageError> {
        let len = page_bytes(&self.geometry());
        self.save_pages(path, blocks, overwrite, (len, is_interrupted))
    }

    /// Write the data of `blocks` without OOB to `path`, which is the format of tools for
    /// file-system images.
    pub fn save_data_only(
        &self,
        path: &Path,
        blocks: Range<u32>,
        overwrite: bool,
    ) -> Result<(), ImageError> {
        let len = self.geometry().page_size as usize;
        self.save_pages(path, blocks, overwrite, (len, &|| false))
    }

    /// Write the first `len` bytes of each page of `blocks` to `path`.
    fn save_pages(
        &self,
        path: &Path,
        blocks: Range<u32>,
        overwrite: bool,
        (len, is_interrupted): (usize, &dyn Fn() -> bool),
    ) -> Result<(), ImageError> {
        let Geometry { block_count, .. } = self.geometry();
        if blocks.start > blocks.end || blocks.end > block_count {
            return Err(ImageError::Range { blocks, block_count });
        }
        write_atomically(path, overwrite, |file| self.write(file, blocks, (len, is_interrupted)))
    }

    /// Load a chip of `part` from an image with OOB. A block is bad if the first OOB byte of its
    /// first page is not `0xFF`.
    pub fn load(part: Arc<Part>, clock: Clock, seed: u64, path: &Path) -> Result<Self, ImageError> {
        let failed = |error| ImageError::Io(path.to_owned(), error);
        let image = fs::metadata(path).map_err(failed)?.len();
        let expected = u64::from(part.geometry.page_count()) * page_bytes(&part.geometry) as u64;
        if image != expected {
            return Err(ImageError::Size { image, part: part.name.clone(), expected });
        }
        Self::of_image(part, clock, seed, &fs::read(path).map_err(failed)?, true)
    }

    /// A chip of `part` whose first pages come from an image. If `has_oob`, the OOB bytes follow
    /// each page in the image. All further pages are erased.
    pub fn of_image(
        part: Arc<Part>,
        clock: Clock,
        seed: u64,
        image: &[u8],
        has_oob: bool,
    ) -> Result<Self, ImageError> {
        let geometry = part.geometry;
        let len = if has_oob { page_bytes(&geometry) } else { geometry.page_size as usize };
        let expected = u64::from(geometry.page_count()) * len as u64;
        if image.len() as u64 > expected {
            let (image, part) = (image.len() as u64, part.name.clone());
            return Err(ImageError::Size { image, part, expected });
        }
        let mut written = image.chunks(len * geometry.pages_per_block as usize);
        let block = |_| block_of_pages(&geometry, written.next().unwrap_or_default(), len);
        let blocks = (0..geometry.block_count).map(block).collect();
        Ok(Self::of_blocks(part, clock, seed, blocks))
    }

    fn write(
        &self,
        file: &mut impl Write,
        blocks: Range<u32>,
        (len, is_interrupted): (usize, &dyn Fn() -> bool),
    ) -> io::Result<()> {
        let geometry = self.geometry();
        let erased = vec![ERASED; len];
        for block in blocks.map(BlockAddr) {
            if is_interrupted() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            }
            for page in 0..geometry.pages_per_block {
                let cells = self.block(block).page(&geometry, page);
                file.write_all(cells.map_or(&erased, |cells| &cells[..len]))?;
            }
        }
        Ok(())
    }
}

fn page_bytes(geometry: &Geometry) -> usize {
    (geometry.page_size + geometry.oob_size) as usize
}

/// A block whose first pages are given, each with its first `len` bytes. All other bytes are
/// erased.
fn block_of_pages(geometry: &Geometry, pages: &[u8], len: usize) -> Block {
    if is_erased(pages) {
        return Block::blank(geometry, 0);
    }
    let stride = page_bytes(geometry);
    let mut cells = vec![ERASED; stride * geometry.pages_per_block as usize];
    for (cells, page) in cells.chunks_mut(stride).zip(pages.chunks(len)) {
        cells[..page.len()].copy_from_slice(page);
    }
    Block::of_cells(geometry, cells)
}

/// Let `write` fill a temporary file in the folder of `path`, and then rename it to `path`.
fn write_atomically(
    path: &Path,
    overwrite: bool,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<(), ImageError> {
    if !overwrite && path.exists() {
        return Err(ImageError::Exists(path.to_owned()));
    }
    let failed = |error| ImageError::Io(path.to_owned(), error);
    let mut file = temporary_beside(path).map_err(failed)?;
    let mut writer = BufWriter::new(file.as_file_mut());
    write(&mut writer).and_then(|()| writer.flush()).map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    let persisted = if overwrite { file.persist(path) } else { file.persist_noclobber(path) };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(ImageError::Exists(path.to_owned()))
        }
        Err(error) => Err(failed(error.error)),
    }
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // The permissions of temporary files allow only their owner to read them; an image gets those
    // of an ordinary file.
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(mode);
    builder.tempfile_in(folder.unwrap_or(Path::new(".")))
}
