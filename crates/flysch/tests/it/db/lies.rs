//! What is done to an image: pages that are damaged, and pages that lie under a right seal.

use flysch_chip::Prng;

use super::forge::{Body, Forge, HEADER, Stream, kind, payload, poke, set_payload, wild, word};
use super::image::Image;

/// An image, its forger, and images of the same chip at earlier moments.
pub(super) struct History {
    image: Image,
    forge: Forge,
    earlier: Vec<Image>,
    /// Pages by kind, the newest first.
    newest: [Vec<usize>; 16],
}

impl History {
    pub(super) fn new(image: Image, earlier: Vec<Image>) -> Self {
        let newest = core::array::from_fn(|kind| Forge::newest(&image, kind::of(kind as u8)));
        Self { forge: Forge::of(&image), image, earlier, newest }
    }

    /// The image as the engine left it.
    pub(super) const fn image(&self) -> &Image {
        &self.image
    }

    fn newest(&self, kind: u8) -> &[usize] {
        &self.newest[usize::from(kind & 15)]
    }
}

/// The ways to damage a page, without a seal.
const DAMAGES: [fn(&mut Prng, &mut Image, &History); 8] = [
    flip_bits,
    swap_pages,
    swap_blocks,
    cut_short,
    take_older_page,
    take_older_block,
    blank_block,
    mark_block,
];

/// The ways to lie.
const LIES: [fn(&mut Prng, &mut Image, &History); 10] = [
    lie_in_header,
    lie_in_name,
    lie_in_front,
    lie_in_body,
    lie_in_spans,
    lie_in_changes,
    lie_in_table,
    lie_in_state,
    lie_in_stream,
    lie_in_payload,
];

/// Damage an image, or lie in it, a few times.
pub(super) fn spoil(prng: &mut Prng, history: &History) -> Image {
    let mut image = history.image.clone();
    let lies = prng.below(10) > 2;
    for _ in 0..=prng.below(3) {
        let ways: &[fn(&mut Prng, &mut Image, &History)] = if lies { &LIES } else { &DAMAGES };
        // Most of what a mount believes is in records.
        let way = if lies && prng.below(3) > 0 {
            3 + prng.below(6)
        } else {
            prng.below(ways.len() as u64)
        };
        ways[way as usize](prng, &mut image, history);
    }
    image
}

/// One of some things; the first ones much more often than the last ones.
fn early<T: Copy>(prng: &mut Prng, things: &[T]) -> Option<T> {
    let mut reach = things.len().max(1) as u64;
    for _ in 0..prng.below(4) {
        reach = 1 + prng.below(reach);
    }
    let at = if prng.below(2) == 0 { 0 } else { prng.below(reach) };
    things.get(at as usize).copied()
}

fn any_page(prng: &mut Prng, image: &Image) -> usize {
    let written = image.written();
    if written.is_empty() {
        return 0;
    }
    written[prng.below(written.len() as u64) as usize]
}

fn flip_bits(prng: &mut Prng, image: &mut Image, _: &History) {
    let page = any_page(prng, image);
    let mut bytes = image.bytes(page);
    for _ in 0..=prng.below(4) {
        let at = prng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << prng.below(8);
    }
    image.set(page, &bytes);
}

fn swap_pages(prng: &mut Prng, image: &mut Image, _: &History) {
    let (one, other) = (any_page(prng, image), prng.below(image.pages.len() as u64) as usize);
    image.pages.swap(one, other);
}

fn swap_blocks(prng: &mut Prng, image: &mut Image, _: &History) {
    let count = image.geometry.pages_per_block as usize;
    let one = any_page(prng, image) / count;
    let other = prng.below(image.bad.len() as u64) as usize;
    (0..count).for_each(|page| image.pages.swap(one * count + page, other * count + page));
}

fn cut_short(prng: &mut Prng, image: &mut Image, _: &History) {
    let page = any_page(prng, image);
    let mut bytes = image.bytes(page);
    let at = prng.below(bytes.len() as u64) as usize;
    match prng.below(4) {
        0 => bytes[at..].fill(0),
        1 => bytes.fill(0),
        2 => prng.fill(&mut bytes[at..]),
        _ => bytes[at..].fill(0xFF),
    }
    image.set(page, &bytes);
}

