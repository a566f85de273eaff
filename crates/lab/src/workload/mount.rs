//! The cost of starting again: transactions on a log of sensors, a stop, then a mount.

use std::collections::BTreeMap;

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use crate::parameter::Parameter;

/// Transactions of one reading each, then a stop and a mount. The number of transactions is the
/// scenario's `requests`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mount {
    /// How the machine stops.
    pub stop: Stop,
}

/// How a machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Stop {
    /// The power is cut in the middle of one more transaction.
    Cut,
    /// The database is closed, and the file systems are unmounted.
    Clean,
}

named!(Stop, "stop");

impl Mount {
    /// The names of its figures. The readings that are left are told where SQLite promises not to
    /// keep them all.
    pub(crate) const FIGURES: [&str; 1] = ["readings_left"];

    pub const DEFAULT: Self = Self { stop: Stop::Cut };

    pub(super) fn parameters(self) -> BTreeMap<&'static str, Parameter> {
        BTreeMap::from([("stop", self.stop.name().into())])
    }
}
