//! The bytes of a checkpoint: blocks and objects, and a checksum over them. The layout is in
//! `checkpoint.rs`.

use std::collections::BTreeMap;

use super::blocks::{BlockState, Blocks, Owner};
use super::format::{Kind, SummaryShape};
use super::objects::{LOST_AND_FOUND, OBJECT_MAX, Object, Objects, ROOT};

const MAGIC: u32 = 0x5941_4646;
const VERSION: u32 = 1;
const HEAD_SIZE: usize = 32;
const BLOCK_SIZE: usize = 16;
const BITS_SIZE: usize = 8;
const OBJECT_SIZE: usize = 40;
const GROUP_SIZE: usize = 68;
const GROUP: u32 = 16;

/// Length of a checkpoint, bytes; an estimate that is a little too high.
pub(super) fn size(blocks: &Blocks, objects: usize, groups: usize) -> usize {
    let per_block = BLOCK_SIZE + BITS_SIZE;
    HEAD_SIZE + blocks.list.len() * per_block + objects * OBJECT_SIZE + groups * GROUP_SIZE
}

pub(super) fn emit(blocks: &Blocks, objects: &Objects) -> Vec<u8> {
    let mut words = Words::default();
    let (filling, page) = blocks.filling.map_or((0, 0), |(block, page)| (block + 1, page));
    words.extend(&[MAGIC, VERSION, blocks.count(), blocks.chunks_per_block]);
    words.extend(&[blocks.sequence, blocks.finder, filling, page]);
    for block in &blocks.list {
        let flags = u32::from(block.has_shrink_header) << 8
            | u32::from(block.needs_retiring) << 9
            | u32::from(block.has_summary) << 10
            | u32::from(block.is_suspect) << 11;
        words.extend(&[state_number(block.state) | flags, block.sequence, block.in_use, 0]);
    }
    for block in 0..blocks.count() {
        words.extend(&used_bits(blocks, block));
    }
    let written = objects.all.iter().filter(|&(&id, _)| is_kept(id));
    words.extend(&[u32::try_from(written.clone().count()).expect("ids are 32 bits")]);
    written.for_each(|(&id, object)| emit_object(&mut words, id, object));
    let sum = words.sum();
    words.extend(&[MAGIC, sum]);
    words.0
}

/// The directories 2 to 4 are always the same and are not written.
const fn is_kept(id: u32) -> bool {
    id == ROOT || id > LOST_AND_FOUND + 2
}

fn emit_object(words: &mut Words, id: u32, object: &Object) {
    let header = object.header.map_or(0, |chunk| chunk + 1);
    let mut groups: BTreeMap<u32, [u32; GROUP as usize]> = BTreeMap::new();
    for (number, chunk) in &object.chunks {
        let group = groups.entry(number / GROUP).or_default();
        group[(number % GROUP) as usize] = chunk + 1;
    }
    let low = u32::try_from(object.size & u64::from(u32::MAX)).expect("masked");
    let high = u32::try_from(object.size >> 32).expect("half of 64 bits");
    let count = u32::try_from(groups.len()).expect("numbers are 32 bits");
    words.extend(&[id, object.parent, object.kind.number(), header]);
    words.extend(&[object.mode, object.mtime, low, high, count, 0]);
    for (number, places) in groups {
        words.extend(&[number]);
        words.extend(&places);
    }
}

const fn state_number(state: BlockState) -> u32 {
    match state {
        BlockState::Dead => 0,
        BlockState::Empty => 1,
        BlockState::Allocating => 2,
        BlockState::Full | BlockState::Collecting => 3,
        BlockState::Checkpoint => 4,
    }
}

const fn state_of(number: u32) -> Option<BlockState> {
    match number {
        0 => Some(BlockState::Dead),
        1 => Some(BlockState::Empty),
        2 => Some(BlockState::Allocating),
        3 => Some(BlockState::Full),
        // The blocks of the checkpoint itself are entered by its reader.
        4 => Some(BlockState::Checkpoint),
        _ => None,
    }
}

/// Which of the first 64 chunks of a block have an owner, one bit for each.
fn used_bits(blocks: &Blocks, block: u32) -> [u32; 2] {
    let first = block * blocks.chunks_per_block;
    let mut bits = [0; 2];
    for page in 0..blocks.chunks_per_block.min(64) {
        let is_used = blocks.owner(first + page) != Owner::None;
        bits[(page / 32) as usize] |= u32::from(is_used) << (page % 32);
    }
    bits
}

