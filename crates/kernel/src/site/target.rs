//! Targets: the file system of the machine on which a scenario runs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use flysch_lab::machine::stack::Main;
use flysch_names::UnknownName;

/// The prefix that distinguishes a target from a simulated stack.
const PREFIX: &str = "kernel:";

/// A file system of the machine that this program runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A new file system for each run, on an MTD device that is erased for it.
    Fresh(Main),
    /// A file system that is already mounted, named by a directory on it.
    Mounted(PathBuf),
}

impl Target {
    /// The file systems that can be made on an MTD device.
    const FRESH: [Main; 3] = [Main::Jffs2, Main::Ubifs, Main::Yaffs2];

    /// Whether a name is that of a target and not of a simulated stack.
    pub fn is_named(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// The kind of file system, if it is known from the name.
    pub const fn main(&self) -> Option<Main> {
        match self {
            Self::Fresh(main) => Some(*main),
            Self::Mounted(_) => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh(main) => write!(f, "{PREFIX}{}", main.name()),
            Self::Mounted(path) => write!(f, "{PREFIX}{}", path.display()),
        }
    }
}

impl FromStr for Target {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let rest = name.strip_prefix(PREFIX).unwrap_or(name);
        if rest.starts_with(['/', '.']) {
            return Ok(Self::Mounted(PathBuf::from(rest)));
        }
        let found = Self::FRESH.into_iter().find(|main| main.name() == rest);
        let known = Self::FRESH.map(|main| format!("{PREFIX}{}", main.name()));
        let known = known.into_iter().chain(["kernel:/PATH".to_owned()]);
        found.map(Self::Fresh).ok_or_else(|| UnknownName::new("kernel target", name, known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_file_system_or_a_directory() {
        for name in ["kernel:jffs2", "kernel:ubifs", "kernel:yaffs2", "kernel:/mnt/flash"] {
            let target: Target = name.parse().unwrap();
            assert_eq!(target.to_string(), name);
        }
        assert!(Target::is_named("kernel:jffs2") && !Target::is_named("sqlite/jffs2"));
        let error = "kernel:jfs2".parse::<Target>().unwrap_err().to_string();
        assert!(error.contains("did you mean 'kernel:jffs2'?"), "{error}");
    }
}
