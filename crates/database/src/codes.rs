//! The numbers that stand for the values of enums in the database.

/// Declares these numbers: a function that returns the number of a value, and one that returns the value of a number, unless none
/// is asked for. Any other number in the database is an invalid `$what`.
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
