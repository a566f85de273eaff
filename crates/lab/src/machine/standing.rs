//! The standing of a stack on a platform: whether a user could choose it there, or whether it only
//! serves for comparison.

use serde::Serialize;

use super::platform::Platform;
use super::stack::{Journals, Main, Stack};

/// Whether a platform can have a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The platform has what the stack needs.
    Answer,
    /// The stack keeps files in RAM. It gives a lower bound of the cost, but a power cut destroys
    /// the data.
    Floor,
    /// The stack needs an NVRAM, and the platform has none.
    NeedsNvram,
}

impl Standing {
    /// The standing of `stack` on `platform`.
    pub fn of(stack: Stack, platform: &Platform) -> Self {
        match (stack.main, stack.journals) {
            (Main::Tmpfs, _) | (_, Some(Journals::Tmpfs)) => Self::Floor,
            (_, Some(Journals::Pramfs | Journals::Nvram)) if !platform.has_nvram => {
                Self::NeedsNvram
            }
            (Main::Jffs2 | Main::Yaffs2 | Main::Ubifs | Main::Ftl | Main::Chip, _) => Self::Answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ram_is_a_floor_and_nvram_is_asked_of_the_platform() {
        let platform = |name| Platform::named(name).unwrap();
        let cases = [
            ("sqlite/jffs2", "nandsim-6.1", Standing::Answer),
            ("flysch", "nandsim-6.1", Standing::Answer),
            ("sqlite/tmpfs", "kaist-2.6.19", Standing::Floor),
            ("sqlite/ubifs+tmpfs", "kaist-2.6.19", Standing::Floor),
            ("sqlite/yaffs2+pramfs", "nandsim-6.1", Standing::NeedsNvram),
            ("sqlite/yaffs2+pramfs", "kaist-2.6.19", Standing::Answer),
            ("flysch+nvram", "apf27-2.6.29", Standing::NeedsNvram),
        ];
        for (stack, on, standing) in cases {
            assert_eq!(Standing::of(stack.parse().unwrap(), &platform(on)), standing, "{stack}");
        }
    }
}