fn take_older_page(prng: &mut Prng, image: &mut Image, history: &History) {
    if history.earlier.is_empty() {
        return;
    }
    let older = &history.earlier[prng.below(history.earlier.len() as u64) as usize];
    let page = any_page(prng, image);
    image.pages[page].clone_from(&older.pages[page]);
}

fn take_older_block(prng: &mut Prng, image: &mut Image, history: &History) {
    if history.earlier.is_empty() {
        return;
    }
    let older = &history.earlier[prng.below(history.earlier.len() as u64) as usize];
    let count = image.geometry.pages_per_block as usize;
    let block = any_page(prng, image) / count;
    let range = block * count..(block + 1) * count;
    image.pages[range.clone()].clone_from_slice(&older.pages[range]);
}

fn blank_block(prng: &mut Prng, image: &mut Image, _: &History) {
    let count = image.geometry.pages_per_block as usize;
    let block = any_page(prng, image) / count;
    image.pages[block * count..][..count].fill(None);
}

fn mark_block(prng: &mut Prng, image: &mut Image, _: &History) {
    let count = image.geometry.pages_per_block as usize;
    let block = any_page(prng, image) / count;
    image.bad[block] = true;
}

/// Every field of a page header: its place and its size.
const HEADER_FIELDS: [(usize, usize); 8] =
    [(0, 1), (1, 1), (2, 2), (4, 2), (6, 2), (8, 6), (14, 4), (18, 2)];

fn lie_in_header(prng: &mut Prng, image: &mut Image, history: &History) {
    let kind = prng.below(9) as u8;
    let Some(page) = early(prng, history.newest(kind)) else { return };
    let mut bytes = image.bytes(page);
    let (at, size) = HEADER_FIELDS[prng.below(HEADER_FIELDS.len() as u64) as usize];
    if at == 0 {
        // Another kind; a version now and then.
        let kind = prng.below(16) as u8;
        bytes[0] = if prng.below(8) == 0 { prng.next() as u8 } else { kind::of(kind) };
    } else {
        poke(prng, &mut bytes, at, size);
    }
    history.forge.put(image, page, &mut bytes);
}

fn lie_in_name(prng: &mut Prng, image: &mut Image, history: &History) {
    let Some(page) = early(prng, history.newest(kind::NAME)) else { return };
    let mut bytes = image.bytes(page);
    let mut fields = payload(&bytes);
    let list = prng.below(2) as usize * 37;
    match prng.below(3) {
        0 => poke(prng, &mut fields, list, 4),
        1 => poke(prng, &mut fields, list + 4, 1),
        _ => {
            let block = prng.below(image.bad.len() as u64) as u16;
            let at = list + 5 + prng.below(2) as usize * 2;
            fields[at..at + 2].copy_from_slice(&block.to_le_bytes());
        }
    }
    set_payload(&mut bytes, &fields);
    history.forge.put(image, page, &mut bytes);
}

/// Every field of a root's front: salt, schema, partition, root blocks, list, whether it has a
/// state, and how long the description of the schema is.
const FRONT_FIELDS: [(usize, usize); 13] = [
    (6, 4),
    (10, 4),
    (14, 4),
    (18, 4),
    (22, 1),
    (23, 2),
    (25, 2),
    (39, 4),
    (43, 1),
    (44, 2),
    (46, 2),
    (76, 1),
    (77, 2),
];

fn lie_in_front(prng: &mut Prng, image: &mut Image, history: &History) {
    let Some(page) = early(prng, history.newest(kind::ROOT)) else { return };
    let Some(mut stream) = Stream::read(image, page) else { return };
    let (at, size) = FRONT_FIELDS[prng.below(FRONT_FIELDS.len() as u64) as usize];
    poke(prng, &mut stream.bytes, at, size);
    stream.write(image, &history.forge);
}

/// Change the body of a record, most often of the newest, or of a root.
fn rewrite(
    prng: &mut Prng,
    image: &mut Image,
    history: &History,
    lie: impl FnOnce(&mut Prng, &mut Body),
) {
    let kind = if prng.below(4) == 0 { kind::ROOT } else { kind::RECORD };
    let Some(page) = early(prng, history.newest(kind)) else { return };
    // The last page of a record leads to its first.
    let first = page - usize::from(image.bytes(page)[1] & 0x7F).min(page);
    let Some(mut stream) = Stream::read(image, first) else { return };
    let front = stream.body_at(kind);
    let Some(body) = stream.bytes.get(front..) else { return };
    let Some(mut body) = Body::parse(body) else { return };
    lie(prng, &mut body);
    stream.bytes.truncate(front);
    stream.bytes.extend(body.emit());
    stream.write(image, &history.forge);
}

