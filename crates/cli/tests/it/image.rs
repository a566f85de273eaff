//! `flysch image` with the arguments of a user: the files of a folder come back from its image.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::command::{complaint_of, output_of};

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
        let extracted = run("extract whole copies");
        assert!(extracted.starts_with("3 files, "), "{stack}: {extracted}");
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
        extracted.split(' ').nth(7).unwrap().parse::<u32>().unwrap()
    });
    assert!(reads[0] > 200 && reads[1] < 200, "{reads:?}");
}

#[test]
fn what_is_no_image_is_refused_in_a_line() {
    let place = tempfile::tempdir().unwrap();
    plant(&place.path().join("files"));
    let large = fs::read(place.path().join("files/a")).unwrap().repeat(10);
    fs::write(place.path().join("files/large"), large).unwrap();
    fs::write(place.path().join("short"), [0; 1000]).unwrap();
    fs::write(place.path().join("noise"), vec![0x5A; 24 * 135_168]).unwrap();
    let complaints = [
        ("extract short out --on file/ubifs", "image is 1000 bytes, part nandsim has 2048 blocks"),
        ("extract absent out --on file/ubifs", "absent: No such file or directory"),
        ("extract noise out --on file/ubifs", "ubifs: "),
        ("extract noise out --on sqlite/ubifs", "--on sqlite/ubifs: images are of file/jffs2"),
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
