//! Which block a mount goes on filling: one whose rest was certainly never programmed; and how much
//! fits after a mount.

use flysch_linux::filesystem::FsError;
use flysch_linux::jffs2::Options;
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::images::Image;
use super::state::read_named;
use super::{Bench, small_part};

const PAGES: u32 = 8;
const PAGE: usize = 2048;

/// The content of a block, page by page.
fn pages(bench: &Bench, block: u32) -> Vec<Vec<u8>> {
    let mut chip = bench.device.borrow().chip().fork(flysch_chip::Clock::new());
    let read = |page| {
        let mut bytes = vec![0; PAGE];
        let _quality = chip.read(PageAddr(page), 0, &mut bytes);
        bytes
    };
    (block * PAGES..(block + 1) * PAGES).map(read).collect()
}

/// What stands behind the nodes of a block, and whether the block is filled on.
#[derive(Clone, Copy, Debug)]
enum Rest {
    Blank,
    /// A page of garbage, as a cut of the next program leaves it.
    Torn,
    /// Garbage that reaches into the page behind it: no single program leaves that.
    Long,
    /// An erased page before others that are not: an erase was cut.
    Gap,
}

#[test]
fn a_block_is_filled_on_only_where_it_is_blank() {
    let mut bench = Bench::new(small_part(PAGES, 24));
    bench.options = Options { compressors: Vec::new(), ..bench.options };
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    let fd = vfs.open("first", true).unwrap();
    vfs.write(fd, 0, &[1; 3000]).unwrap();
    vfs.unmount().unwrap();
    let image = Image::of(&bench);
    let is_used = |block: &u32| pages(&bench, *block)[0].iter().any(|&byte| byte != 0xFF);
    let block = (0..24).find(is_used).unwrap();
    let end = pages(&bench, block).iter().position(|page| page.iter().all(|&it| it == 0xFF));
    let end = end.unwrap();
    let at = |page: usize| (block * PAGES) as usize * PAGE + page * PAGE;
    for (rest, is_filled) in
        [(Rest::Blank, true), (Rest::Torn, true), (Rest::Long, false), (Rest::Gap, false)]
    {
        let mut image = image.clone();
        match rest {
            Rest::Blank => {}
            Rest::Torn => image.data[at(end)..at(end) + 1000].fill(0x55),
            Rest::Long => image.data[at(end)..at(end + 1) + 1000].fill(0x55),
            Rest::Gap => image.data.copy_within(at(0)..at(1), at(end + 1)),
        }
        let mut bench = image.bench();
        bench.options = Options { compressors: Vec::new(), ..bench.options };
        let before = pages(&bench, block);
        let mut vfs = bench.mount().unwrap();
        let fd = vfs.open("second", true).unwrap();
        vfs.write(fd, 0, &[2; 3000]).unwrap();
        vfs.fsync(fd).unwrap();
        assert_eq!(pages(&bench, block) != before, is_filled, "{rest:?}");
        drop(vfs);
        let mut vfs = bench.mount().unwrap();
        assert!(read_named(&mut vfs, "first").unwrap() == [1; 3000], "{rest:?}");
        assert!(read_named(&mut vfs, "second").unwrap() == [2; 3000], "{rest:?}");
    }
}

/// A summary does not list itself, nor what pads a page. Both are dead, whichever way a mount finds
/// the nodes of a block: by its summary, or by scanning it where the summary is not there.
#[test]
fn as_much_fits_whether_a_mount_reads_summaries_or_nodes() {
    let mut bench = Bench::new(small_part(PAGES, 40));
    bench.options = Options { compressors: Vec::new(), summaries: true, ..bench.options };
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    let written = fill(&mut vfs, "old");
    assert!(written > 100, "{written} files fit");
    (0..written).step_by(2).for_each(|file| vfs.unlink(&format!("old{file}")).unwrap());
    vfs.unmount().unwrap();
    let listed = Image::of(&bench);
    let mut scanned = listed.clone();
    let mut markers = 0;
    for block in scanned.data.chunks_mut(PAGES as usize * PAGE) {
        let marker = block.last_chunk_mut::<4>().unwrap();
        if *marker != [0xFF; 4] {
            *marker = [0; 4];
            markers += 1;
        }
    }
    assert!(markers > 20, "{markers} blocks are full");
    let fits = |image: &Image| {
        let bench = Bench { options: bench.options.clone(), ..image.bench() };
        fill(&mut bench.mount().unwrap(), "new")
    };
    let [listed, scanned] = [&listed, &scanned].map(fits);
    assert!(scanned > 20, "{scanned} files fit");
    assert_eq!(listed, scanned);
}

/// Write files of 1,000 bytes, each of them at once, until one does not fit; how many there are.
fn fill(vfs: &mut Vfs, name: &str) -> u32 {
    for file in 0.. {
        let done = vfs.open(&format!("{name}{file}"), true).and_then(|fd| {
            let written = vfs.write(fd, 0, &[7; 1000]).and_then(|()| vfs.fsync(fd));
            vfs.close(fd)?;
            written
        });
        match done {
            Ok(()) => {}
            Err(FsError::NoSpace) => return file,
            Err(error) => panic!("{error:?}"),
        }
    }
    unreachable!("a device is full some time")
}
