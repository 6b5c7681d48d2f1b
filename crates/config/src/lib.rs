//! The configuration: read from a file, environment variables and flags, where later sources win, and validated.
//!
//! | module | what it does |
//! |---|---|
//! | `settings` | declares every setting once |
//! | `setting` | the type that describes a setting |
//! | `parse` | parses texts into the values that the program works with |
//! | `values` | the values that were set, their sources, and problems with them |
//! | `file` | reads the configuration file: its keys, and their line numbers |
//! | `checks` | checks settings against each other, and derives values from several of them |
//! | `load` | loads the configuration when the program starts, and declares its flags |
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
