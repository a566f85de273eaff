//! `flysch image` with the arguments of a user: the files of a folder come back from its image.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{complaint_of, flysch, output_of};
use crate::run::names;

/// Create a folder with files at `root`. Most of their content cannot be compressed.
fn plant(root: &Path) {
    let step = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let noise = std::iter::successors(Some(1_u32), step).map(|state| state.to_le_bytes()[3]);
    let noise: Vec<u8> = noise.skip(1).take(90_000).collect();
    fs::create_dir_all(root.join("folder/empty")).unwrap();
    fs::write(root.join("a"), &noise).unwrap();
    fs::write(root.join("b"), []).unwrap();
    let hole = [vec![7; 3], vec![0; 200_000], noise[..70_000].to_vec()].concat();
    fs::write(root.join("folder/hole"), hole).unwrap();
}

/// All names below a folder, with the content of the files.
fn tree(root: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.insert(name, path.is_file().then(|| fs::read(&path).unwrap()));
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

#[test]
fn a_folder_comes_back_from_its_image() {
    for stack in ["jffs2", "yaffs2", "ubifs", "ftl"] {
        let place = tempfile::tempdir().unwrap();
        let at = |name| place.path().join(name);
        plant(&at("files"));
        let run = |line: &str| output_of(place.path(), &format!("image {line} --on file/{stack}"));
        let made = run("make files whole --partition-blocks 40");
        assert!(made.starts_with("3 files, "), "{stack}: {made}");
        let extracted = output_of(place.path(), "image extract whole copies");
        let found = format!("3 files, 2 folders, 0 links of {stack}, with OOB; ");
        assert!(extracted.starts_with(&found), "{stack}: {extracted}");
        assert_eq!(tree(&at("copies")), tree(&at("files")), "{stack}");
        let number = |text: &str, at| text.split(' ').nth(at).unwrap().parse::<usize>().unwrap();
        let cut = number(&made, 2) * 3 / 4;
        let made = run(&format!("make files cut --partition-blocks 40 --cut {cut}"));
        let durable = number(&made, 0);
        assert!((1..3).contains(&durable) && number(&made, 2) == cut + 1, "{stack}: {made}");
        run("extract cut remains");
        let (remains, files) = (tree(&at("remains")), tree(&at("files")));
        for name in ["a", "b"].iter().take(durable) {
            assert_eq!(remains[*name], files[*name], "{stack}");
        }
    }
}

#[test]
fn a_folder_comes_back_from_an_image_of_a_pram() {
    let place = tempfile::tempdir().unwrap();
    let at = |name| place.path().join(name);
    plant(&at("files"));
    let run = |line: &str| output_of(place.path(), &format!("image {line}"));
    let made = run("make files whole --on file/pramfs --pram-size 1024");
    assert!(made.starts_with("3 files, "), "{made}");
    assert_eq!(fs::metadata(at("whole")).unwrap().len(), 1 << 20);
    assert_eq!(run("extract whole copies"), "3 files, 2 folders, 0 links of pramfs\n");
    assert_eq!(tree(&at("copies")), tree(&at("files")));
    // The copy of the super block is enough.
    let mut bytes = fs::read(at("whole")).unwrap();
    bytes[8] ^= 1;
    fs::write(at("damaged"), &bytes).unwrap();
    run("extract damaged others");
    assert_eq!(tree(&at("others")), tree(&at("files")));
}

/// A fastmap replaces most of the reads of an attach: there are fewer of them than blocks.
#[test]
fn an_image_with_a_fastmap_is_mounted_with_fewer_reads() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    let run = |line: &str| output_of(place.path(), &format!("image {line} --on file/ubifs"));
    let reads = ["off", "on"].map(|switch| {
        run(&format!("make files {switch} --partition-blocks 200 --ubi-fastmap {switch}"));
        let extracted = run(&format!("extract {switch} {switch}.out"));
        assert_eq!(tree(&place.path().join(format!("{switch}.out"))).len(), 5, "{extracted}");
        extracted.split(' ').nth(15).unwrap().parse::<u32>().unwrap()
    });
    assert!(reads[0] > 200 && reads[1] < 200, "{reads:?}");
}

