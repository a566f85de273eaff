//! Parameters of a scenario that a target refuses.
//!
//! Parameters that describe the machine cannot be set on a real one, and a result must not claim
//! that they were. So a parameter that has no effect is refused by its name. The part and its
//! partition are compared with the real flash when the run begins.

use super::target::Target;

const MOUNTED: Option<&str> = Some("the file system is already mounted");
const FILES_STAY: Option<&str> = Some("ageing would leave files in the folder");
const WORN: Option<&str> = Some("the blocks are as worn as they are");
const ECC: Option<&str> =
    Some("the driver corrects errors where it does; see `flysch vm bench --ecc`");

/// Parameters by their names on the command line. For each, why a new file system cannot have it,
/// and why a mounted one cannot.
const REFUSALS: [(&str, Option<&str>, Option<&str>); 11] = [
    ("aged-fill", None, FILES_STAY),
    ("aged-invalid", None, FILES_STAY),
    ("aged-erases", WORN, WORN),
    ("ecc", ECC, ECC),
    ("compression", None, MOUNTED),
    ("read-ahead", None, MOUNTED),
    ("ubifs-bulk-read", None, MOUNTED),
    ("ubi-fastmap", None, MOUNTED),
    ("yaffs2-profile", Some("the module is of one of them"), MOUNTED),
    ("ubifs-maker", Some("UBIFS is made by its first mount"), MOUNTED),
    ("ubi-wear-threshold", Some("the kernel was built with one"), MOUNTED),
];

impl Target {
    /// Why the target cannot have a parameter. None if it can.
    pub fn refuses(&self, parameter: &str) -> Option<&'static str> {
        let (_, fresh, mounted) = REFUSALS.iter().find(|(name, ..)| *name == parameter)?;
        match self {
            Self::Fresh(_) => *fresh,
            Self::Mounted(_) => *mounted,
        }
    }
}
