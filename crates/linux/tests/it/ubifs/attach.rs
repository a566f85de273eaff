//! What an attach of UBI mends and clears away.
#![expect(clippy::big_endian_bytes, reason = "UBI's own byte order")]

use flysch_linux::ubifs::Options;
use flysch_nand::{Nand, PageAddr};

use super::content::read_all;
use super::device::Device;

/// The volume that holds the volume table.
const LAYOUT_VOLUME: u32 = 0x7FFF_EFFF;

/// The VID header of each block that has one: block, volume, LEB.
fn headers(device: &Device) -> Vec<(u32, u32, u32)> {
    let count = device.chip.borrow().device().chip().part().geometry.block_count;
    let word = |bytes: &[u8], at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let header = |block: u32| {
        let mut bytes = [0; 64];
        device.chip.borrow_mut().read(PageAddr(block * 64), 512, &mut bytes).unwrap();
        (bytes[..4] == *b"UBI!").then(|| (block, word(&bytes, 8), word(&bytes, 12)))
    };
    (0..count).filter_map(header).collect()
}

fn device_with_file() -> Device {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    let fd = vfs.open("file", true).unwrap();
    vfs.write(fd, 0, &[3; 9000]).unwrap();
    vfs.unmount().unwrap();
    device
}

/// One copy of the volume table may be lost, and then the other: the first loss is mended.
#[test]
fn a_copy_of_the_volume_table_that_is_lost_is_written_again() {
    for first in [0, 1] {
        let device = device_with_file();
        for lost in [first, 1 - first] {
            let copy =
                headers(&device).into_iter().find(|it| (it.1, it.2) == (LAYOUT_VOLUME, lost));
            let (block, ..) = copy.unwrap();
            device.rewrite(block, |content| content[2048 + 5] ^= 1);
            let mut vfs = device.mount().unwrap();
            assert!(read_all(&mut vfs, "file").unwrap() == [3; 9000], "copy {lost}");
            vfs.sleep(1_000_000_000);
            vfs.unmount().unwrap();
        }
    }
}

/// A LEB beyond the end of the volume belongs to nobody. Its block is erased and used again.
#[test]
fn what_lies_beyond_the_volume_is_erased() {
    let device = device_with_file();
    let used: Vec<u32> = headers(&device).into_iter().map(|(block, ..)| block).collect();
    let stray = (0..40).rev().find(|block| !used.contains(block)).unwrap();
    device.rewrite(stray, |content| {
        let mut header = [0; 64];
        header[..4].copy_from_slice(b"UBI!");
        header[4..6].copy_from_slice(&[1, 1]);
        header[12..16].copy_from_slice(&700_u32.to_be_bytes());
        header[40..48].copy_from_slice(&5_u64.to_be_bytes());
        let crc = !crc32fast::hash(&header[..60]);
        header[60..].copy_from_slice(&crc.to_be_bytes());
        content[512..1024].fill(0);
        content[512..576].copy_from_slice(&header);
    });
    assert!(headers(&device).contains(&(stray, 0, 700)));
    let mut vfs = device.mount().unwrap();
    vfs.sleep(1_000_000_000);
    assert!(headers(&device).iter().all(|&(.., lnum)| lnum != 700), "it was erased");
    assert!(read_all(&mut vfs, "file").unwrap() == [3; 9000]);
}

/// Each of the two master nodes is enough, wherever in their LEBs the last ones are.
#[test]
fn one_of_the_masters_may_be_lost() {
    let device = Device::new(40, Options::default());
    device.format().unwrap();
    let mut vfs = device.mount().unwrap();
    for round in 1..=70_u8 {
        let fd = vfs.open("file", true).unwrap();
        vfs.write(fd, 0, &[round; 9000]).unwrap();
        vfs.sync().unwrap();
        vfs.close(fd).unwrap();
        if ![1, 9, 60, 61, 62, 63, 64, 70].contains(&round) {
            continue;
        }
        for lost in [1, 2] {
            let fork = device.fork();
            let (block, ..) =
                headers(&fork).into_iter().find(|it| (it.1, it.2) == (0, lost)).unwrap();
            fork.rewrite(block, |content| content[2048..].fill(0));
            let mut vfs = fork.mount().unwrap_or_else(|error| panic!("{round}, {lost}: {error}"));
            assert!(read_all(&mut vfs, "file").unwrap() == [round; 9000], "{round}, {lost}");
        }
    }
}
