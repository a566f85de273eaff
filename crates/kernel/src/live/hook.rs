//! Hooks: the kernel functions whose calls are recorded, and the flash operation that each call is.

use super::error::LiveError;
use super::layout::{Layout, Width};
use super::level::Level;

/// The operation that a call of a hooked function performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Read a page. Fields: `page`, `off` (within page and OOB), `len`.
    PageRead,
    /// Program a page. It has the fields of a read.
    PageProgram,
    /// Erase a block. Field: `block`.
    BlockErase,
    /// Read a range. Fields: `from` and `len` in bytes, `ooblen`.
    RangeRead,
    /// Program a range. It has the fields of a read.
    RangeProgram,
    /// Erase a range. Fields: `from` and `len` in bytes.
    RangeErase,
    /// An action of nandsim. Field: `action`.
    Action,
}

/// A probe to set in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Name of the trace event.
    pub(super) event: &'static str,
    /// Name of the kernel function.
    pub(super) symbol: &'static str,
    /// The operation that a call of the function performs.
    pub(super) meaning: Meaning,
}

/// A trace event, all names that its kernel function has had, and the operation that a call
/// performs.
type Row = (&'static str, &'static [&'static str], Meaning);

const CHIP: &[Row] = &[
    ("page_read", &["nand_read_page_op"], Meaning::PageRead),
    ("page_program", &["nand_prog_page_begin_op"], Meaning::PageProgram),
    // Some drivers use this function for OOB-only programs and for whole pages.
    ("page_program_at_once", &["nand_prog_page_op"], Meaning::PageProgram),
    ("block_erase", &["nand_erase_op"], Meaning::BlockErase),
];
const SPI_NAND: &[Row] = &[
    ("range_read", &["spinand_mtd_read"], Meaning::RangeRead),
    ("range_program", &["spinand_mtd_write"], Meaning::RangeProgram),
    ("range_erase", &["spinand_mtd_erase"], Meaning::RangeErase),
];
const MTD: &[Row] = &[
    ("range_read", &["nand_read_oob"], Meaning::RangeRead),
    ("range_program", &["nand_write_oob"], Meaning::RangeProgram),
    ("range_erase", &["nand_erase_nand", "nand_erase"], Meaning::RangeErase),
];
const NANDSIM: &[Row] = &[("action", &["ns_do_state_action"], Meaning::Action)];

impl Level {
    const fn rows(self) -> &'static [Row] {
        match self {
            Self::Chip => CHIP,
            Self::SpiNand => SPI_NAND,
            Self::Mtd => MTD,
            Self::Nandsim => NANDSIM,
        }
    }

    /// The probes of this level on a kernel that has all its functions.
    #[cfg(test)]
    pub(super) fn every_probe(self) -> Vec<Probe> {
        self.set(&mut |_| Ok(true)).expect("nothing refuses").expect("all are there")
    }

    /// Set the probes of this level. None if the kernel lacks one of its functions.
    fn set(
        self,
        set: &mut impl FnMut(&Probe) -> Result<bool, LiveError>,
    ) -> Result<Option<Vec<Probe>>, LiveError> {
        let mut probes = Vec::new();
        for &(event, names, meaning) in self.rows() {
            let mut found = false;
            for &symbol in names {
                let probe = Probe { event, symbol, meaning };
                found = set(&probe)?;
                if found {
                    probes.push(probe);
                    break;
                }
            }
            if !found {
                return Ok(None);
            }
        }
        Ok(Some(probes))
    }
}

/// Choose where to hook: at the requested level, or at the supported level that is nearest to the
/// array. Support is found out by setting the probes, because reading the kernel's list of symbols
/// takes longer than a run.
///
/// `set` sets a probe and returns whether the kernel has its function. `unset` removes all probes.
pub(super) fn choose(
    asked: Option<Level>,
    is_spi_nand: bool,
    mut set: impl FnMut(&Probe) -> Result<bool, LiveError>,
    mut unset: impl FnMut(),
) -> Result<(Level, Vec<Probe>), LiveError> {
    let natural: &[Level] =
        if is_spi_nand { &[Level::SpiNand] } else { &[Level::Chip, Level::Mtd] };
    let levels = asked.as_ref().map_or(natural, std::slice::from_ref);
    for &level in levels {
        if let Some(probes) = level.set(&mut set)? {
            return Ok((level, probes));
        }
        unset();
    }
    Err(LiveError::NoHook(asked))
}

impl Probe {
    /// The line that defines this probe in `kprobe_events`.
    pub(super) fn definition(&self, group: &str, layout: &Layout) -> String {
        let Self { event, symbol, .. } = self;
        format!("p:{group}/{event} {symbol} {}", self.fetches(layout))
    }

    fn fetches(&self, layout: &Layout) -> String {
        use Width::{Long, Word};
        let size = layout.word * 8;
        match self.meaning {
            Meaning::PageRead | Meaning::PageProgram => {
                let places = layout.places(&[Word, Word, Word, Word, Word]);
                format!("page={}:u32 off={}:u32 len={}:u32", places[1], places[2], places[4])
            }
            Meaning::BlockErase => format!("block={}:u32", layout.places(&[Word, Word])[1]),
            Meaning::RangeRead | Meaning::RangeProgram => {
                let places = layout.places(&[Word, Long, Word]);
                let (len, oob_len) = layout.oob_ops();
                let ops = &places[2];
                // On a 32-bit machine the low word is enough, because its chips have less than 4
                // GiB.
                format!(
                    "from={}:u{size} len=+{len}({ops}):u{size} ooblen=+{oob_len}({ops}):u{size}",
                    places[1]
                )
            }
            Meaning::RangeErase => {
                let instruction = &layout.places(&[Word, Word])[1];
                format!("from=+0({instruction}):u64 len=+8({instruction}):u64")
            }
            Meaning::Action => format!("action={}:u32", layout.places(&[Word, Word])[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level that is chosen on a kernel with these functions.
    fn chosen(
        asked: Option<Level>,
        is_spi_nand: bool,
        symbols: &[&str],
    ) -> Result<(Level, Vec<Probe>), LiveError> {
        choose(asked, is_spi_nand, |probe| Ok(symbols.contains(&probe.symbol)), || ())
    }

    const TODAY: [&str; 7] = [
        "nand_read_page_op",
        "nand_prog_page_begin_op",
        "nand_prog_page_op",
        "nand_erase_op",
        "nand_read_oob",
        "nand_write_oob",
        "nand_erase_nand",
    ];

    #[test]
    fn the_hook_nearest_to_the_array_is_chosen() {
        let level = |asked, is_spi_nand, symbols: &[&str]| {
            chosen(asked, is_spi_nand, symbols).map(|(level, _)| level)
        };
        assert_eq!(level(None, false, &TODAY).unwrap(), Level::Chip);
        assert_eq!(level(None, false, &TODAY[1..]).unwrap(), Level::Mtd);
        assert_eq!(level(Some(Level::Mtd), false, &TODAY).unwrap(), Level::Mtd);
        let spi = ["spinand_mtd_read", "spinand_mtd_write", "spinand_mtd_erase"];
        assert_eq!(level(None, true, &spi).unwrap(), Level::SpiNand);
        assert!(matches!(level(None, false, &spi), Err(LiveError::NoHook(None))));
        let absent = level(Some(Level::Nandsim), false, &TODAY).unwrap_err();
        assert_eq!(absent.to_string(), "this kernel has no function to hook at level 'nandsim'");
    }

    #[test]
    fn a_definition_names_the_places_of_the_machine() {
        let (_, probes) = chosen(None, false, &TODAY).unwrap();
        let lines = |machine: &str| -> Vec<String> {
            let layout = Layout::of(machine).unwrap();
            probes.iter().map(|probe| probe.definition("g", &layout)).collect()
        };
        assert_eq!(
            lines("x86_64")[0],
            "p:g/page_read nand_read_page_op page=%si:u32 off=%dx:u32 len=%r8:u32"
        );
        assert_eq!(lines("armv7l")[3], "p:g/block_erase nand_erase_op block=%r1:u32");
        let (_, probes) = chosen(Some(Level::Mtd), false, &TODAY).unwrap();
        let layout = Layout::of("armv7l").unwrap();
        assert_eq!(
            probes[0].definition("g", &layout),
            "p:g/range_read nand_read_oob from=%r2:u32 len=+4($stack0):u32 ooblen=+12($stack0):u32"
        );
    }

    #[test]
    fn a_level_has_a_name() {
        for &level in Level::ALL {
            assert_eq!(level.name().parse(), Ok(level));
        }
        assert!("chips".parse::<Level>().unwrap_err().to_string().contains("'chip'"));
    }
}
