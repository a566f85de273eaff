//! SQLite's default settings at the time of the papers and in the release that is compiled in. They
//! are data files in `eras/`, which name their sources.

use flysch_names::named;
use strum::{IntoStaticStr, VariantArray};

use crate::settings::Settings;

/// A period in the history of SQLite whose default settings are known.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Era {
    /// The releases 3.7.0 to 3.7.9, named `3.7`.
    #[strum(serialize = "3.7")]
    V3_7,
    /// The release that is compiled in, named `today`.
    Today,
}

named!(Era, "SQLite era");

impl Era {
    /// Read the settings of this era.
    ///
    /// # Panics
    /// If an embedded file is malformed. A test reads them all.
    pub fn settings(self) -> Settings {
        let text = match self {
            Self::V3_7 => include_str!("../eras/3.7.toml"),
            Self::Today => include_str!("../eras/today.toml"),
        };
        toml::from_str(text).expect("the embedded settings are well-formed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_era_has_settings_and_a_name() {
        for &era in Era::VARIANTS {
            assert_eq!(era.name().parse(), Ok(era));
            assert_eq!(
                toml::from_str(&toml::to_string(&era.settings()).unwrap()),
                Ok(era.settings())
            );
        }
        let unknown = "4.0".parse::<Era>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown SQLite era '4.0' (known: 3.7, today)");
    }
}
