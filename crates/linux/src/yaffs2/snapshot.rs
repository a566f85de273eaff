//! The stream of a checkpoint: what the real code keeps in memory, structure by structure.
//!
//! All fields are 32 bits wide, little-endian, but for the size of an object.
//!
//! ```text
//! validity   size 16 | magic | version 8 | 1 before all others, 0 behind them
//! device     size 36 | erased blocks | block being filled, + 1, or -1 | its next page
//!            free chunks | deleted files | unlinked files | background deletions | sequence
//! block      bits 0 soft-deleted chunks, 10 chunks in use, 20 state, 24 needs retiring, 25 skip
//!            the check before a program, 26 collect first, 27 strikes, 30 has a summary, 31 has a
//!            header that shrinks a file | sequence                      for each block
//! bits       a bit for each chunk in use                                for each block
//! object     size 32 | id | parent | chunk of its header, or 0 | bits 0 kind, 3 deleted, 4 soft
//!            deleted, 5 unlinked, 6 fake, 7 may be renamed, 8 may be unlinked, 9 serial
//!            chunks with data | file size or linked object, u64
//! group      first chunk of 16 of a file | their places in a tnode      for each group of a file
//!            -1                                                         behind those of a file
//! end        size 32 | seven times -1
//! validity   as above, with 0
//! sum        see `format/checkpoint.rs`
//! ```
//!
//! Blocks and chunks have the numbers of the real code, where block 0 is that before the device's
//! first. States are 3 empty, 4 being filled, 5 full, 7 checkpoint, 8 being collected, 9 bad.
//!
//! A tnode has 16 places of as many bits as the highest chunk number needs, an even number and at
//! least 16. But it is never shorter than 8 pointers. Its length therefore depends on the machine
//! where the device has at most 64 Ki chunks: 64 bytes on one of 64 bits, and 32 bytes on one of 32
//! bits. The former are written, and both are read. All other structures are the same on both.
//!
//! The model differs from the real code in these points:
//!
//! * In the real code a deleted file keeps its chunks in use until they are collected (soft
//!   deletion). The model counts them as obsolete.
//! * The model gives one strike to a block whose erase may have been interrupted.
//! * The model takes the block with the highest sequence number for the one that was begun last.
//! * The model does not follow hard links, and writes no checkpoint if there is one.

use std::collections::BTreeMap;

use super::blocks::{Block, BlockState, Blocks, Owner};
use super::format::{CHECKPOINT_VERSION, Kind, SummaryShape, stream_sum};
use super::objects::{DELETED, LOST_AND_FOUND, OBJECT_MAX, Object, Objects, ROOT, UNLINKED};

const MAGIC: u32 = 0x5941_FF53;
const VALIDITY_SIZE: u32 = 16;
const DEVICE_SIZE: u32 = 36;
const BLOCK_SIZE: usize = 8;
const OBJECT_SIZE: u32 = 32;
const NONE: u32 = u32::MAX;
const GROUP: u32 = 16;
/// Kind of a hard link.
const LINK: Kind = Kind::Other(4);
/// Bytes of a pointer on 64-bit and on 32-bit machines. Checkpoints of both are read, and those of
/// the first are written.
const POINTERS: [usize; 2] = [8, 4];

/// How places are stored in a tnode.
#[derive(Clone, Copy)]
struct Tnode {
    /// Bits of a place.
    width: u32,
    /// Bytes of a tnode.
    size: usize,
}

impl Tnode {
    fn of(blocks: &Blocks, pointer: usize) -> Self {
        let chunks = (blocks.count() + 1) * blocks.chunks_per_block;
        let bits = u32::BITS - (chunks - 1).leading_zeros();
        let width = bits.next_multiple_of(2).max(16);
        Self { width, size: (2 * width as usize).max(8 * pointer) }
    }

    fn emit(self, places: [u32; GROUP as usize]) -> Vec<u8> {
        let mut bytes = vec![0; self.size];
        for (place, chunk) in (0..).zip(places) {
            for bit in 0..self.width {
                let at = place * self.width + bit;
                let value = u8::try_from(chunk >> bit & 1).expect("a bit");
                bytes[at as usize / 8] |= value << (at % 8);
            }
        }
        bytes
    }