/// Make an image of a folder, which is created if it is not there.
fn image_of(stack: &str, place: &Path, files: &str, image: &str) {
    fs::create_dir_all(place.join(files)).unwrap();
    let line = format!("image make {files} {image} --on file/{stack} --partition-blocks 40");
    output_of(place, &line);
}

/// What nanddump reads without --oob where it reads `image` with it.
fn without_oob(image: &[u8]) -> Vec<u8> {
    image.chunks(2048 + 64).flat_map(|page| &page[..2048]).copied().collect()
}

#[test]
fn a_dump_without_oob_is_recognised() {
    for stack in ["jffs2", "ubifs"] {
        let place = tempfile::tempdir().unwrap();
        let at = |name| place.path().join(name);
        plant(&at("files"));
        image_of(stack, place.path(), "files", "whole");
        fs::write(at("plain"), without_oob(&fs::read(at("whole")).unwrap())).unwrap();
        let extracted = output_of(place.path(), "image extract plain copies");
        let found = format!("3 files, 2 folders, 0 links of {stack}, without OOB; ");
        assert!(extracted.starts_with(&found), "{stack}: {extracted}");
        assert_eq!(tree(&at("copies")), tree(&at("files")), "{stack}");
    }
}

/// How mtd-utils make images: of which file system, and the commands.
const TOOLS: [(&str, &[&str]); 5] = [
    ("jffs2", &["mkfs.jffs2 -r files -o image"]),
    ("jffs2", &["mkfs.jffs2 -r files -e 256KiB -o image"]),
    (
        "ubifs",
        &[
            "mkfs.ubifs -m 2048 -e 129024 -c 200 -r files -o volume",
            "ubinize -m 2048 -p 128KiB -s 512 -o image config",
        ],
    ),
    (
        "ubifs",
        &[
            "mkfs.ubifs -m 2048 -e 126976 -c 100 -x zlib -r files -o volume",
            "ubinize -m 2048 -p 128KiB -o image config",
        ],
    ),
    (
        "ubifs",
        &[
            "mkfs.ubifs -m 4096 -e 253952 -c 100 -r files -o volume",
            "ubinize -m 4096 -p 256KiB -o image config",
        ],
    ),
];

const CONFIG: &str = "[data]\nmode=ubi\nimage=volume\nvol_id=0\nvol_size=20MiB\n\
                      vol_type=dynamic\nvol_name=data\nvol_flags=autoresize\n";

/// Names below a folder with modes, owners and targets of links.
fn attributes(root: &Path) -> BTreeMap<String, String> {
    let attribute = |name: &String| {
        let path = root.join(name);
        let meta = fs::symlink_metadata(&path).unwrap();
        let target = fs::read_link(&path).unwrap_or_default();
        let mode = if meta.is_symlink() { 0 } else { meta.mode() };
        format!("{mode:o} {} {} {}", meta.uid(), meta.gid(), target.display())
    };
    tree(root).keys().map(|name| (name.clone(), attribute(name))).collect()
}

#[test]
fn images_of_the_tools_are_recognised_with_links_modes_and_owners() {
    let have = |tool: &&str| Command::new(tool).arg("--help").output().is_ok();
    if !["mkfs.jffs2", "mkfs.ubifs", "ubinize"].iter().all(have) {
        println!("skipped: mtd-utils is not installed");
        return;
    }
    for (stack, commands) in TOOLS {
        let place = tempfile::tempdir().unwrap();
        let at = |name| place.path().join(name);
        plant(&at("files"));
        symlink("folder/hole", at("files").join("link")).unwrap();
        fs::set_permissions(at("files").join("a"), PermissionsExt::from_mode(0o640)).unwrap();
        // Only root can give a file away.
        let _ = chown(at("files").join("a"), Some(1000), Some(1001));
        fs::write(at("config"), CONFIG).unwrap();
        for command in commands {
            let mut words = command.split(' ');
            let mut tool = Command::new(words.next().unwrap());
            let done = tool.args(words).current_dir(place.path()).output().unwrap();
            assert!(done.status.success(), "{command}: {done:?}");
        }
        let extracted = output_of(place.path(), "image extract image copies");
        let found = format!("3 files, 2 folders, 1 link of {stack}, without OOB; ");
        assert!(extracted.starts_with(&found), "{commands:?}: {extracted}");
        assert_eq!(tree(&at("copies")), tree(&at("files")), "{commands:?}");
        assert_eq!(attributes(&at("copies")), attributes(&at("files")), "{commands:?}");
    }
}

