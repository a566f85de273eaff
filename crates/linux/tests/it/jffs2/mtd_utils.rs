//! Comparison with third-party tools: `mkfs.jffs2`, `sumtool`, `jffs2dump` and `jffs2reader` of
//! mtd-utils.
//!
//! If the tools are not installed, each test says that it was skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

use flysch_chip::{Part, Prng};
use flysch_linux::jffs2::{Compressor, MountError, Options};

use super::admit::History;
use super::dump::{Dump, read_node_by_node};
use super::images::Image;
use super::operation::{Operation, User};
use super::state::{Names, difference, read_all};
use super::{Bench, small_part};

/// Run a tool. If it is not installed, say so and return `None`.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn run(tool: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let places = ["", "/usr/sbin/"].map(|place| format!("{place}{tool}"));
    let output = places.iter().find_map(|path| Command::new(path).args(arguments).output().ok());
    let Some(output) = output else {
        eprintln!("skipped: {tool} is not installed (apt-get install mtd-utils)");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{tool} {arguments:?}: {said}");
    Some(output.stdout)
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jffs2").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

/// Directories, and files of every kind: empty, short, compressible or not, with a hole, above 1
/// MiB.
fn tree() -> Names {
    let mut prng = Prng::new(1);
    let mut random = |len: usize| {
        let mut bytes = vec![0; len];
        prng.fill(&mut bytes);
        bytes
    };
    let words = b"laid down in layers, one after another; ".repeat(2000);
    let hole = [random(5000), vec![0; 50_000], random(3)].concat();
    let files = [
        ("empty", Vec::new()),
        ("short", b"x".to_vec()),
        ("page", random(4096)),
        ("words", words.clone()),
        ("d/hole", hole),
        ("d/large", [random(700_000), words, random(400_000)].concat()),
        ("d/e/a name of many letters", random(9999)),
    ];
    let dirs = ["d", "d/e", "nothing"].map(|dir| (dir.to_owned(), None));
    let files = files.map(|(name, bytes)| (name.to_owned(), Some(Rc::new(bytes))));
    dirs.into_iter().chain(files).collect()
}

fn put_into(folder: &Path, tree: &Names) {
    for (name, content) in tree {
        match content {
            None => fs::create_dir_all(folder.join(name)).unwrap(),
            Some(content) => {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, &**content).unwrap();
            }
        }
    }
}

/// Check that the tools find no fault with the chip's content and read the same files from it.
fn check_readable(test: &str, bench: &Bench, wanted: &Names) {
    let path = folder(test).join("image");
    fs::write(&path, Image::of(bench).data).unwrap();
    let Some(dump) = run("jffs2dump", &["-c", text(&path)]) else { return };
    let dump = String::from_utf8_lossy(&dump);
    let faults: Vec<&str> = dump.lines().filter(|line| is_fault(line)).collect();
    assert!(faults.is_empty(), "jffs2dump -c: {faults:#?}");
    let dump = Dump::of(&dump);
    let inodes = dump.inodes();
    assert!(inodes.keys().eq(wanted.keys()), "{:?} {:?}", inodes.keys(), wanted.keys());
    if bench.options.compressors.iter().any(|compressor| *compressor != Compressor::Zlib) {
        return; // `jffs2reader` knows no other compression.
    }
    let image = fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let files = wanted.iter().filter_map(|(name, content)| Some((name, content.as_ref()?)));
    for (name, content) in files {
        let ino = inodes[name];
        let read = || run("jffs2reader", &["-f", name, text(&path)]);
        assert!(
            content[..] == read_node_by_node(&image, (ino, &dump.nodes_of(ino)), read),
            "{test}: {name} differs"
        );
    }
}

/// Whether a line of output reports a fault. If 12 bytes or fewer are left in a page, a padding
/// node does not fit and they are filled with zeros, as in the kernel. The tool mentions that and
/// goes on; it is no fault.
fn is_fault(line: &str) -> bool {
    let is_padding = line.starts_with("Wrong bitmask") && line.trim_end().ends_with("0x0000");
    line.to_lowercase().contains("wrong") && !is_padding
}

