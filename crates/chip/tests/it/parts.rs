//! The parts that come with the program, and part files that are refused.

use flysch_chip::{Chip, Clock, Part};
use flysch_nand::{BlockAddr, Ecc, Nand, PageAddr};

use crate::small_part;

const TABLE: &str = include_str!("../../../../docs/parts.md");

#[test]
fn every_part_is_whole_and_names_its_source() {
    for name in Part::names() {
        let part = Part::named(name).unwrap();
        assert_eq!(part.name, name);
        assert!(part.source.len() > 20, "{name}: {}", part.source);
        assert!(!part.description.is_empty() && !part.description.contains('\n'), "{name}");
        part.geometry.check().unwrap();
    }
}

#[test]
fn every_figure_of_a_time_has_a_comment() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts");
    let files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), Part::names().count(), "a file that is no part, or a part missing");
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let figures =
            text.lines().filter(|line| line.contains("_ns = ") || line.contains("_ps_per_byte"));
        for line in figures {
            assert!(line.contains(" # "), "{}: {line}", file.display());
        }
    }
}

/// A time in microseconds: `125` for 125 000 ns, `23.5` for 23 500 ns.
fn us(ns: u64) -> String {
    let thousandths = format!("{}.{:03}", ns / 1000, ns % 1000);
    thousandths.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn row(part: &Part) -> String {
    let (geometry, timing) = (&part.geometry, &part.timing);
    let page = u64::from(geometry.page_size);
    format!(
        "| `{}` | {} MiB | {} + {} | {} | {} | {} | {} | {} | {} | {} / {} | {} |",
        part.name,
        (page * u64::from(geometry.page_count())) >> 20,
        page,
        geometry.oob_size,
        geometry.pages_per_block,
        geometry.partial_programs,
        if geometry.in_order { "yes" } else { "no" },
        us(timing.read_ns(page)),
        us(timing.program_ns(page)),
        us(timing.erase_ns()),
        part.ecc.bits,
        part.ecc.step_size,
        part.endurance,
    )
}

#[test]
fn the_table_of_parts_is_that_of_the_files() {
    for part in Part::names().map(|name| Part::named(name).unwrap()) {
        let row = row(&part);
        assert!(TABLE.contains(&row), "docs/parts.md should have this row:\n{row}");
        assert!(TABLE.contains(&part.source), "docs/parts.md should have: {}", part.source);
    }
}

#[test]
fn what_is_no_part_is_refused() {
    let text = include_str!("../../../../parts/nandsim.toml");
    let cases = [
        (text.replace("endurance = 100_000", "endurance = 0"), "impossible part: endurance is 0"),
        (text.replace("oob_size = 64", "oob_size = 0"), "impossible geometry: oob_size is 0"),
        (text.replace("sectors_per_page = 4", "sectors_per_page = 64"), "above 32"),
        (text.replace("partial_programs = 4", "partial_programs = 256"), "above 255"),
        (text.replace("step_size = 256", "step_size = 0"), "ecc.step_size is 0"),
        (text.replace("erase_ns = 1_000_000", "erase_ns = 0"), "timing.erase_ns is 0"),
        (text.replace("bits = 1 ", "bites = 1 "), "unknown field `bites`"),
        (text.replace("in_order = false", ""), "missing field `in_order`"),
        (text.replace("[ecc]", "[timing]"), "duplicate key"),
    ];
    for (text, wanted) in cases {
        let error = Part::parse(&text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn an_unknown_part_is_answered_with_the_nearest() {
    let known = "(known: mt29f2g08, omap3evm, k9f2g08u0a, gemalto-vfl, nandsim, w25n01gv, mlc)";
    for (name, wanted) in [
        ("nandsin", format!("unknown part 'nandsin'; did you mean 'nandsim'? {known}")),
        ("", format!("unknown part '' {known}")),
    ] {
        assert_eq!(Part::named(name).unwrap_err().to_string(), wanted);
        assert_eq!(Part::builtin(name), None);
    }
}

/// The time of an operation, and the operation.
type Timed<'a> = (u64, &'a mut dyn FnMut(&mut Chip));

#[test]
fn operations_take_the_times_of_the_part() {
    let part = small_part();
    let clock = Clock::new();
    let mut chip = Chip::new(part.clone().into(), clock.clone(), 1);
    let mut taken = |operate: &mut dyn FnMut(&mut Chip)| {
        let began = clock.now_ns();
        operate(&mut chip);
        clock.now_ns() - began
    };
    // nandsim: 25 us to sense, 150 ns a byte, 300 us to program, 1 ms to erase.
    let page = PageAddr(9);
    let block = BlockAddr(1);
    let cases: [Timed<'_>; 7] = [
        (332_200, &mut |chip| assert_eq!(chip.read(page, 0, &mut [0; 2048]), Ok(Ecc::Clean))),
        (341_800, &mut |chip| assert_eq!(chip.read(page, 0, &mut [0; 2112]), Ok(Ecc::Clean))),
        (25_150, &mut |chip| assert_eq!(chip.read(page, 2048, &mut [0]), Ok(Ecc::Clean))),
        (607_200, &mut |chip| assert_eq!(chip.program(page, 0, &[0; 2048], &[]), Ok(()))),
        (1_000_000, &mut |chip| assert_eq!(chip.erase(block), Ok(()))),
        (25_150, &mut |chip| assert_eq!(chip.is_bad(block), Ok(false))),
        (300_150, &mut |chip| assert_eq!(chip.mark_bad(block), Ok(()))),
    ];
    let mut sum = 0;
    for (wanted, operate) in cases {
        assert_eq!(taken(operate), wanted);
        sum += wanted;
    }
    assert_eq!(clock.now_ns(), sum);
}

#[test]
fn the_times_of_the_papers_come_out() {
    let timing = |name: &str| Part::named(name).unwrap().timing;
    // 130 us for 2,048 bytes, sensing and transfer together.
    assert_eq!(timing("omap3evm").read_ns(2048), 130_000);
    // Table 7, VFL: for a sector and a page, R 109/367 us, W 276/447 us.
    let vfl = timing("gemalto-vfl");
    assert_eq!((vfl.read_ns(512) + 500) / 1000, 109);
    assert_eq!((vfl.read_ns(2048) + 500) / 1000, 367);
    assert_eq!((vfl.program_ns(512) + 500) / 1000, 276);
    assert_eq!((vfl.program_ns(2048) + 500) / 1000, 447);
    // Table 1: 60 us and 800 us a page, 1.5 ms a block.
    let hybrid = timing("k9f2g08u0a");
    assert_eq!((hybrid.read_ns(2048), hybrid.program_ns(2048)), (60_000, 800_000));
    assert_eq!(hybrid.erase_ns(), 1_500_000);
}