    fn parse(self, bytes: &[u8]) -> [u32; GROUP as usize] {
        std::array::from_fn(|place| {
            let first = place * self.width as usize;
            let bit = |at: usize| u32::from(bytes[at / 8] >> (at % 8) & 1);
            (0..self.width as usize).map(|number| bit(first + number) << number).sum()
        })
    }
}

fn bits_size(blocks: &Blocks) -> usize {
    blocks.chunks_per_block.div_ceil(8) as usize
}

/// Length of a checkpoint with at most this many groups, bytes.
pub(super) fn size(blocks: &Blocks, objects: usize, groups: usize) -> usize {
    let per_block = BLOCK_SIZE + bits_size(blocks);
    let fixed = (2 * VALIDITY_SIZE + DEVICE_SIZE) as usize + 4;
    let of_objects = objects * (OBJECT_SIZE as usize + 4);
    let tnode = Tnode::of(blocks, POINTERS[0]).size + 4;
    fixed + blocks.list.len() * per_block + of_objects + groups * tnode
}

/// The stream of a checkpoint. `None` if there is an object that the model does not know enough of.
pub(super) fn emit(blocks: &Blocks, objects: &Objects) -> Option<Vec<u8>> {
    if objects.all.values().any(|object| object.kind == LINK) {
        return None;
    }
    let mut words = Words::default();
    words.extend(&[VALIDITY_SIZE, MAGIC, CHECKPOINT_VERSION, 1]);
    let (filling, page) = blocks.filling.map_or((NONE, 0), |(block, page)| (block + 1, page));
    let in_dir = |dir| u32::try_from(objects.children(dir).len()).expect("ids are 32 bits");
    words.extend(&[DEVICE_SIZE, blocks.erased_count, filling, page, blocks.free_chunks]);
    words.extend(&[in_dir(DELETED), in_dir(UNLINKED), 0, blocks.sequence]);
    for block in &blocks.list {
        words.extend(&[block_word(block), block.sequence]);
    }
    for block in 0..blocks.count() {
        words.0.extend(used_bits(blocks, block));
    }
    let tnode = Tnode::of(blocks, POINTERS[0]);
    for (&id, object) in &objects.all {
        emit_object(&mut words, (id, object), blocks.chunks_per_block, tnode);
    }
    words.extend(&[OBJECT_SIZE, NONE, NONE, NONE, NONE, NONE, NONE, NONE]);
    words.extend(&[VALIDITY_SIZE, MAGIC, CHECKPOINT_VERSION, 0]);
    let sum = stream_sum(&words.0);
    words.extend(&[sum]);
    Some(words.0)
}

fn block_word(block: &Block) -> u32 {
    let strikes = u32::from(block.is_suspect && block.state == BlockState::Empty);
    (block.in_use & 0x3FF) << 10
        | state_number(block.state) << 20
        | u32::from(block.needs_retiring) << 24
        | u32::from(block.is_known_blank) << 25
        | strikes << 27
        | u32::from(block.has_summary) << 30
        | u32::from(block.has_shrink_header) << 31
}

fn emit_object(words: &mut Words, (id, object): (u32, &Object), first: u32, tnode: Tnode) {
    let header = object.header.map_or(0, |chunk| chunk + first);
    let is_fake = id <= DELETED;
    let is_deleted = object.parent == DELETED;
    let bits = object.kind.number()
        | u32::from(is_deleted) << 3
        | u32::from(is_deleted && object.kind == Kind::File) << 4
        | u32::from(!object.is_named()) << 5
        | u32::from(is_fake) << 6
        | u32::from(!is_fake) << 7
        | u32::from(!is_fake) << 8;
    let low = u32::try_from(object.size & u64::from(u32::MAX)).expect("masked");
    let high = u32::try_from(object.size >> 32).expect("half of 64 bits");
    let count = u32::try_from(object.chunks.len()).expect("numbers are 32 bits");
    words.extend(&[OBJECT_SIZE, id, object.parent, header, bits, count, low, high]);
    if object.kind != Kind::File {
        return;
    }
    let mut groups: BTreeMap<u32, [u32; GROUP as usize]> = BTreeMap::new();
    for (number, chunk) in &object.chunks {
        let group = groups.entry(number / GROUP).or_default();
        group[(number % GROUP) as usize] = chunk + first;
    }
    for (number, places) in groups {
        words.extend(&[number * GROUP]);
        words.0.extend(tnode.emit(places));
    }
    words.extend(&[NONE]);
}

