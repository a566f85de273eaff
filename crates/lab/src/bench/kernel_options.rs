//! Read-ahead and compressors as the user asks for them, and how they change a scenario.

use std::fmt;
use std::str::FromStr;

use flysch_linux::jffs2::Compressor;
use flysch_linux::ubifs;
use flysch_names::UnknownName;

use super::scenario::Scenario;
use crate::machine::Build;
use crate::machine::stack::Main;

/// The window in cache pages that `on` stands for, if the platform has none: 128 KiB.
const RA_PAGES_ON: u32 = 32;

/// A read-ahead setting, as the user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAheadOption {
    /// The platform's window, or 128 KiB if it has none.
    On,
    /// The kernel does not read ahead.
    Off,
    /// Like `On`, but programs tell the kernel not to read ahead in the files they open
    /// (`posix_fadvise`).
    Advised,
    /// A window of this many cache pages.
    Pages(u32),
}

impl ReadAheadOption {
    /// Give a scenario this read-ahead setting.
    pub(super) fn apply(self, scenario: &mut Scenario) {
        scenario.build.ra_pages = self.pages(scenario.build.ra_pages);
        scenario.ubifs_ra_pages = self.pages(0);
        scenario.advises_random = self == Self::Advised;
    }

    fn pages(self, platform: u32) -> u32 {
        match self {
            Self::On | Self::Advised if platform > 0 => platform,
            Self::On | Self::Advised => RA_PAGES_ON,
            Self::Off => 0,
            Self::Pages(pages) => pages,
        }
    }
}

/// The compressors that the user asks for. `None` keeps the platform's compressors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressionOption {
    /// Compressors of JFFS2 in the order it tries them. With an empty list it stores data
    /// uncompressed.
    pub jffs2: Option<Vec<Compressor>>,
    /// The compressor of UBIFS.
    pub ubifs: Option<ubifs::Compressor>,
}

impl CompressionOption {
    /// Whether a file system has one of these compressors. Those that do not compress ignore them.
    pub const fn suits(&self, main: Main) -> bool {
        match main {
            Main::Jffs2 => self.jffs2.is_some(),
            Main::Ubifs => self.ubifs.is_some(),
            Main::Yaffs2 | Main::Ftl | Main::Tmpfs | Main::Chip => true,
        }
    }

    /// Let `build` use these compressors.
    pub fn apply(&self, build: &mut Build) {
        if let Some(list) = &self.jffs2 {
            build.compressors.clone_from(list);
        }
        build.ubifs_compressor = self.ubifs.unwrap_or(build.ubifs_compressor);
    }
}

impl fmt::Display for CompressionOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = self.jffs2.iter().flatten().map(|it| it.name()).collect::<Vec<_>>().join("+");
        let of_ubifs = self.ubifs.map_or("none", ubifs::Compressor::name);
        f.write_str(if list.is_empty() { of_ubifs } else { &list })
    }
}

impl FromStr for CompressionOption {
    type Err = UnknownName;

    /// Parse `none`, one compressor, or several compressors of JFFS2 joined by `+` in the order
    /// JFFS2 tries them. UBIFS has one compressor: the first name in the list that it knows.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let ubifs = text.split('+').find_map(|name| name.parse().ok());
        match text {
            "none" => Ok(Self { jffs2: Some(Vec::new()), ubifs }),
            "zstd" => Ok(Self { jffs2: None, ubifs }),
            list => {
                let jffs2 = list.split('+').map(str::parse).collect::<Result<_, _>>()?;
                Ok(Self { jffs2: Some(jffs2), ubifs })
            }
        }
    }
}
