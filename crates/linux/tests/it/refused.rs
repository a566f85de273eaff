//! Mounts that cannot be: each says why in a line, and changes nothing on the chip.

use flysch_chip::{Chip, Clock, Part, Recorder};
use flysch_linux::ubifs::Ubifs;
use flysch_nand::Geometry;

use crate::ftl::PAGE_MAP;
use crate::machine::{Kind, LZO, Machine};

/// A chip for the small file systems, of another shape.
fn shaped(change: impl FnOnce(&mut Geometry)) -> Chip {
    let mut part = Kind::Jffs2.part();
    change(&mut part.geometry);
    blank(part)
}

fn blank(part: Part) -> Chip {
    Chip::new(part.into(), Clock::new(), 1)
}

/// A chip with the empty file system of a kind.
fn of(kind: Kind) -> Chip {
    let machine = Machine::new(kind, &blank(Kind::Jffs2.part()));
    machine.format();
    machine.mount().unwrap().unmount().unwrap();
    machine.device.borrow().chip().fork(Clock::new())
}

const FTL: Kind = Kind::Ftl(PAGE_MAP);

#[test]
fn chips_that_a_file_system_cannot_live_on_are_refused_in_a_line() {
    let large =
        |geometry: &mut Geometry| (geometry.pages_per_block, geometry.block_count) = (64, 32_768);
    let cases = [
        (
            Kind::Jffs2,
            shaped(|geometry| geometry.block_count = 4),
            "a partition of 4 good blocks is too small for JFFS2: it needs 5",
        ),
        (
            Kind::Jffs2,
            shaped(|geometry| geometry.oob_size = 8),
            "JFFS2 programs the first page of a block twice, and needs 8 OOB bytes: this chip does \
             not let it",
        ),
        (
            Kind::Jffs2,
            shaped(large),
            "a partition of 4294967296 bytes is too large for JFFS2: 4 GiB are too many",
        ),
        (
            Kind::Yaffs2,
            shaped(|geometry| geometry.block_count = 8),
            "a partition of 8 good blocks is too small for YAFFS2",
        ),
        (
            Kind::Yaffs2,
            shaped(|geometry| geometry.page_size = 512),
            "YAFFS2 needs pages of 1 KiB with 28 free OOB bytes",
        ),
        (
            Kind::Yaffs2,
            shaped(large),
            "a partition of 4294967296 bytes is too large for YAFFS2: 4 GiB are too many",
        ),
        (FTL, shaped(|geometry| geometry.block_count = 9), "9 good blocks, but 12 are needed"),
    ];
    for (kind, chip, why) in cases {
        let refused = Machine::new(kind, &chip).mount().map(drop);
        assert_eq!(refused, Err(why.to_owned()), "{kind:?}");
    }
}

/// UBI takes small partitions, of which too little is left for UBIFS.
#[test]
fn partitions_that_are_too_small_for_ubi_or_ubifs_are_refused_in_a_line() {
    for (blocks, made, mounted) in [
        (5, Err("5 good blocks are too few for UBI"), Err("no UBI here")),
        (6, Ok(()), Err("a volume of 1 LEBs is too small for UBIFS")),
        (20, Ok(()), Err("a volume of 15 LEBs is too small for UBIFS")),
        (24, Ok(()), Ok(())),
    ] {
        let chip = shaped(|geometry| {
            (geometry.block_count, geometry.pages_per_block) = (blocks, 32);
        });
        let machine = Machine::new(LZO, &chip);
        let recorder = Recorder::new(Clock::new(), "test");
        let formatted = Ubifs::format(&machine.partition().unwrap(), &recorder, &[], false);
        let told = |outcome: Result<(), &str>| outcome.map_err(str::to_owned);
        assert_eq!(formatted.map_err(|error| error.to_string()), told(made), "{blocks} blocks");
        assert_eq!(machine.mount().map(drop), told(mounted), "{blocks} blocks");
    }
}

/// What another file system wrote is refused, and can be mounted as before.
#[test]
fn what_another_file_system_wrote_is_refused_and_left_alone() {
    for (kind, other, why) in [
        (Kind::Jffs2, Kind::Yaffs2, "no JFFS2 here, and not an erased partition either"),
        (LZO, Kind::Jffs2, "no UBI here"),
        (LZO, Kind::Yaffs2, "no UBI here"),
        (FTL, Kind::Jffs2, "no plain file system here"),
    ] {
        let chip = of(other);
        let machine = Machine::new(kind, &chip);
        assert_eq!(machine.mount().map(drop), Err(why.to_owned()), "{kind:?} on {other:?}");
        let again = Machine::new(other, machine.device.borrow().chip());
        assert_eq!(again.mount().unwrap().list("/"), Ok(Vec::new()), "{other:?} after {kind:?}");
    }
}