const fn state_number(state: BlockState) -> u32 {
    match state {
        BlockState::Empty => 3,
        BlockState::Allocating => 4,
        BlockState::Full | BlockState::Collecting => 5,
        BlockState::Checkpoint => 7,
        BlockState::Dead => 9,
    }
}

const fn state_of(number: u32) -> Option<BlockState> {
    match number {
        3 => Some(BlockState::Empty),
        4 => Some(BlockState::Allocating),
        5 | 8 => Some(BlockState::Full),
        // A block that the checkpoint itself takes. It is written while its blocks are taken.
        7 => Some(BlockState::Checkpoint),
        9 => Some(BlockState::Dead),
        _ => None,
    }
}

/// Which chunks of a block have an owner, one bit for each.
fn used_bits(blocks: &Blocks, block: u32) -> Vec<u8> {
    let first = block * blocks.chunks_per_block;
    let mut bits = vec![0; bits_size(blocks)];
    for page in 0..blocks.chunks_per_block {
        let is_used = blocks.owner(first + page) != Owner::None;
        bits[page as usize / 8] |= u8::from(is_used) << (page % 8);
    }
    bits
}

/// Restore what [`emit`] or the real code wrote. `fresh` must be the table before a scan. `None` if
/// anything is inconsistent.
pub(super) fn restore(
    stream: &[u8],
    fresh: impl Fn() -> Blocks,
    summaries: Option<SummaryShape>,
) -> Option<(Blocks, Objects)> {
    POINTERS.into_iter().find_map(|pointer| {
        let blocks = fresh();
        let tnode = Tnode::of(&blocks, pointer);
        restore_with(Reader { bytes: stream, at: 0 }, blocks, summaries, tnode)
    })
}

fn restore_with(
    mut reader: Reader<'_>,
    mut blocks: Blocks,
    summaries: Option<SummaryShape>,
    tnode: Tnode,
) -> Option<(Blocks, Objects)> {
    let head = reader.words::<4>()?;
    (head == [VALIDITY_SIZE, MAGIC, CHECKPOINT_VERSION, 1]).then_some(())?;
    let [size, _, filling, page, _, _, _, _, sequence] = reader.words::<9>()?;
    (size == DEVICE_SIZE && page < blocks.chunks_per_block).then_some(())?;
    let mut in_use = Vec::new();
    for number in 0..blocks.count() {
        in_use.push(restore_block(&mut reader, &mut blocks, number)?);
    }
    let mut bits = Vec::new();
    for _ in 0..blocks.count() {
        bits.push(reader.take(bits_size(&blocks))?);
    }
    blocks.sequence = sequence;
    blocks.finder = last_begun(&blocks);
    if filling != NONE {
        let block = filling.checked_sub(1).filter(|&block| block < blocks.count())?;
        blocks.filling = Some((block, page));
    }
    let objects = restore_objects(&mut reader, &mut blocks, tnode)?;
    give_summaries(&mut blocks, summaries)?;
    let end = reader.words::<4>()?;
    (end == [VALIDITY_SIZE, MAGIC, CHECKPOINT_VERSION, 0]).then_some(())?;
    let sum = stream_sum(&reader.bytes[..reader.at]);
    (reader.words::<1>()? == [sum]).then_some(())?;
    let is_filling = |number: u32| blocks.filling.is_some_and(|(block, _)| block == number);
    let agrees = (0..blocks.count()).all(|number| {
        let block = blocks.block(number);
        let is_open = block.state == BlockState::Allocating;
        let place = number as usize;
        let mut owned = used_bits(&blocks, number).into_iter().zip(bits[place]);
        block.in_use & 0x3FF == in_use[place]
            && owned.all(|(owned, &used)| owned & !used == 0)
            && is_open == is_filling(number)
    });
    agrees.then_some((blocks, objects))
}