fn lie_in_body(prng: &mut Prng, image: &mut Image, history: &History) {
    let page_count = image.geometry.page_count() * 2;
    rewrite(prng, image, history, |prng, body| match prng.below(12) {
        0 => poke(prng, &mut body.start, 0, 1),
        1 => poke(prng, &mut body.start, 1, 4),
        2 => poke(prng, &mut body.start, 5, 8),
        3 => poke(prng, &mut body.start, 13, 4),
        4 => poke(prng, &mut body.start, 17, 2),
        5 => {
            let size = prng.below(600) as usize;
            body.tail.resize(size, prng.next() as u8);
        }
        6 if !body.tail.is_empty() => {
            let at = prng.below(body.tail.len() as u64) as usize;
            poke(prng, &mut body.tail, at, 1);
        }
        7 => poke(prng, &mut body.flash, 0, 6),
        8 => poke(prng, &mut body.flash, 10, 2),
        _ => {
            let at = 12 + prng.below(4) as usize * 4;
            if prng.below(2) == 0 {
                poke(prng, &mut body.flash, at, 4);
            } else {
                let page = prng.below(u64::from(page_count)) as u32;
                body.flash[at..at + 4].copy_from_slice(&page.to_le_bytes());
            }
        }
    });
}

fn lie_in_spans(prng: &mut Prng, image: &mut Image, history: &History) {
    let page_count = u64::from(image.geometry.page_count()) * 4;
    rewrite(prng, image, history, |prng, body| {
        let most = if prng.below(4) == 0 { 25 } else { 2 };
        for _ in 0..=prng.below(most) {
            let mut span = [prng.below(5) as u8, 0, 0, 0, 0, 0, 0, 0, 0];
            let head = word(&body.flash, 12);
            let near = |prng: &mut Prng| match prng.below(3) {
                0 => prng.below(page_count) as u32,
                1 => head.wrapping_add(prng.below(20) as u32).wrapping_sub(10),
                _ => wild(prng, u64::from(head), 32) as u32,
            };
            span[1..5].copy_from_slice(&near(prng).to_le_bytes());
            span[5..9].copy_from_slice(&near(prng).to_le_bytes());
            body.spans.push(span);
        }
    });
}

fn lie_in_changes(prng: &mut Prng, image: &mut Image, history: &History) {
    let blocks = image.bad.len() as u64;
    rewrite(prng, image, history, |prng, body| {
        let most = if prng.below(4) == 0 { 40 } else { 3 };
        for _ in 0..=prng.below(most) {
            let mut change = [0; 4];
            change[..2].copy_from_slice(&(prng.below(blocks + 1) as u16).to_le_bytes());
            change[2..].copy_from_slice(&code(prng, blocks).to_le_bytes());
            body.changes.push(change);
        }
    });
}

/// An entry of a block table.
fn code(prng: &mut Prng, blocks: u64) -> u16 {
    match prng.below(4) {
        0 => 0xFFFF - prng.below(20) as u16,
        1 => prng.next() as u16,
        _ => (prng.below(4) << 14 | prng.below(blocks * 4)) as u16,
    }
}

fn lie_in_table(prng: &mut Prng, image: &mut Image, history: &History) {
    let blocks = image.bad.len() as u64;
    let one = prng.below(8) > 0;
    rewrite(prng, image, history, |prng, body| {
        let Some(table) = &mut body.table else { return };
        if !one {
            table.resize(prng.below(blocks * 3) as usize / 2 * 2, 0xFF);
        }
        for _ in 0..=prng.below(6) {
            let at = prng.below(table.len() as u64 / 2 + 1) as usize * 2;
            let code = if prng.below(3) == 0 { 0xFFFF } else { code(prng, blocks) };
            if let Some(entry) = table.get_mut(at..at + 2) {
                entry.copy_from_slice(&code.to_le_bytes());
            }
        }
    });
}

