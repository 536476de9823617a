//! Enums whose variants have names in parameters. Names and variants are one table, so a name that a rule allows is
//! always one that the enum parses.

/// An enum with a name for each variant.
pub trait Named: Copy + 'static {
    /// The names, in the order of the variants.
    const NAMES: &'static [&'static str];

    /// The variant with this name.
    fn from_name(name: &str) -> Option<Self>;
}

/// Gives every variant of an enum a name: `named!(Prior { Zero = "zero", Global = "global" })`.
macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// The names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name.
            #[allow(dead_code, reason = "some are only parsed")]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The variant with this name.
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }

        impl $crate::base::param::Named for $type {
            const NAMES: &'static [&'static str] = Self::NAMES;

            fn from_name(name: &str) -> Option<Self> {
                Self::parse(name)
            }
        }
    };
}

pub(crate) use named;