fn write_tree(bench: &Bench, tree: &Names) {
    let mut user = User::new(bench.mount().unwrap());
    for name in tree.iter().filter(|(_, content)| content.is_none()).map(|(name, _)| name) {
        user.perform(&Operation::Mkdir { name: name.clone() }).unwrap();
    }
    for (name, content) in tree.iter().filter_map(|(name, content)| Some((name, content.as_ref()?)))
    {
        let name = name.clone();
        user.perform(&Operation::Create { name: name.clone() }).unwrap();
        // The zeros are not written, so that they become a hole node.
        let hole = if name.ends_with("hole") { 5000..55_000 } else { 0..0 };
        for part in [0..hole.start, hole.end..usize::MAX] {
            let part = part.start.min(content.len())..part.end.min(content.len());
            let bytes = content[part.clone()].to_vec();
            let write = Operation::Write { name: name.clone(), at: part.start, bytes };
            if !part.is_empty() {
                user.perform(&write).unwrap();
            }
        }
    }
    user.vfs.unmount().unwrap();
}

fn nandsim_of_8_mib() -> Arc<Part> {
    small_part(64, 64)
}

#[test]
fn the_tools_read_what_we_write() {
    for (compressors, summaries) in [
        (vec![], false),
        (vec![Compressor::Zlib], false),
        (vec![Compressor::Zlib], true),
        (vec![Compressor::Rtime], false),
    ] {
        let mut bench = Bench::new(nandsim_of_8_mib());
        bench.options = Options { compressors, summaries, ..bench.options };
        bench.format().unwrap();
        let tree = tree();
        write_tree(&bench, &tree);
        check_readable("written", &bench, &tree);
    }
}

/// Files are rewritten, renamed, truncated and collected. No obsolete node may become visible to
/// the tools.
#[test]
fn the_tools_read_what_was_collected() {
    for seed in 0..4 {
        let mut bench = Bench::new(small_part(8, 24));
        let compressors = [vec![], vec![Compressor::Zlib]][usize::from(seed % 2 == 0)].clone();
        bench.options = Options { seed, compressors, ..bench.options };
        bench.format().unwrap();
        let mut user = User::new(bench.mount().unwrap());
        let history = History::after(&mut user, "JFFS2", seed, 600);
        user.perform(&Operation::LetGo).unwrap();
        user.vfs.unmount().unwrap();
        check_readable("collected", &bench, &history.last().visible());
    }
}

/// Make an image of the tree with these arguments. With `sumtool`, add summaries to it.
fn make_image(test: &str, arguments: &[&str], sumtool: bool) -> Option<Vec<u8>> {
    let folder = folder(test);
    let (root, image) = (folder.join("root"), folder.join("image"));
    put_into(&root, &tree());
    let placed = ["-e", "128KiB", "-n", "-d", text(&root), "-o", text(&image)];
    run("mkfs.jffs2", &[arguments, &placed].concat())?;
    if !sumtool {
        return Some(fs::read(image).unwrap());
    }
    let summarised = folder.join("summarised");
    let placed = ["-e", "128KiB", "-n", "-i", text(&image), "-o", text(&summarised)];
    run("sumtool", &[&["-l"], &placed[..]].concat())?;
    Some(fs::read(summarised).unwrap())
}

#[test]
fn we_read_what_the_tools_make() {
    let makers: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
        ("zlib", vec!["-l", "-x", "rtime"]),
        ("rtime", vec!["-l", "-x", "zlib"]),
        ("both", vec!["-l", "-m", "size"]),
        ("lzo", vec!["-l", "-X", "lzo", "-x", "zlib", "-x", "rtime"]),
        ("raw", vec!["-l", "-m", "none"]),
        ("pages of 64 KiB", vec!["-l", "-s", "65536"]),
    ]);
    for (maker, arguments) in makers {
        for sumtool in [false, true] {
            let Some(data) = make_image("made", &arguments, sumtool) else { return };
            let what = format!("{maker}, sumtool: {sumtool}");
            let bench = Image::of_data(nandsim_of_8_mib(), data).bench();
            let mut vfs = bench.mount().unwrap();
            let found = read_all(&mut vfs).unwrap();
            assert_eq!(difference(&found, &tree()), None, "{what}");
            // The image can also be written to and collected.
            let fd = vfs.open("d/e/new", true).unwrap();
            for at in 0..400 {
                vfs.write(fd, at % 7 * 4096, &[7; 4000]).unwrap();
            }
            vfs.sleep(20_000_000_000);
            vfs.unlink("d/e/new").unwrap();
            vfs.unmount().unwrap();
            let found = read_all(&mut bench.mount().unwrap()).unwrap();
            assert_eq!(difference(&found, &tree()), None, "{what}, written");
        }
    }
}

#[test]
fn an_image_of_the_other_byte_order_is_refused() {
    let Some(data) = make_image("big-endian", &["-b"], false) else { return };
    let bench = Image::of_data(nandsim_of_8_mib(), data).bench();
    assert_eq!(bench.mount().err(), Some(MountError::BigEndian));
}
