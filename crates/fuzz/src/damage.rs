//! Damages an image as an input says: bytes change, pages and blocks are lost or moved, and
//! structures get wrong numbers with right checksums.

use crate::choices::Choices;
use crate::grown::Grown;
use crate::image::Image;
use crate::sealed::Sealed;

/// Numbers at the limits of what fields can hold.
const EDGES: [u32; 24] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    12,
    16,
    24,
    28,
    40,
    0x21,
    0xFF,
    257,
    512,
    2048,
    4095,
    4096,
    4097,
    1 << 20,
    0x7FFF_FFFF,
    0xFFFF_F000,
    u32::MAX,
];

/// The most changes to an image. With more, a long input would only make noise.
const CHANGES_MAX: usize = 64;

/// A copy of a good image with the damage that an input asks for.
pub fn damaged(grown: &Grown, choices: &mut Choices<'_>) -> Image {
    let mut image = grown.image.clone();
    for _ in 0..CHANGES_MAX {
        match choices.byte() {
            0..192 => {
                if let Some(sealed) = choices.one_of(&grown.sealed) {
                    falsify(&mut image, sealed, choices);
                }
            }
            way => spoil(&mut image, way % 8, choices),
        }
        if choices.is_over() {
            break;
        }
    }
    image
}

/// Change a number in a structure, and correct its checksum.
fn falsify(image: &mut Image, sealed: Sealed, choices: &mut Choices<'_>) {
    let (is_oob, place) = sealed.place(image);
    let area = if is_oob { &mut image.oob } else { &mut image.data };
    let Some(bytes) = area.get_mut(place) else { return };
    let sum = |bytes: &[u8]| bytes.iter().fold(0_u32, |sum, &byte| sum.wrapping_add(byte.into()));
    let before = sum(bytes);
    change(bytes, sealed.is_big_endian(), choices);
    let more = sum(bytes).wrapping_sub(before);
    sealed.seal(image, more);
}

/// Change a word or a byte. The first words are the most likely, because most numbers are there.
pub(crate) fn change(bytes: &mut [u8], is_big_endian: bool, choices: &mut Choices<'_>) {
    let is_near = choices.below(2) == 0;
    let at = choices.below(if is_near { bytes.len().min(96) } else { bytes.len() });
    match choices.below(5) {
        0 => bytes[at] = choices.byte(),
        1 => bytes[at] ^= 1 << choices.below(8),
        2 => change_word(
            bytes,
            at,
            is_big_endian,
            |old, choices| {
                let step = choices.below(17);
                old.wrapping_add(u32::try_from(step).unwrap_or(0)).wrapping_sub(8)
            },
            choices,
        ),
        _ => change_word(
            bytes,
            at,
            is_big_endian,
            |_, choices| choices.one_of(&EDGES).unwrap_or(0),
            choices,
        ),
    }
}

/// Replace the word at `at` by the result of `new`.
fn change_word(
    bytes: &mut [u8],
    at: usize,
    is_big_endian: bool,
    new: impl Fn(u32, &mut Choices<'_>) -> u32,
    choices: &mut Choices<'_>,
) {
    let start = at / 4 * 4;
    let Some(word) = bytes.get_mut(start..start + 4) else { return };
    if is_big_endian {
        word.reverse();
    }
    let old = word.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
    word.copy_from_slice(&new(old, choices).to_le_bytes());
    if is_big_endian {
        word.reverse();
    }
}

/// Damage an image without correcting checksums, as wear or a person could do it.
fn spoil(image: &mut Image, way: u8, choices: &mut Choices<'_>) {
    let (size, oob_size, pages) = (image.page_size(), image.oob_size(), image.pages());
    let per_block = image.geometry.pages_per_block as usize;
    let page = used_page(image, choices.below(pages));
    let other = choices.below(pages);
    let at = page * size + choices.below(size);
    match way {
        0 => image.data[at] ^= 1 << choices.below(8),
        1 => image.oob[page * oob_size + choices.below(oob_size)] = choices.byte(),
        2 => {
            let byte = choices.byte();
            image.data[at..(page + 1) * size].fill(byte);
        }
        3 => blank(image, page, 1),
        4 => copy(image, page, other, 1),
        5 => copy(image, page / per_block * per_block, other / per_block * per_block, per_block),
        6 => blank(image, page / per_block * per_block, per_block),
        _ => blank(image, page, per_block - page % per_block),
    }
}

/// The first page from `page` on that is not blank.
fn used_page(image: &Image, page: usize) -> usize {
    let size = image.page_size();
    let is_used =
        |page: &usize| image.data[page * size..(page + 1) * size].iter().any(|&it| it != 0xFF);
    (page..image.pages()).find(is_used).unwrap_or(page)
}

fn blank(image: &mut Image, page: usize, count: usize) {
    let (size, oob_size) = (image.page_size(), image.oob_size());
    image.data[page * size..(page + count) * size].fill(0xFF);
    image.oob[page * oob_size..(page + count) * oob_size].fill(0xFF);
}

fn copy(image: &mut Image, from: usize, to: usize, count: usize) {
    let (size, oob_size) = (image.page_size(), image.oob_size());
    image.data.copy_within(from * size..(from + count) * size, to * size);
    image.oob.copy_within(from * oob_size..(from + count) * oob_size, to * oob_size);
}
