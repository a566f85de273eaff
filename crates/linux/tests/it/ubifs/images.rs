//! Images: those of mkfs.ubifs and ubinize are mounted, and damaged ones never cause a panic.

use std::fs;
use std::path::Path;
use std::process::Command;

use flysch_chip::{FaultPlan, Prng};
use flysch_linux::ubifs::{Compressor, MountError, Options};
use flysch_linux::vfs::Vfs;
use flysch_nand::{Nand, PageAddr};

use super::content::read_all;
use super::device::{BLOCK, Device, PAGE};

const SUPERBLOCK: u8 = 6;
const MASTER: u8 = 7;
const REFERENCE: u8 = 8;

fn files() -> Vec<(String, Vec<u8>)> {
    let mut prng = Prng::new(11);
    let file = |(number, len): (usize, usize)| {
        let mut content = b"layers of sand and clay ".repeat(len / 24 + 1);
        content.truncate(len);
        prng.fill(&mut content[..len / 3]);
        (format!("file{number}"), content)
    };
    [0, 1, 100, 4096, 5000, 70_000, 300_000].into_iter().enumerate().map(file).collect()
}

/// Run a tool of mtd-utils. Returns false if it is not installed.
fn run(tool: &str, arguments: &[&str]) -> bool {
    let Ok(output) = Command::new(tool).args(arguments).output() else { return false };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

/// Make an image of `files` with the tools, for a volume of at most `lebs` LEBs.
fn make_image(root: &Path, compressor: &str, lebs: u32) -> Option<Vec<u8>> {
    let (tree, volume) = (root.join("tree"), root.join("volume"));
    fs::create_dir_all(tree.join("dir")).unwrap();
    for (name, content) in files() {
        fs::write(tree.join(&name), &content).unwrap();
        fs::write(tree.join("dir").join(&name), &content).unwrap();
    }
    let (tree, volume) = (tree.to_str().unwrap(), volume.to_str().unwrap());
    let lebs = lebs.to_string();
    let sizes = ["-m", "2048", "-e", "129024", "-c", &lebs, "-x", compressor];
    let made = run("mkfs.ubifs", &[&sizes[..], &["-r", tree, "-o", volume]].concat());
    if !made {
        return None;
    }
    let config = root.join("config");
    let text = format!(
        "[data]\nmode=ubi\nimage={volume}\nvol_id=0\nvol_size=7MiB\nvol_type=dynamic\n\
         vol_name=data\nvol_flags=autoresize\n"
    );
    fs::write(&config, text).unwrap();
    let image = root.join("image");
    let (config, out) = (config.to_str().unwrap(), image.to_str().unwrap());
    let sizes = ["-m", "2048", "-p", "128KiB", "-s", "512", "-o", out, config];
    run("ubinize", &sizes).then(|| fs::read(&image).unwrap())
}

/// Program an image into a chip, as ubiformat does: pages of 0xFF are left out.
fn flash(device: &Device, image: &[u8]) {
    let mut chip = device.chip.borrow_mut();
    for (page, bytes) in (0..).zip(image.chunks(PAGE)) {
        for (sector, part) in (0_u32..).zip(bytes.chunks(512)) {
            if part.iter().any(|&byte| byte != 0xFF) {
                chip.program(PageAddr(page), sector * 512, part, &[]).unwrap();
            }
        }
    }
}

#[test]
fn images_of_the_tools_are_mounted_and_written_to() {
    for compressor in ["none", "lzo", "zlib", "zstd"] {
        for lebs in [60, 12_000] {
            let root = std::env::temp_dir()
                .join(format!("flysch-ubifs-{}-{compressor}-{lebs}", std::process::id()));
            let image = make_image(&root, compressor, lebs);
            fs::remove_dir_all(&root).unwrap();
            let Some(image) = image else {
                println!("skipped: mtd-utils is not installed");
                return;
            };
            mount_and_check(&image, &format!("{compressor}, {lebs} LEBs"));
        }
    }
}

fn mount_and_check(image: &[u8], case: &str) {
    let blocks = u32::try_from(image.len() / BLOCK).unwrap() + 30;
    let device = Device::new(blocks, Options::default());
    flash(&device, image);
    let mut vfs = device.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
    for round in 0..2 {
        for (name, content) in files() {
            for name in [name.clone(), format!("dir/{name}")] {
                assert!(read_all(&mut vfs, &name).unwrap() == content, "{case}: {name}, {round}");
            }
        }
        let fd = vfs.open("new", true).unwrap();
        vfs.write(fd, 0, &vec![3; 200_000]).unwrap();
        vfs.close(fd).unwrap();
        vfs.unmount().unwrap();
        vfs = device.mount().unwrap_or_else(|error| panic!("{case}: {error}"));
    }
    assert_eq!(vfs.list("/").unwrap().len(), files().len() + 2, "{case}");
}

/// Pages of a valid image are damaged at random. Mounting and reading must return a result or an
/// error.
#[test]
fn any_image_is_survived() {
    let options = Options { compressor: Compressor::Lzo, ..Options::default() };
    for seed in 0..150 {
        let device = Device::new(24, options.clone());
        device.format().unwrap();
        let mut vfs = device.mount().unwrap();
        for (name, content) in files().into_iter().take(6) {
            let fd = vfs.open(&name, true).unwrap();
            vfs.write(fd, 0, &content).unwrap();
            vfs.fsync(fd).unwrap();
        }
        if seed % 2 == 0 {
            vfs.unmount().unwrap();
        }
        drop(vfs);
        damage(&device, seed);
        device.arm(FaultPlan::default());
        let Ok(mut vfs) = device.mount() else { continue };
        for (name, _) in files() {
            let _answer = read_all(&mut vfs, &name);
        }
        let _answer = vfs.list("/");
        let _answer = vfs.open("new", true).map(|fd| vfs.write(fd, 0, &[1; 9000]));
        let _answer = vfs.sync();
        let _answer = vfs.unmount();
    }
}

/// Write some blocks again with some of their bytes changed.
fn damage(device: &Device, seed: u64) {
    let mut prng = Prng::new(seed);
    for _ in 0..=prng.below(4) {
        let block = u32::try_from(prng.below(24)).unwrap();
        device.rewrite(block, |content| {
            for _ in 0..=prng.below(20) {
                let end = content.iter().rposition(|&byte| byte != 0xFF).unwrap_or(0) as u64 + 1;
                let at = usize::try_from(prng.below(end)).unwrap();
                content[at] ^= u8::try_from(prng.below(255) + 1).unwrap();
            }
        });
    }
}

/// A file system with a file of 9000 bytes, which is synced.
fn small() -> (Device, Vfs) {
    let device = Device::new(24, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &[3; 9000]).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.close(fd).unwrap();
    (device, vfs)
}

/// The nodes of a type in a block, where each begins.
fn nodes(content: &[u8], node_type: u8) -> Vec<usize> {
    let is_node = |at: &usize| {
        let node = &content[*at..];
        node.len() >= 24 && word_at(node, 0) == 0x0610_1831 && node[20] == node_type
    };
    (0..content.len()).step_by(8).filter(is_node).collect()
}

/// Change the nodes of a type, in the order in which they were written, and make their checksums
/// right. Returns the number of nodes.
fn edit(device: &Device, node_type: u8, mut change: impl FnMut(usize, &mut [u8])) -> usize {
    let blocks = device.chip.borrow().device().chip().part().geometry.block_count;
    let mut found = Vec::new();
    for block in 0..blocks {
        device.rewrite(block, |content| {
            for at in nodes(content, node_type) {
                let sequence = u64::from_le_bytes(content[at + 8..at + 16].try_into().unwrap());
                found.push((sequence, block, at));
            }
        });
    }
    found.sort_unstable();
    for (number, &(_, block, at)) in found.iter().enumerate() {
        device.rewrite(block, |content| {
            let len = word_at(&content[at..], 16) as usize;
            let node = &mut content[at..at + len];
            change(number, node);
            let crc = !crc32fast::hash(&node[8..]);
            node[4..8].copy_from_slice(&crc.to_le_bytes());
        });
    }
    found.len()
}

fn word_at(node: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(node[at..at + 4].try_into().unwrap())
}

/// A file system whose nodes of a type have other bytes from `at` on, with right checksums.
fn falsified(node_type: u8, at: usize, bytes: &[u8]) -> Device {
    let (device, mut vfs) = small();
    vfs.unmount().unwrap();
    let count =
        edit(&device, node_type, |_, node| node[at..at + bytes.len()].copy_from_slice(bytes));
    assert!(count > 0, "nodes of type {node_type}");
    device
}

/// Regressions. Linux refuses these numbers at the mount; here they overflowed later, or a program
/// began within a page.
#[test]
fn numbers_that_cannot_be_are_refused() {
    let most = u64::MAX.to_le_bytes();
    let cases: [(&str, u8, usize, &[u8]); 9] = [
        ("sequence number", MASTER, 8, &most),
        ("commit", MASTER, 32, &most),
        ("free bytes", MASTER, 80, &most),
        ("used bytes", MASTER, 96, &most),
        ("dark bytes", MASTER, 112, &most),
        ("place of the LPT's head", MASTER, 132, &8_u32.to_le_bytes()),
        ("empty LEBs", MASTER, 156, &most[..4]),
        ("LEBs of the index", MASTER, 160, &most[..4]),
        ("size of the journal", SUPERBLOCK, 48, &most),
    ];
    assert!(falsified(MASTER, 164, &[]).mount().is_ok(), "nothing is wrong");
    for (what, node_type, at, bytes) in cases {
        assert!(falsified(node_type, at, bytes).mount().is_err(), "{what}");
    }
}

/// A number that a reference of the log gets: of which reference, at which byte.
type Change = (usize, usize, u32);

/// Change the references of the log. `change` gets the LEBs of the collector and of the index head,
/// and those that the references name.
fn mislead(device: &Device, change: impl FnOnce([u32; 2], &[u32]) -> Vec<Change>) {
    let (mut spots, mut lebs) = ([0; 2], Vec::new());
    edit(device, MASTER, |_, node| spots = [60, 64].map(|at| word_at(node, at)));
    edit(device, REFERENCE, |_, node| lebs.push(word_at(node, 24)));
    let changes = change(spots, &lebs);
    edit(device, REFERENCE, |number, node| {
        for &(_, at, value) in changes.iter().filter(|change| change.0 == number) {
            node[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    });
}

/// A file system that was not unmounted, whose references of the heads of names and of data, in
/// this order, are changed.
fn misled(change: impl FnOnce([u32; 2], &[u32]) -> Change) -> Device {
    let (device, vfs) = small();
    drop(vfs);
    mislead(&device, |spots, lebs| {
        assert_eq!(lebs.len(), 2, "{lebs:?}");
        vec![change(spots, lebs)]
    });
    device
}

/// A reference of the log says which LEB belongs to the journal. Linux refuses one that cannot be
/// (`validate_ref` and `replay_bud`). Else two writers would write to one LEB.
#[test]
fn references_that_cannot_be_are_refused() {
    type Mislead = fn([u32; 2], &[u32]) -> Change;
    let cases: [(&str, Mislead); 8] = [
        ("LEB of the index head", |[_, index], _| (0, 24, index)),
        ("LEB of an earlier head", |_, lebs| (1, 24, lebs[0])),
        ("LEB of a later head", |_, lebs| (0, 24, lebs[1])),
        ("LEB of the log", |_, _| (0, 24, 3)),
        ("LEB beyond the volume", |_, _| (1, 24, 24)),
        ("offset within a page", |_, _| (1, 28, 8)),
        ("offset beyond the LEB", |_, _| (1, 28, 64 * 2048)),
        ("head", |_, _| (1, 32, 3)),
    ];
    assert!(misled(|_, lebs| (0, 24, lebs[0])).mount().is_ok(), "nothing is wrong");
    for (what, change) in cases {
        let refused = misled(change).mount().err();
        assert!(matches!(refused, Some(MountError::Damaged { .. })), "{what}: {refused:?}");
    }
}

/// A reference to the empty LEB that is kept for the collector: the head goes on there, and the
/// collector gets another LEB.
#[test]
fn a_head_may_have_the_leb_of_the_collector() {
    for number in [0, 1] {
        let device = misled(|[collector, _], _| (number, 24, collector));
        let mut vfs = device.mount().unwrap();
        for round in 0..60_u8 {
            let fd = vfs.open(&format!("new{}", round % 7), true).unwrap();
            vfs.write(fd, 0, &vec![round; 30_000]).unwrap();
            vfs.close(fd).unwrap();
            vfs.sync().unwrap();
        }
        vfs.unmount().unwrap();
        let mut vfs = device.mount().unwrap();
        assert!(read_all(&mut vfs, "new3").unwrap() == vec![59; 30_000], "reference {number}");
    }
}

/// The story of a damaged image: a reference led elsewhere, so that nothing told of the nodes
/// behind its place. The size of an inode before them in the same LEB was corrected, and they were
/// copied along. A journal head went on in the free space that the LPT knew of, and programmed them
/// again.
#[test]
fn what_no_reference_leads_to_is_not_copied() {
    let (device, mut vfs) = small();
    vfs.unmount().unwrap();
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", false).unwrap();
    vfs.write(fd, 9000, &[4; 9000]).unwrap();
    vfs.fsync(fd).unwrap();
    drop(vfs);
    mislead(&device, |[collector, _], lebs| {
        let last = lebs.len() - 2;
        vec![(last, 24, collector), (last, 28, 0), (last, 32, 0)]
    });
    let mut vfs = device.mount().unwrap();
    assert_eq!(read_all(&mut vfs, "file").unwrap().len(), 18_000, "the data says so");
    let fd = vfs.open("new", true).unwrap();
    vfs.write(fd, 0, &[5; 100]).unwrap();
    vfs.fsync(fd).unwrap();
    vfs.unmount().unwrap();
    let mut vfs = device.mount().unwrap();
    assert!(read_all(&mut vfs, "new").unwrap() == [5; 100]);
}