/// Restore what [`emit`] wrote. `blocks` must be the table before a scan. `None` if anything is
/// inconsistent.
pub(super) fn restore(
    bytes: &[u8],
    mut blocks: Blocks,
    summaries: Option<SummaryShape>,
) -> Option<(Blocks, Objects)> {
    let mut reader = Reader { bytes, at: 0 };
    let head = reader.words::<8>()?;
    if head[..4] != [MAGIC, VERSION, blocks.count(), blocks.chunks_per_block] {
        return None;
    }
    let [_, _, count, chunks, sequence, finder, filling, page] = head;
    (finder < count && filling <= count && page < chunks).then_some(())?;
    let mut in_use = Vec::new();
    for number in 0..count {
        let [word, sequence, used, _] = reader.words::<4>()?;
        let state = state_of(word & 0xFF)?;
        if (state == BlockState::Dead) != (blocks.block(number).state == BlockState::Dead) {
            return None;
        }
        blocks.book(number, state, sequence);
        let block = blocks.block_mut(number);
        block.has_shrink_header = word & 1 << 8 != 0;
        block.needs_retiring = word & 1 << 9 != 0;
        block.has_summary = word & 1 << 10 != 0;
        block.is_suspect = word & 1 << 11 != 0;
        in_use.push(used);
    }
    let mut bits = Vec::new();
    for _ in 0..count {
        bits.push(reader.words::<2>()?);
    }
    blocks.sequence = sequence;
    blocks.finder = finder;
    blocks.filling = filling.checked_sub(1).map(|block| (block, page));
    let objects = restore_objects(&mut reader, &mut blocks)?;
    give_summaries(&mut blocks, summaries)?;
    let sum = reader.sum();
    (reader.words::<2>()? == [MAGIC, sum]).then_some(())?;
    let is_filling = |number: u32| blocks.filling.is_some_and(|(block, _)| block == number);
    let agrees = (0..count).all(|number| {
        let block = blocks.block(number);
        let is_open = block.state == BlockState::Allocating;
        let place = number as usize;
        block.in_use == in_use[place]
            && used_bits(&blocks, number) == bits[place]
            && is_open == is_filling(number)
    });
    agrees.then_some((blocks, objects))
}

fn give_summaries(blocks: &mut Blocks, summaries: Option<SummaryShape>) -> Option<()> {
    for number in 0..blocks.count() {
        if blocks.block(number).has_summary {
            let shape = summaries?;
            let first = number * blocks.chunks_per_block + shape.covered;
            for chunk in first..first + shape.parts {
                give(blocks, chunk, Owner::Summary)?;
            }
        }
    }
    Some(())
}

/// Give a chunk an owner. `None` if it cannot have one.
fn give(blocks: &mut Blocks, chunk: u32, owner: Owner) -> Option<()> {
    let number = blocks.of(chunk);
    let state = blocks.list.get(number as usize)?.state;
    let is_data = match (state, blocks.filling) {
        (BlockState::Full, _) => true,
        (BlockState::Allocating, Some((_, page))) => chunk % blocks.chunks_per_block < page,
        _ => false,
    };
    if !is_data || blocks.owner(chunk) != Owner::None {
        return None;
    }
    blocks.give(chunk, owner);
    Some(())
}

fn restore_objects(reader: &mut Reader<'_>, blocks: &mut Blocks) -> Option<Objects> {
    let mut objects = Objects::new();
    let [count] = reader.words::<1>()?;
    for _ in 0..count {
        let [id, parent, kind, header, mode, mtime, low, high, groups, _] = reader.words::<10>()?;
        if !is_kept(id) || id > OBJECT_MAX || (id != ROOT && objects.get(id).is_some()) {
            return None;
        }
        let kind = Kind::of(kind)?;
        (id != ROOT || kind == Kind::Directory).then_some(())?;
        let size = u64::from(high) << 32 | u64::from(low);
        let mut object = Object {
            header: header.checked_sub(1),
            is_loaded: header == 0,
            mode,
            mtime,
            size,
            stored_size: size,
            ..Object::new(kind, parent, b"")
        };
        if let Some(chunk) = object.header {
            give(blocks, chunk, Owner::Object { object: id, chunk: 0 })?;
        }
        for _ in 0..groups {
            restore_group(reader, blocks, id, &mut object)?;
        }
        objects.all.insert(id, object);
    }
    Some(objects)
}

fn restore_group(
    reader: &mut Reader<'_>,
    blocks: &mut Blocks,
    id: u32,
    object: &mut Object,
) -> Option<()> {
    let [group] = reader.words::<1>()?;
    let places = reader.words::<{ GROUP as usize }>()?;
    for (place, chunk) in (0..).zip(places) {
        let Some(chunk) = chunk.checked_sub(1) else { continue };
        let number = group.checked_mul(GROUP)?.checked_add(place)?;
        let is_new = object.chunks.insert(number, chunk).is_none();
        (is_new && number > 0 && object.kind == Kind::File).then_some(())?;
        give(blocks, chunk, Owner::Object { object: id, chunk: number })?;
    }
    Some(())
}

#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn extend(&mut self, words: &[u32]) {
        for word in words {
            self.0.extend(word.to_le_bytes());
        }
    }

    fn sum(&self) -> u32 {
        sum(&self.0)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn words<const COUNT: usize>(&mut self) -> Option<[u32; COUNT]> {
        let bytes = self.bytes.get(self.at..self.at + 4 * COUNT)?;
        self.at += 4 * COUNT;
        let mut words = [0; COUNT];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
        Some(words)
    }

    fn sum(&self) -> u32 {
        sum(&self.bytes[..self.at])
    }
}

/// CRC-32, which also detects a chunk that is missing or there twice.
fn sum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
