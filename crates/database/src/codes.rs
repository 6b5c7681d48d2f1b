//! The numeric codes of enums in the database.

/// Declares the codes of an enum: a function that returns the code of a value and, if it is named, one that returns the value of
/// a code. Any other code in the database is the error of an invalid `$what`.
macro_rules! codes {
    ($code:ident, $of:ident($what:literal): $Enum:ident { $($Value:ident = $number:literal),+ $(,)? }) => {
        $crate::codes::codes!($code: $Enum { $($Value = $number),+ });

        pub(crate) fn $of(code: i16) -> $crate::error::Outcome<$Enum> {
            match code {
                $($number => Ok($Enum::$Value),)+
                _ => Err($crate::error::corrupt($what)),
            }
        }
    };
    ($code:ident: $Enum:ident { $($Value:ident = $number:literal),+ $(,)? }) => {
        pub(crate) const fn $code(value: $Enum) -> i16 {
            match value {
                $($Enum::$Value => $number),+
            }
        }
    };
}

pub(crate) use codes;
