//! The configuration: a file, then variables, then flags; what each value must be.
//!
//! | module | what it does |
//! |---|---|
//! | `settings` | the settings, each declared once |
//! | `setting` | what there is to know of a setting |
//! | `parse` | from texts to the values that the program works with |
//! | `values` | what was given, where, and what is wrong with it |
//! | `file` | the file: its keys, and the lines they stand on |
//! | `checks` | what settings must be together, and what they make together |
//! | `load` | where a program that starts finds all this, and the flags of its command line |
//! | `show` | `agora config show` |

#![forbid(unsafe_code)]

mod checks;
mod file;
mod load;
mod parse;
mod setting;
mod settings;
mod show;
#[cfg(test)]
mod tests;
mod values;

pub use self::checks::parse_registration;
pub use self::load::{Flags, Invalid, Loaded, Purpose, load};
pub use self::setting::{DefaultValue, Form, PREFIX, Secret, Setting};
pub use self::settings::{ALL, Config, LogFormat, SETTINGS, Settings};
pub use self::show::{EffectiveSetting, ShownValue, effective, show, shown_url};
pub use self::values::{Problem, SettingValue, ValueSource, Values};
