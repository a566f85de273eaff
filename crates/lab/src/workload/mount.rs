//! What it costs to come back: transactions on a log of sensors, a stop, then the mount.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::parameter::Parameter;
use crate::unknown_name::UnknownName;

/// Transactions of one reading each, then a stop and a mount. The number of transactions is the
/// scenario's `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount {
    /// How the machine stops.
    pub stop: Stop,
}

/// How a machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The power fails in the middle of one more transaction.
    Cut,
    /// The database is closed, and the file systems are unmounted.
    Clean,
}

impl Stop {
    const ALL: [Self; 2] = [Self::Cut, Self::Clean];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Clean => "clean",
        }
    }
}

impl FromStr for Stop {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|stop| stop.name() == name);
        found.ok_or_else(|| UnknownName::new("stop", name, &Self::ALL.map(Self::name)))
    }
}

impl Mount {
    /// A power cut.
    pub const DEFAULT: Self = Self { stop: Stop::Cut };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([("stop", self.stop.name().into())])
    }
}