/// Restore the state of a block. Returns how many of its chunks have an owner.
fn restore_block(reader: &mut Reader<'_>, blocks: &mut Blocks, number: u32) -> Option<u32> {
    let [word, sequence] = reader.words::<2>()?;
    let state = state_of(word >> 20 & 0xF)?;
    if (state == BlockState::Dead) != (blocks.block(number).state == BlockState::Dead) {
        return None;
    }
    blocks.book(number, state, sequence);
    if word & 1 << 24 != 0 {
        blocks.retire_later(number);
    }
    let block = blocks.block_mut(number);
    block.is_suspect = state == BlockState::Empty && word >> 27 & 7 != 0;
    block.has_summary = word & 1 << 30 != 0;
    block.has_shrink_header = word & 1 << 31 != 0;
    let (soft_deleted, used) = (word & 0x3FF, word >> 10 & 0x3FF);
    used.checked_sub(soft_deleted)
}

/// The block that was begun last.
fn last_begun(blocks: &Blocks) -> u32 {
    let begun = (0..blocks.count()).filter(|&block| {
        matches!(blocks.block(block).state, BlockState::Allocating | BlockState::Full)
    });
    let last = begun.max_by_key(|&block| blocks.block(block).sequence);
    last.unwrap_or(blocks.count() - 1)
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

fn restore_objects(reader: &mut Reader<'_>, blocks: &mut Blocks, tnode: Tnode) -> Option<Objects> {
    let mut objects = Objects::new();
    loop {
        let [size, id, parent, header, bits, _, low, high] = reader.words::<8>()?;
        (size == OBJECT_SIZE).then_some(())?;
        if id == NONE {
            return Some(objects);
        }
        let kind = Kind::of(bits & 7)?;
        if (LOST_AND_FOUND..=DELETED).contains(&id) {
            // These directories are always the same.
            (kind == Kind::Directory && header == 0).then_some(())?;
            continue;
        }
        let is_new = id == ROOT || objects.get(id).is_none();
        (is_new && (ROOT..=OBJECT_MAX).contains(&id)).then_some(())?;
        (id != ROOT || kind == Kind::Directory).then_some(())?;
        let size = if kind == Kind::File { u64::from(high) << 32 | u64::from(low) } else { 0 };
        let header = match header {
            0 => None,
            chunk => Some(chunk.checked_sub(blocks.chunks_per_block)?),
        };
        let mut object = Object {
            header,
            is_loaded: header.is_none(),
            size,
            stored_size: size,
            ..Object::new(kind, parent, b"")
        };
        if let Some(chunk) = object.header {
            give(blocks, chunk, Owner::Object { object: id, chunk: 0 })?;
        }
        if kind == Kind::File {
            restore_groups(reader, blocks, (id, &mut object), tnode)?;
        }
        objects.all.insert(id, object);
    }
}

fn restore_groups(
    reader: &mut Reader<'_>,
    blocks: &mut Blocks,
    (id, object): (u32, &mut Object),
    tnode: Tnode,
) -> Option<()> {
    loop {
        let [first] = reader.words::<1>()?;
        if first == NONE {
            return Some(());
        }
        let places = tnode.parse(reader.take(tnode.size)?);
        for (place, chunk) in (0..).zip(places).filter(|&(_, chunk)| chunk != 0) {
            let chunk = chunk.checked_sub(blocks.chunks_per_block)?;
            let number = first.checked_add(place)?;
            let is_new = object.chunks.insert(number, chunk).is_none();
            (is_new && number > 0).then_some(())?;
            give(blocks, chunk, Owner::Object { object: id, chunk: number })?;
        }
    }
}

#[derive(Default)]
struct Words(Vec<u8>);

impl Words {
    fn extend(&mut self, words: &[u32]) {
        for word in words {
            self.0.extend(word.to_le_bytes());
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..self.at + len)?;
        self.at += len;
        Some(bytes)
    }

    fn words<const COUNT: usize>(&mut self) -> Option<[u32; COUNT]> {
        let bytes = self.take(4 * COUNT)?;
        let mut words = [0; COUNT];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        }
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_any_width_come_back() {
        for (chunks, width, sizes) in [(4096, 16, [64, 32]), (1 << 17, 18, [64, 36])] {
            let blocks = Blocks::new(chunks / 64, 64);
            let tnodes = POINTERS.map(|pointer| Tnode::of(&blocks, pointer));
            assert_eq!(tnodes.map(|tnode| tnode.size), sizes);
            assert_eq!(tnodes[0].width, width);
            let places =
                std::array::from_fn(|place| (chunks - 1) / (u32::try_from(place).unwrap() + 1));
            for tnode in tnodes {
                assert_eq!(tnode.parse(&tnode.emit(places)), places);
            }
        }
    }
}
