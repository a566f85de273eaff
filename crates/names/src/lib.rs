//! Names of values, for the command line, files and messages.
//!
//! An enum whose values have names derives `strum::IntoStaticStr` (with `const_into_str`) and
//! `strum::VariantArray`. [`named!`] gives it the rest: `ALL`, `name` and `FromStr`.

mod nearest;
mod unknown;

pub use nearest::nearest;
pub use strum::VariantArray;
pub use unknown::UnknownName;

/// Give an enum `ALL` and `name`. With a second argument it also gets `FromStr`: the argument is
/// the word for the enum in the error message of [`UnknownName`].
///
/// ```
/// use strum::{IntoStaticStr, VariantArray};
///
/// #[derive(Clone, Copy, Debug, PartialEq, IntoStaticStr, VariantArray)]
/// #[strum(serialize_all = "kebab-case", const_into_str)]
/// pub enum Speed {
///     Slow,
///     VeryFast,
/// }
///
/// flysch_names::named!(Speed, "speed");
///
/// assert_eq!("very-fast".parse(), Ok(Speed::VeryFast));
/// let error = "slov".parse::<Speed>().unwrap_err();
/// let text = "unknown speed 'slov'; did you mean 'slow'? (known: slow, very-fast)";
/// assert_eq!(error.to_string(), text);
/// let error = "so-so".parse::<Speed>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown speed 'so-so' (known: slow, very-fast)");
/// ```
#[macro_export]
macro_rules! named {
    ($kind:ty, $what:literal) => {
        $crate::named!($kind);

        impl std::str::FromStr for $kind {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $crate::find($what, text, Self::name)
            }
        }
    };
    ($kind:ty) => {
        impl $kind {
            /// All values, in the order of the declaration.
            pub const ALL: &'static [Self] = <Self as $crate::VariantArray>::VARIANTS;

            /// Name on the command line, in files and in tables.
            pub const fn name(self) -> &'static str {
                self.into_str()
            }
        }
    };
}

/// Find the value of an enum that is called `given`, ignoring case.
pub fn find<T: Copy + VariantArray>(
    what: &'static str,
    given: &str,
    name: impl Fn(T) -> &'static str,
) -> Result<T, UnknownName> {
    let found = T::VARIANTS.iter().find(|&&value| name(value).eq_ignore_ascii_case(given));
    let known = || T::VARIANTS.iter().map(|&value| name(value));
    found.copied().ok_or_else(|| UnknownName::new(what, given, known()))
}