/// Permissions come back from the file systems that store them.
#[test]
fn permissions_come_back_from_an_image() {
    for (stack, is_stored) in [("jffs2", true), ("yaffs2", true), ("ubifs", true), ("ftl", false)] {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        plant(&at("files"));
        let modes = [("a", 0o755), ("b", 0o600), ("folder", 0o700), ("folder/empty", 0o1777)];
        for (name, mode) in modes {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(at("files").join(name), permissions).unwrap();
        }
        image_of(stack, place.path(), "files", "image");
        output_of(place.path(), "image extract image copies");
        assert_eq!(tree(&at("copies")), tree(&at("files")), "{stack}");
        for (name, mode) in modes.into_iter().filter(|_| is_stored) {
            let found = fs::metadata(at("copies").join(name)).unwrap().mode();
            assert_eq!(found & 0o777, mode & 0o777, "{stack}: {name}");
        }
    }
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("links")).unwrap();
    symlink("none", place.path().join("links/link")).unwrap();
    let said = complaint_of(place.path(), "image make links image --on file/jffs2");
    assert!(said.contains("links/link: a symbolic link, and make writes only files"), "{said}");
}

/// A signal while a large image is written leaves nothing behind.
#[test]
fn an_image_that_is_interrupted_leaves_no_file() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_flysch"));
    command.args("image make files image --on file/jffs2 --partition-blocks 2048".split(' '));
    let mut child = command.current_dir(place.path()).stderr(Stdio::null()).spawn().unwrap();
    while child.try_wait().unwrap().is_none() && names(place.path()) == ["files"] {}
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).output().unwrap();
    let is_done = child.wait().unwrap().success();
    assert!(is_done || sent.status.success());
    let wanted: &[&str] = if is_done { &["files", "image"] } else { &["files"] };
    assert_eq!(names(place.path()), wanted);
}

/// An image with OOB that ends anywhere is not taken for one without. Where its chip is not named,
/// so that pages are cut at the wrong places, the broken nodes tell it.
#[test]
fn an_image_that_is_read_at_the_wrong_places_is_not_whole() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    image_of("jffs2", place.path(), "files", "image");
    let image = fs::read(place.path().join("image")).unwrap();
    fs::write(place.path().join("cut"), &image[..500_000]).unwrap();
    let said = complaint_of(place.path(), "image extract cut out");
    assert!(said.contains("which ends within a block of 135168 with OOB: it is cut off"), "{said}");
    assert!(!place.path().join("out").exists());
    let finished = flysch(place.path(), "image extract image out --part k9f2g08u0a");
    assert_eq!(finished.code, Some(0), "the same geometry: {finished:?}");
    let wider: Vec<u8> = image.chunks(2112).flat_map(|page| [page, &[0xFF; 64]].concat()).collect();
    fs::write(place.path().join("wider"), wider).unwrap();
    let finished = flysch(place.path(), "image extract wider others");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(
        finished.stderr.contains("nodes are broken, so that files are not whole"),
        "{finished:?}"
    );
}

