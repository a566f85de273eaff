//! Images: a saved chip is the same when loaded, and a file that is no image is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flysch_chip::{Chip, Clock, ImageError};
use flysch_nand::{BlockAddr, Ecc, Nand, PageAddr, ReadError};
use tempfile::TempDir;

use crate::{OOB_SIZE, PAGE_SIZE, SECTOR_SIZE, content, pattern, small_chip, small_part};

const PAGE_BYTES: usize = PAGE_SIZE + OOB_SIZE;
const OOB: [u8; 4] = [0xFF, 0xFF, 3, 4];

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("chip.img");
    (folder, path)
}

fn used_chip() -> Chip {
    let mut chip = small_chip(&Clock::new());
    for page in (8..13).map(PageAddr) {
        chip.program(page, 0, &pattern(page, PAGE_SIZE), &OOB).unwrap();
    }
    chip.program(PageAddr(13), 512, &pattern(PageAddr(13), SECTOR_SIZE), &[]).unwrap();
    chip.program(PageAddr(20), 0, &[], &OOB).unwrap();
    chip.mark_bad(BlockAddr(4)).unwrap();
    chip.mark_bad(BlockAddr(1)).unwrap();
    chip
}

fn load(path: &Path) -> Result<Chip, ImageError> {
    Chip::load(Arc::new(small_part()), Clock::new(), 1, path)
}

#[test]
fn a_chip_comes_back() {
    let (_folder, path) = folder();
    let mut chip = used_chip();
    chip.save(&path, false).unwrap();
    let mut loaded = load(&path).unwrap();
    assert_eq!(content(&mut loaded), content(&mut chip));
    for block in (0..8).map(BlockAddr) {
        assert_eq!(loaded.is_bad(block), chip.is_bad(block), "{block}");
    }
    assert_eq!(loaded.erase_counts(), [0; 8]);
}

#[test]
fn a_loaded_page_goes_on_where_it_stopped() {
    let (_folder, path) = folder();
    let mut chip = used_chip();
    let page = PageAddr(29);
    chip.program(page, 512, &pattern(page, SECTOR_SIZE), &[]).unwrap();
    chip.save(&path, false).unwrap();
    let mut loaded = load(&path).unwrap();
    loaded.program(page, 0, &pattern(page, SECTOR_SIZE), &[]).unwrap();
    loaded.program(page, 1024, &pattern(page, 2 * SECTOR_SIZE), &[]).unwrap();
}

/// An image may say that a block is erased although it is not, and a storage stack may rely on it,
/// as Linux does.
#[test]
fn a_program_over_an_image_is_the_images_fault_until_the_block_is_erased() {
    let (_folder, path) = folder();
    let mut chip = used_chip();
    let page = PageAddr(25);
    chip.program(page, 0, &pattern(page, PAGE_SIZE), &OOB).unwrap();
    chip.save(&path, false).unwrap();
    let mut loaded = load(&path).unwrap();
    let sector = pattern(page, SECTOR_SIZE);
    loaded.program(page, 512, &sector, &[]).unwrap();
    let mut bytes = [0; SECTOR_SIZE];
    let damaged = Err(ReadError::Uncorrectable(page));
    let wanted = [(0, Ok(Ecc::Clean)), (512, damaged), (1024, Ok(Ecc::Clean))];
    for (column, outcome) in wanted {
        assert_eq!(loaded.read(page, column, &mut bytes), outcome, "column {column}");
    }
    loaded.erase(BlockAddr(3)).unwrap();
    loaded.program(page, 512, &sector, &[]).unwrap();
    let again = std::panic::AssertUnwindSafe(|| loaded.program(page, 512, &sector, &[]));
    std::panic::catch_unwind(again).expect_err("a breach of this program's own");
}

#[test]
fn the_layout_is_that_of_nanddump() {
    let (_folder, path) = folder();
    let chip = used_chip();
    chip.save(&path, false).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 64 * PAGE_BYTES);
    let page = &bytes[9 * PAGE_BYTES..][..PAGE_BYTES];
    assert_eq!(page[..PAGE_SIZE], pattern(PageAddr(9), PAGE_SIZE)[..]);
    assert_eq!(page[PAGE_SIZE..][..4], OOB);
    assert!(page[PAGE_SIZE + 4..].iter().all(|&byte| byte == 0xFF));

    chip.save_data_only(&path, 1..3, true).unwrap();
    let data = fs::read(&path).unwrap();
    assert_eq!(data.len(), 16 * PAGE_SIZE);
    assert_eq!(data[PAGE_SIZE..][..PAGE_SIZE], pattern(PageAddr(9), PAGE_SIZE)[..]);
}

#[test]
fn a_file_is_not_overwritten_unasked() {
    let (folder, path) = folder();
    fs::write(&path, "precious").unwrap();
    let chip = used_chip();
    for outcome in [chip.save(&path, false), chip.save_data_only(&path, 0..8, false)] {
        assert_eq!(outcome.unwrap_err().to_string(), format!("{} exists already", path.display()));
    }
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    chip.save(&path, true).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 64 * PAGE_BYTES as u64);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn what_is_no_image_is_refused_in_one_line() {
    let (folder, path) = folder();
    fs::write(&path, "short").unwrap();
    let missing = folder.path().join("missing.img");
    let chip = used_chip();
    let unwritable = folder.path().join("no/such/folder.img");
    let cases = [
        (load(&path).unwrap_err(), "image is 5 bytes, part small has 135168"),
        (load(&missing).unwrap_err(), "missing.img: No such file"),
        (
            chip.save_data_only(&path, 7..9, true).unwrap_err(),
            "blocks 7..9 asked for, the chip has 8",
        ),
        (chip.save(&unwritable, false).unwrap_err(), "folder.img: No such file"),
    ];
    for (error, wanted) in cases {
        let text = error.to_string();
        assert!(text.contains(wanted) && !text.contains('\n'), "{text}");
    }
}
