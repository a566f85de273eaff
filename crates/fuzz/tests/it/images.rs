//! Images of each file system, on pages of 512 bytes, 2 KiB and 4 KiB.
//!
//! A number in a structure is wrong and its checksum right, or pages and blocks are damaged, lost
//! or in each other's place. A mount and all calls return, and soon.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use flysch_chip::Clock;
use flysch_fuzz::choices::Choices;
use flysch_fuzz::damage::damaged;
use flysch_fuzz::grown::Grown;
use flysch_fuzz::stack::{Kind, PageSize, survive};
use flysch_fuzz::{pram, seen};
use flysch_lab::image::extract;
use flysch_lab::machine::stack::Stack;

use crate::seeds::target;

/// Inputs of each target in a run of the tests.
const INPUTS: u64 = 24;
/// Images of each file system and size of pages.
const IMAGES: usize = 4;

type Memories = BTreeMap<(u32, usize), Rc<[u8]>>;

thread_local! {
    static GROWN: RefCell<BTreeMap<(Kind, PageSize, usize), Rc<Grown>>> = RefCell::default();
    static PRAMFS: RefCell<Memories> = RefCell::default();
}

/// The image that an input begins with. It is grown once.
fn chosen(kind: Kind, choices: &mut Choices<'_>) -> Rc<Grown> {
    let sizes: Vec<PageSize> = PageSize::ALL.into_iter().filter(|&it| kind.fits(it)).collect();
    let size = choices.one_of(&sizes).expect("each fits some");
    let number = choices.below(IMAGES);
    GROWN.with_borrow_mut(|all| {
        let new = || Rc::new(Grown::new(kind, size, number as u64));
        Rc::clone(all.entry((kind, size, number)).or_insert_with(new))
    })
}

fn mounted(kind: Kind) -> impl Fn(&[u8]) + std::panic::RefUnwindSafe {
    move |input| {
        let mut choices = Choices::new(input);
        let grown = chosen(kind, &mut choices);
        let clock = Clock::new();
        let chip = grown.chip(&damaged(&grown, &mut choices), clock.clone());
        survive(&grown.build, kind.main(), chip, &clock);
    }
}

target!(jffs2, INPUTS, mounted(Kind::Jffs2));
target!(yaffs2, INPUTS, mounted(Kind::Yaffs2));
target!(yaffs2_of_2009, INPUTS, mounted(Kind::Yaffs2Of2009));
target!(ubifs, INPUTS, mounted(Kind::Ubifs));
target!(ubifs_fastmap, INPUTS, mounted(Kind::UbifsFastmap));
target!(ftl, INPUTS, mounted(Kind::Ftl));
target!(ftl_cost_benefit, INPUTS, mounted(Kind::FtlCostBenefit));
target!(ftl_log_block, INPUTS, mounted(Kind::FtlLogBlock));
target!(pramfs, INPUTS, pramfs_is_mounted);
target!(dumps, INPUTS, is_extracted);

fn pramfs_is_mounted(input: &[u8]) {
    let mut choices = Choices::new(input);
    let block_size = choices.one_of(&pram::BLOCK_SIZES).expect("there are some");
    let number = choices.below(IMAGES);
    let grown = PRAMFS.with_borrow_mut(|all| {
        let new = || Rc::from(pram::grown(block_size, number as u64));
        Rc::clone(all.entry((block_size, number)).or_insert_with(new))
    });
    pram::survive(&pram::damaged(&grown, &mut choices));
}

/// A dump whose file system is found out, with OOB bytes or without, and cut off somewhere.
fn is_extracted(input: &[u8]) {
    let mut choices = Choices::new(input);
    let kind = choices.one_of(&Kind::ALL).expect("there are some");
    let grown = chosen(kind, &mut choices);
    let has_oob = choices.below(2) == 0;
    let cut = if choices.below(4) == 0 { choices.word() as usize } else { usize::MAX };
    let mut file = damaged(&grown, &mut choices).file(has_oob);
    file.truncate(cut % (file.len() + 1).max(cut));
    seen::note(&format!("{}, {has_oob}, {}", kind.name(), cut == usize::MAX));
    let folder = tempfile::tempdir().unwrap();
    let (image, out) = (folder.path().join("image"), folder.path().join("out"));
    std::fs::write(&image, file).unwrap();
    seen::outcome("extract", &extract(&grown.build, None, (&image, &out)));
}

/// Where tags do not fit the OOB bytes of a page of 512 bytes, a format says so.
#[test]
fn pages_too_small_for_tags_are_refused() {
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.fits(PageSize::Small)) {
        let refused = kind.build(PageSize::Small).format_and_mount(Stack::file(kind.main()));
        assert!(refused.is_err(), "{}", kind.name());
    }
}
