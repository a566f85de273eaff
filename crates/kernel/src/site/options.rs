//! What a target does with the parameters of a scenario.
//!
//! A parameter of the machine is what the machine has. It cannot be set here, and a result must not
//! say that it was. So each parameter is honoured, checked, or refused by its name. Those that are
//! not listed belong to the workload or to SQLite, which are the same everywhere.

use super::target::Target;

/// What happens to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The run is as the parameter says.
    Honoured,
    /// It describes the flash. A run on other flash is refused.
    Checked,
    /// The run cannot be so, for this reason.
    Refused(&'static str),
}

use Use::{Checked, Honoured, Refused};

const MOUNTED: Use = Refused("the file system is already mounted");

/// Parameters of the machine, by their names on the command line: what a new file system makes of
/// them, and one that is mounted.
const USES: [(&str, Use, Use); 13] = [
    ("part", Checked, Checked),
    ("partition-blocks", Checked, Checked),
    ("aged-fill", Honoured, Refused("ageing would leave files in the folder")),
    ("aged-invalid", Honoured, Refused("ageing would leave files in the folder")),
    ("aged-erases", WORN, WORN),
    ("ecc", ECC, ECC),
    ("compression", Honoured, MOUNTED),
    ("read-ahead", Honoured, MOUNTED),
    ("ubifs-bulk-read", Honoured, MOUNTED),
    ("ubi-fastmap", Honoured, MOUNTED),
    ("yaffs2-profile", Refused("the module is of one of them"), MOUNTED),
    ("ubifs-maker", Refused("UBIFS is made by its first mount"), MOUNTED),
    ("ubi-wear-threshold", Refused("the kernel was built with one"), MOUNTED),
];
const WORN: Use = Refused("the blocks are as worn as they are");
const ECC: Use = Refused("the driver corrects errors where it does; see `flysch vm bench --ecc`");

impl Target {
    fn use_of(&self, parameter: &str) -> Use {
        let found = USES.iter().find(|(name, ..)| *name == parameter);
        found.map_or(Honoured, |&(_, fresh, mounted)| match self {
            Self::Fresh(_) => fresh,
            Self::Mounted(_) => mounted,
        })
    }

    /// Why a parameter cannot be as it is asked for, if it cannot.
    pub fn refuses(&self, parameter: &str) -> Option<&'static str> {
        match self.use_of(parameter) {
            Refused(why) => Some(why),
            Honoured | Checked => None,
        }
    }
}