#[test]
fn files_that_are_not_whole_are_listed_with_exit_code_1() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    image_of("ubifs", place.path(), "files", "image");
    let mut image = fs::read(place.path().join("image")).unwrap();
    let content = fs::read(place.path().join("files/a")).unwrap();
    let found = image.windows(64).position(|bytes| bytes == &content[40_000..40_064]);
    image[found.unwrap()] ^= 1;
    fs::write(place.path().join("image"), image).unwrap();
    let finished = flysch(place.path(), "image extract image copies");
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.starts_with("2 files, 2 folders, "), "{finished:?}");
    let said = finished.stderr.lines().collect::<Vec<_>>();
    assert!(said[0].starts_with("flysch: a: data of inode"), "{finished:?}");
    assert_eq!(said[1..], ["flysch: image: 1 of its files are not whole"], "{finished:?}");
}

#[test]
fn what_is_no_image_is_refused_in_a_line() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    let large = fs::read(place.path().join("files/a")).unwrap().repeat(10);
    fs::write(place.path().join("files/large"), large).unwrap();
    fs::write(place.path().join("short"), [0; 1000]).unwrap();
    File::create(place.path().join("huge")).unwrap().set_len(400_000_000).unwrap();
    let big = [&[0x19, 0x85, 0x20, 0x03][..], &[0; 4092]].concat();
    fs::write(place.path().join("big"), big).unwrap();
    image_of("ubifs", place.path(), "nothing", "empty");
    image_of("yaffs2", place.path(), "files", "yaffs2");
    let with_oob = fs::read(place.path().join("yaffs2")).unwrap();
    fs::write(place.path().join("cut"), &with_oob[..39 * 135_168 - 2112]).unwrap();
    fs::write(place.path().join("tagless"), without_oob(&with_oob)).unwrap();
    fs::write(place.path().join("noise"), vec![0x5A; 24 * 135_168]).unwrap();
    let complaints = [
        ("extract short out --on file/ubifs", "short: no ubifs is found in it; leave --on out"),
        ("extract short out", "short: no JFFS2, UBI, YAFFS2 or FTL is found in it"),
        ("extract huge out", "huge: image is 400000000 bytes, part nandsim has 2048 blocks"),
        ("extract cut out", "cut: image is 5269440 bytes, which ends within a block of 135168"),
        ("extract tagless out", "tagless: a YAFFS2 image without OOB, where YAFFS2 keeps its tags"),
        ("extract empty out", "empty: its ubifs holds no file"),
        ("extract big out", "big: JFFS2 of a big-endian machine, which is not supported"),
        ("extract absent out --on file/ubifs", "absent: No such file or directory"),
        ("extract noise out --on file/ubifs", "noise: no ubifs is found in it"),
        ("extract noise out --on sqlite/ubifs", "--on sqlite/ubifs: images are of file/jffs2"),
        ("extract noise out --on file/pramfs", "noise: pramfs: no PRAMFS here"),
        ("make files out --on file/pramfs --cut 3", "--cut is for images of flash"),
        (
            "make files out --on file/pramfs --compression zlib",
            "--compression: file/pramfs does not",
        ),
        ("make files out --on file/pramfs --partition-blocks 9", "--partition-blocks: file/pramfs"),
        ("make files out --on file/ftl --compression zlib", "--compression: file/ftl does not use"),
        ("make files out --on file/jffs2 --compression zstd", "zstd: file/jffs2 has no such"),
        ("make files out --on file/jffs2 --pram-size 1000", "--pram-size: file/jffs2 does not"),
        ("make files out --on file/jffs2 --ubi-fastmap on", "--ubi-fastmap: file/jffs2 does not"),
        ("make files out --on file/pramfs --pram-size 64", "a: no space left on device"),
        ("make absent out --on file/jffs2", "absent: No such file or directory"),
        ("make files short --on file/jffs2", "short: exists; --force replaces it"),
        ("make files out --on file/jffs2 --cut 99999", "no cut at operation 99999: there were "),
        ("make files out --on file/jffs2 --partition-blocks 8", "large: no space left on device"),
        ("make files out --on file/jffs2 --partition-blocks 9999", "partition of 9999 blocks"),
    ];
    for (line, wanted) in complaints {
        let said = complaint_of(place.path(), &format!("image {line}"));
        assert!(said.contains(wanted), "{line}: {said}");
        assert!(!place.path().join("out").exists(), "{line}");
    }
}