/// The state of the rows is 28 bytes; that of the store follows, most of it in varints.
fn lie_in_state(prng: &mut Prng, image: &mut Image, history: &History) {
    let page_count = u64::from(image.geometry.page_count()) * 4;
    rewrite(prng, image, history, |prng, body| {
        let state = &mut body.state;
        // An earlier lie may have cut it off.
        if state.len() < 24 {
            return;
        }
        if state.len() < 30 || prng.below(4) == 0 {
            let at = [0, 4, 8, 10, 12, 20][prng.below(6) as usize];
            if prng.below(2) == 0 {
                poke(prng, state, at, if at < 8 { 4 } else { 2 });
            } else {
                let page = (prng.below(page_count) as u32).to_le_bytes();
                state.splice(at..at + 4, page);
            }
            return;
        }
        for _ in 0..=prng.below(2) {
            let at = 28 + prng.below(state.len() as u64 - 28) as usize;
            match prng.below(6) {
                0 => poke(prng, state, at, 1),
                1 => state.truncate(at),
                2 => {
                    let count = prng.below(9) as usize;
                    state.splice(at..at, (0..count).map(|_| prng.next() as u8));
                }
                3 => {
                    // All that follows once more: more runs than were said, or more pieces.
                    let rest = state[at..].to_vec();
                    state.extend(rest.iter().take(prng.below(60) as usize));
                }
                _ => replace_number(prng, state, at),
            }
            if state.len() < 29 {
                return;
            }
        }
    });
}

/// Put another varint in the place of the one that ends at or behind a byte.
fn replace_number(prng: &mut Prng, state: &mut Vec<u8>, at: usize) {
    let mut from = at;
    while from > 28 && state[from - 1] & 0x80 != 0 {
        from -= 1;
    }
    let mut end = at;
    while end + 1 < state.len() && state[end] & 0x80 != 0 {
        end += 1;
    }
    let bytes = state[from..=end].iter().rev();
    let old = bytes.fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7F));
    let bits = if prng.below(4) == 0 { 64 } else { 32 };
    let mut new = wild(prng, old, bits);
    let mut varint = Vec::new();
    while new > 0x7F {
        varint.push(new as u8 | 0x80);
        new >>= 7;
    }
    varint.push(new as u8);
    state.splice(from..=end, varint);
}

fn lie_in_stream(prng: &mut Prng, image: &mut Image, history: &History) {
    let kind = if prng.below(3) == 0 { kind::ROOT } else { kind::RECORD };
    let Some(page) = early(prng, history.newest(kind)) else { return };
    let Some(mut stream) = Stream::read(image, page) else { return };
    for _ in 0..=prng.below(3) {
        let at = prng.below(stream.bytes.len() as u64 + 1) as usize;
        match prng.below(4) {
            0 => stream.bytes.truncate(at),
            1 => drop(stream.bytes.splice(at..at, [prng.next() as u8])),
            _ => {
                let size = 1 + prng.below(4) as usize;
                poke(prng, &mut stream.bytes, at, size);
            }
        }
    }
    stream.write(image, &history.forge);
}

/// Lie in rows, summaries and units of runs: in their first bytes, where their headers are, in
/// any others, and in the note of where the first row of a cell begins.
fn lie_in_payload(prng: &mut Prng, image: &mut Image, history: &History) {
    let kinds = [kind::ROWS, kind::MORE, kind::SUMMARY, kind::RUN];
    let kind = kinds[prng.below(kinds.len() as u64) as usize];
    for _ in 0..=prng.below(4) {
        let Some(page) = early(prng, history.newest(kind)) else { return };
        let mut bytes = image.bytes(page);
        let cell = prng.below(bytes.len() as u64 / 512) as usize * 512;
        let start = if cell == 0 { HEADER } else { cell };
        let size = 1 + prng.below(4) as usize;
        let (near, far) = (prng.below(12) as usize, prng.below(470) as usize);
        match prng.below(4) {
            0 => poke(prng, &mut bytes, cell + 506, 2),
            1 => poke(prng, &mut bytes, start + near, size),
            2 => prng.fill(&mut bytes[start + 40..cell + 500]),
            _ => poke(prng, &mut bytes, start + far, size),
        }
        history.forge.put(image, page, &mut bytes);
    }
}
