//! Checkpoints, field by field as version 8 of the real YAFFS2 lays them out, and those of other
//! machines.

use flysch_chip::EventKind;

use super::images::Image;
use super::{ALL_OPTIONS, Bench, read_users};
use crate::jffs2::small_part;

const HEAD: usize = 16;
const MAGIC: u32 = 0x5941_FF53;
/// Bytes of a tnode on machines of 64 bits and of 32.
const TNODES: [usize; 2] = [64, 32];
/// The object of the first file.
const FIRST: u32 = 257;

/// A chip with some files on it, unmounted.
fn unmounted() -> Bench {
    let bench = Bench::new(small_part(64, 60), ALL_OPTIONS[0]);
    bench.format().unwrap();
    let mut vfs = bench.mount().unwrap();
    for number in 0..5_u8 {
        let fd = vfs.open(&format!("file{number}"), true).unwrap();
        vfs.write(fd, 0, &vec![number + 1; 30_000 * usize::from(number + 1)]).unwrap();
        vfs.close(fd).unwrap();
    }
    vfs.unmount().unwrap();
    bench
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn sums(bytes: &[u8]) -> [u32; 2] {
    let sum = bytes.iter().map(|&byte| u32::from(byte)).sum();
    [sum, bytes.iter().fold(0, |xor, &byte| xor ^ u32::from(byte))]
}

/// The pages of the checkpoint in their order, and the bytes that they hold without their heads.
fn stream(image: &Image) -> (Vec<usize>, Vec<u8>) {
    let mut pages: Vec<usize> =
        image.used().into_iter().filter(|&page| image.tags(page)[0] == 0x21).collect();
    pages.sort_by_key(|&page| image.tags(page)[2]);
    let bytes = pages.iter().flat_map(|&page| image.data(page)[HEAD..].to_vec()).collect();
    (pages, bytes)
}

/// Put another stream into the pages, with right sums.
fn put(image: &mut Image, pages: &[usize], stream: &[u8]) {
    let mut stream = stream.to_vec();
    let room = image.data(pages[0]).len() - HEAD;
    assert!(stream.len() <= room * pages.len(), "it fits");
    stream.resize(room * pages.len(), 0);
    for (number, &page) in pages.iter().enumerate() {
        let [sum, xor] = sums(&stream[..number * room]);
        let head = [8, u32::try_from(number).unwrap(), sum, xor];
        let head = head.into_iter().flat_map(u32::to_le_bytes);
        let part = stream[number * room..][..room].iter().copied();
        image.set_data(page, &head.chain(part).collect::<Vec<_>>());
    }
}

/// The words of an object, and its groups.
type Object = (Vec<u32>, Vec<Vec<u8>>);

/// The structures behind those of the device: each object with its groups, and the words at the
/// end. Tnodes have `tnode` bytes.
fn objects(stream: &[u8], mut at: usize, tnode: usize) -> (Vec<Object>, usize) {
    let mut all = Vec::new();
    loop {
        let object = words(&stream[at..at + 32]);
        at += 32;
        let mut groups = Vec::new();
        if object[1] != u32::MAX && object[4] & 7 == 1 {
            while word(stream, at) != u32::MAX {
                groups.push(stream[at..at + 4 + tnode].to_vec());
                at += 4 + tnode;
            }
            at += 4;
        }
        let is_end = object[1] == u32::MAX;
        all.push((object, groups));
        if is_end {
            return (all, at);
        }
    }
}

/// Where the objects begin: behind validity, device, blocks and bits.
fn objects_at(blocks: usize) -> usize {
    16 + 36 + blocks * (8 + 64 / 8)
}

#[test]
fn a_checkpoint_is_that_of_the_real_code() {
    let bench = unmounted();
    let image = Image::of(&bench);
    let (pages, stream) = stream(&image);
    let blocks = image.page_count() / 64;
    for (number, &page) in (0..).zip(&pages) {
        let next = u32::try_from(page / 64 + 2).unwrap();
        assert_eq!(image.tags(page), [0x21, next, number + 1, 2048]);
        let [sum, xor] = sums(&stream[..number as usize * 2032]);
        assert_eq!(words(&image.data(page)[..HEAD]), [8, number, sum, xor]);
    }
    assert_eq!(words(&stream[..16]), [16, MAGIC, 8, 1]);
    let device = words(&stream[16..52]);
    let taken = pages.iter().map(|page| page / 64).max().unwrap();
    assert_eq!(device[0], 36);
    assert!(device[2] >= 1 && (device[2] as usize) <= taken, "{device:?}");
    let states = |wanted: u32| {
        let words = (0..blocks).map(|block| word(&stream, 52 + 8 * block));
        u32::try_from(words.filter(|word| word >> 20 & 0xF == wanted).count()).unwrap()
    };
    assert_eq!((states(3), states(4)), (device[1], 1), "empty ones and the one being filled");
    let in_use: u32 = (0..blocks).map(|block| word(&stream, 52 + 8 * block) >> 10 & 0x3FF).sum();
    assert_eq!(device[4], u32::try_from(image.page_count()).unwrap() - in_use);
    let newest = (0..blocks).map(|block| word(&stream, 52 + 8 * block + 4)).max();
    assert_eq!(Some(device[8]), newest);
    let bits = &stream[52 + 8 * blocks..objects_at(blocks)];
    assert_eq!(bits.iter().map(|byte| byte.count_ones()).sum::<u32>(), in_use);

    let (all, end) = objects(&stream, objects_at(blocks), TNODES[0]);
    let ids: Vec<u32> = all.iter().map(|(object, _)| object[1]).collect();
    assert_eq!(ids, [1, 2, 3, 4, FIRST, FIRST + 1, FIRST + 2, FIRST + 3, FIRST + 4, u32::MAX]);
    for (object, groups) in all.iter().filter(|(object, _)| (FIRST..u32::MAX).contains(&object[1]))
    {
        let len = 30_000 * (object[1] - FIRST + 1);
        let chunks = len.div_ceil(2048);
        let kept = [object[0], object[2], object[4], object[5], object[6], object[7]];
        assert_eq!(kept, [32, 1, 1 | 1 << 7 | 1 << 8, chunks, len, 0]);
        // Places are counted from the block before the first.
        let header = image.tags(object[3] as usize - 64);
        assert_eq!((header[1] & 0xFFF_FFFF, header[2] >> 28), (object[1], 8));
        let mut found = 0;
        for group in groups {
            for (place, chunk) in (0..).zip(group[4..36].chunks(2)) {
                let chunk = u16::from_le_bytes(chunk.try_into().unwrap());
                if chunk > 0 {
                    let number = word(group, 0) + place;
                    let tags = image.tags(chunk as usize - 64);
                    assert_eq!((tags[1], tags[2]), (object[1], number));
                    found += 1;
                }
            }
        }
        assert_eq!(found, chunks);
    }
    assert_eq!(words(&stream[end..end + 16]), [16, MAGIC, 8, 0]);
    let [sum, xor] = sums(&stream[..end + 16]);
    assert_eq!(word(&stream, end + 16), sum << 8 | xor);
}

/// Mount an image. Returns the files, and whether the checkpoint was believed: a scan reads the
/// tags of every block.
fn mounted(image: &Image) -> (usize, bool) {
    let bench = image.bench();
    bench.recorder.reset();
    let attached = bench.attach().map(|_| bench.recorder.count(EventKind::ReadOob)).unwrap();
    let mut vfs = bench.mount().unwrap();
    let blocks = image.page_count() as u64 / 64;
    let scanned = bench.recorder.count(EventKind::ReadOob) - attached >= blocks;
    (read_users(&mut vfs).unwrap().len(), !scanned)
}

/// Change objects and groups, and put the sum right.
fn changed(image: &Image, change: impl Fn(&mut Vec<u8>, &mut Vec<Object>)) -> Image {
    let (pages, mut old) = stream(image);
    let at = objects_at(image.page_count() / 64);
    let (mut all, end) = objects(&old, at, TNODES[0]);
    let tail = old[end..end + 16].to_vec();
    old.truncate(at);
    change(&mut old, &mut all);
    for (object, groups) in all {
        let (is_file, is_end) = (object[4] & 7 == 1, object[1] == u32::MAX);
        old.extend(object.into_iter().flat_map(u32::to_le_bytes));
        old.extend(groups.into_iter().flatten());
        if is_file && !is_end {
            old.extend([0xFF; 4]);
        }
    }
    old.extend(tail);
    let [sum, xor] = sums(&old);
    old.extend((sum << 8 | xor & 0xFF).to_le_bytes());
    let mut image = image.clone();
    put(&mut image, &pages, &old);
    image
}

#[test]
fn checkpoints_of_other_machines_and_soft_deletions_are_read() {
    let image = Image::of(&unmounted());
    assert_eq!(mounted(&image), (5, true));
    assert_eq!(mounted(&changed(&image, |_, _| {})), (5, true));
    let narrow = changed(&image, |_, all| {
        let groups = all.iter_mut().flat_map(|(_, groups)| groups);
        groups.for_each(|group| group.truncate(4 + TNODES[1]));
    });
    assert_eq!(mounted(&narrow), (5, true));
    // The first file is deleted, and its chunks wait to be collected: all of them in one block.
    let soft = changed(&image, |front, all| {
        let (object, groups) = all.iter_mut().find(|(object, _)| object[1] == FIRST).unwrap();
        object[2] = 4;
        object[4] |= 7 << 3;
        groups.clear();
        let soft = object[5];
        let at = 52 + 8 * (object[3] as usize / 64 - 1);
        let old = word(front, at);
        front[at..at + 4].copy_from_slice(&(old + soft).to_le_bytes());
    });
    assert_eq!(mounted(&soft), (4, true));
}

/// What is not of this version, or says that a block is neither this nor that, is passed over.
#[test]
fn a_checkpoint_that_is_not_understood_is_passed_over() {
    let image = Image::of(&unmounted());
    let of_version = |version: u32| {
        changed(&image, |front, _| front[8..12].copy_from_slice(&version.to_le_bytes()))
    };
    assert_eq!(mounted(&of_version(8)), (5, true));
    assert_eq!(mounted(&of_version(7)), (5, false));
    let dirty = changed(&image, |front, _| front[54] = front[54] & 0x0F | 6 << 4);
    assert_eq!(mounted(&dirty), (5, false));
    let crowded = changed(&image, |_, all| {
        let group = all.iter().find_map(|(_, groups)| groups.first().cloned()).unwrap();
        let (_, groups) = all.iter_mut().rfind(|(_, groups)| !groups.is_empty()).unwrap();
        groups[0][4..].copy_from_slice(&group[4..]);
    });
    assert_eq!(mounted(&crowded), (5, false));
}
