//! What the advice may change: stack, journal mode, durability, sizes of page and cache,
//! compression, read-ahead, and the number of transactions that are joined into one.

use std::fmt;

use flysch_sqlite::{JournalMode, Synchronous};

use crate::bench::grid::{CompressionOption, spread};
use crate::bench::scenario::Scenario;
use crate::machine::stack::{Main, Stack};
use crate::recording::Variant;

/// One combination of settings. `None` keeps the value of the program or of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub stack: Stack,
    pub mode: Option<(JournalMode, Synchronous)>,
    pub page_size: Option<u32>,
    pub cache_size: Option<i32>,
    /// The file system does not compress.
    pub is_uncompressed: bool,
    /// The kernel does not read ahead.
    pub reads_no_further: bool,
    /// Number of consecutive transactions that are joined into one. 1 leaves them apart.
    pub group: u32,
}

/// The values of each setting. Their combinations are what an exhaustive sweep would try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    pub stacks: Vec<Stack>,
    pub modes: Vec<(JournalMode, Synchronous)>,
    pub page_sizes: Vec<Option<u32>>,
    pub cache_sizes: Vec<Option<i32>>,
}

impl Space {
    /// The settings under which these stacks lose no acknowledged transaction. Stacks in RAM
    /// (tmpfs) are left out.
    pub fn of(stacks: &[Stack]) -> Self {
        let stacks = stacks.iter().copied().filter(|stack| stack.main != Main::Tmpfs);
        Self {
            stacks: stacks.collect(),
            modes: vec![
                (JournalMode::Delete, Synchronous::Extra),
                (JournalMode::Truncate, Synchronous::Full),
                (JournalMode::Persist, Synchronous::Full),
                (JournalMode::Wal, Synchronous::Full),
            ],
            page_sizes: vec![None, Some(1024), Some(8192)],
            cache_sizes: vec![None, Some(100), Some(20_000)],
        }
    }

    pub fn all(&self) -> Vec<Configuration> {
        let plain = self.stacks.iter().map(|&stack| Configuration::plain(stack)).collect();
        let mut all: Vec<Configuration> =
            spread(plain, &self.modes, |it, &mode| it.mode = Some(mode));
        all = spread(all, &self.page_sizes, |it, &size| it.page_size = size);
        all = spread(all, &self.cache_sizes, |it, &size| it.cache_size = size);
        all = spread(all, &[false, true], |it, &is_so| it.is_uncompressed = is_so);
        all
    }
}

impl Configuration {
    /// The configuration that changes nothing but the stack.
    pub const fn plain(stack: Stack) -> Self {
        Self {
            stack,
            mode: None,
            page_size: None,
            cache_size: None,
            is_uncompressed: false,
            reads_no_further: false,
            group: 1,
        }
    }

    /// The settings that it replaces in a recording.
    pub(super) fn variant(&self) -> Variant {
        Variant {
            journal_mode: self.mode.map(|(journal, _)| journal),
            synchronous: self.mode.map(|(_, synchronous)| synchronous),
            page_size: self.page_size,
            cache_size: self.cache_size,
            group: self.group,
        }
    }

    /// A copy of the scenario with this configuration.
    pub(super) fn apply(&self, scenario: &Scenario) -> Scenario {
        let mut own = Scenario { stack: self.stack, ..scenario.clone() };
        if let Some((journal_mode, synchronous)) = self.mode {
            (own.settings.journal_mode, own.settings.synchronous) = (journal_mode, synchronous);
        }
        own.settings.page_size = self.page_size.unwrap_or(own.settings.page_size);
        own.settings.cache_size = self.cache_size.unwrap_or(own.settings.cache_size);
        if self.is_uncompressed {
            let none: CompressionOption = "none".parse().expect("it is a list of compressors");
            none.apply(&mut own.build);
        }
        if self.reads_no_further {
            (own.build.ra_pages, own.ubifs_ra_pages) = (0, 0);
        }
        own
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stack)?;
        match self.mode {
            Some((journal, synchronous)) => write!(f, ", {journal} journal, {synchronous}")?,
            None => f.write_str(", its own journal")?,
        }
        if let Some(size) = self.page_size {
            write!(f, ", pages of {size}")?;
        }
        if let Some(size) = self.cache_size {
            write!(f, ", cache of {size} pages")?;
        }
        if self.is_uncompressed {
            f.write_str(", uncompressed")?;
        }
        if self.reads_no_further {
            f.write_str(", no read-ahead")?;
        }
        if self.group > 1 {
            write!(f, ", {} transactions as one", self.group)?;
        }
        Ok(())
    }
}
