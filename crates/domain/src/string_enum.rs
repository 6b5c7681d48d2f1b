//! Enums whose variants are strings to clients.

/// Declares an enum whose variants clients send and read as strings, with `ALL` variants, `as_str`, and a `FromStr` that rejects
/// any other string with the given message.
macro_rules! string_enum {
    (
        $(#[$attribute:meta])+
        $name:ident $message:literal { $($(#[$of_variant:meta])+ $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$attribute])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of_variant])+ $variant,)+
        }

        impl $name {
            /// Every variant.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// Returns the string that clients send and read.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Violation;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let named = Self::ALL.into_iter().find(|each| each.as_str() == name);
                named.ok_or_else(|| Self::Err::new($crate::error::ViolationKind::NotAllowed, $message))
            }
        }
    };
}

pub(crate) use string_enum;
