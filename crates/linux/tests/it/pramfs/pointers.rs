//! Pointers that lead elsewhere: no file reaches into another one.

use flysch_linux::vfs::Vfs;
use flysch_nand::NvRam;

use super::{OPTIONS, SIZE, formatted, mount};
use crate::jffs2::state::read_named;

/// Bytes of each of the two files.
const LEN: usize = 9000;

fn fill(vfs: &mut Vfs, name: &str, byte: u8) {
    let fd = vfs.open(name, true).unwrap();
    vfs.write(fd, 0, &[byte; LEN]).unwrap();
    vfs.close(fd).unwrap();
}

/// Each pointer is put in the place of each other one: a number and its complement. Such an image
/// is refused, or the other file keeps its bytes when one is written.
#[test]
fn a_block_belongs_to_one_file() {
    let (mut memory, clock) = formatted(OPTIONS);
    let mut vfs = mount(&memory, &clock).unwrap();
    fill(&mut vfs, "one", 0xE1);
    fill(&mut vfs, "other", 0xE2);
    drop(vfs);
    let mut image = vec![0; SIZE as usize];
    memory.read(0, &mut image).unwrap();
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap());
    let is_pointer = |at: &usize| word(*at) == !word(at + 4);
    let pointers: Vec<usize> = (0..image.len()).step_by(8).filter(is_pointer).collect();
    assert!(pointers.len() > 8, "{} pointers", pointers.len());
    let mut refused = 0;
    for (&from, &to) in pointers.iter().flat_map(|from| pointers.iter().map(move |to| (from, to))) {
        let mut changed = image.clone();
        changed.copy_within(from..from + 8, to);
        memory.write(0, &changed).unwrap();
        let Ok(mut vfs) = mount(&memory, &clock) else {
            refused += 1;
            continue;
        };
        let Ok(before) = read_named(&mut vfs, "other") else { continue };
        fill(&mut vfs, "one", 0xE3);
        let after = read_named(&mut vfs, "other");
        assert!(after == Ok(before), "the pointer at {from} is put at {to}");
    }
    assert!(refused > pointers.len(), "{refused} images are refused");
}
