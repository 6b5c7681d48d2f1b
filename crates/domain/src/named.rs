//! Enums whose values have names.

/// Declares an enum whose values have names that clients send and read: `ALL` of them, `as_str`, and how a name is read, with what is
/// said of another.
macro_rules! named {
    (
        $(#[$attribute:meta])+
        $name:ident $refused:literal { $($(#[$of_variant:meta])+ $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$attribute])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$of_variant])+ $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// Returns its name.
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
                named.ok_or_else(|| Self::Err::new($crate::error::ViolationKind::NotAllowed, $refused))
            }
        }
    };
}

pub(crate) use named;
