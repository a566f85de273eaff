//! Damaged memories with PRAMFS. The checksum of a PRAMFS record is a CRC-16 at its start.

use flysch_chip::{Clock, Pram, PramFigures, Recorder, Shared};
use flysch_linux::cache::ReadAheadProfile;
use flysch_linux::cpu::{Cpu, Speed};
use flysch_linux::pramfs::{Pramfs, PramfsOptions};
use flysch_linux::vfs::Vfs;
use flysch_nand::NvRam;

use crate::choices::Choices;
use crate::damage::change;
use crate::grown::grow;
use crate::sealed::crc16;
use crate::seen;
use crate::stack::use_all;

const SIZE: u32 = 1 << 18;
const RECORD: usize = 128;
const TABLE: usize = 4 * RECORD;
const STATE: usize = 32;
const INODES: u32 = 32;
const CHANGES_MAX: usize = 64;

/// The block sizes of PRAMFS, bytes. They replace the page sizes of NAND.
pub const BLOCK_SIZES: [u32; 3] = [512, 2048, 4096];

fn new_memory(clock: &Clock) -> Shared<Pram> {
    let figures = PramFigures { size: SIZE, ..PramFigures::HYBRID_SQLITE };
    Shared::new(Pram::new(figures, clock.clone(), 1))
}

fn mount(memory: &Shared<Pram>, clock: &Clock) -> Option<Vfs> {
    let recorder = Recorder::new(clock.clone(), "fuzz");
    let cpu = Cpu::new(clock.clone(), Speed::default());
    let mounted = Pramfs::mount(Box::new(memory.clone()), cpu.clone(), recorder.clone());
    seen::outcome("mount", &mounted);
    Some(Vfs::mount(Box::new(mounted.ok()?), ReadAheadProfile::C, cpu, recorder))
}

/// The content of a memory after some use.
///
/// # Panics
/// If PRAMFS does not fit the memory.
pub fn grown(block_size: u32, seed: u64) -> Vec<u8> {
    let clock = Clock::new();
    let mut memory = new_memory(&clock);
    let options = PramfsOptions { block_size, inode_count: Some(INODES) };
    Pramfs::format(&mut memory, options).expect("it fits");
    let mut vfs = mount(&memory, &clock).expect("it was made just now");
    grow(&mut vfs, seed, 15_000);
    let mut bytes = vec![0; SIZE as usize];
    memory.read(0, &mut bytes).expect("the power is on");
    bytes
}

/// A copy of a good memory with the damage that an input asks for.
pub fn damaged(grown: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = grown.to_vec();
    for _ in 0..CHANGES_MAX {
        let record = choices.below(INODES as usize + 3);
        match choices.below(6) {
            0 => change(&mut bytes, false, choices),
            1 => {
                let at = choices.below(bytes.len());
                bytes[at] = choices.byte();
            }
            2 => falsify(&mut bytes, 0, RECORD, 0, choices),
            3 => falsify(&mut bytes, 2 * RECORD, 80, !0, choices),
            4 => falsify(&mut bytes, TABLE + record * RECORD, 64, !0, choices),
            _ => falsify_state(&mut bytes, record, choices),
        }
        if choices.is_over() {
            break;
        }
    }
    bytes
}

/// Change a record whose checksum is at its start, and correct the checksum.
fn falsify(bytes: &mut [u8], at: usize, len: usize, begin: u16, choices: &mut Choices<'_>) {
    let Some(record) = bytes.get_mut(at..at + len) else { return };
    change(&mut record[2..], false, choices);
    let crc = crc16(begin, &record[2..]);
    record[..2].copy_from_slice(&crc.to_le_bytes());
}

/// Change one of an inode's state records, and correct its checksum, which includes the number of
/// the inode.
fn falsify_state(bytes: &mut [u8], record: usize, choices: &mut Choices<'_>) {
    let at = TABLE + record * RECORD + 64 + choices.below(2) * STATE;
    let Some(state) = bytes.get_mut(at..at + STATE) else { return };
    change(&mut state[2..], false, choices);
    let ino = u32::try_from(record + 1).unwrap_or(0);
    let crc = crc16(crc16(!0, &ino.to_le_bytes()), &state[2..]);
    state[..2].copy_from_slice(&crc.to_le_bytes());
}

/// Mount the memory, use all of the file system, and do both once more.
///
/// # Panics
/// If the number of bytes is not the size of the memory.
pub fn survive(bytes: &[u8]) {
    let clock = Clock::new();
    let mut memory = new_memory(&clock);
    memory.write(0, bytes).expect("the power is on");
    for _ in 0..2 {
        let Some(mut vfs) = mount(&memory, &clock) else { continue };
        use_all(&mut vfs);
        seen::outcome("unmount", &vfs.unmount());
    }
}
