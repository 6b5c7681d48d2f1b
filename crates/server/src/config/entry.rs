//! What one source of a configuration says.

use std::path::PathBuf;

use super::table::Setting;

/// What a source says of a setting.
pub(super) struct Entry {
    pub(super) setting: &'static Setting,
    /// Whether the text is the path of the file that holds the value.
    pub(super) is_path: bool,
    pub(super) text: String,
    pub(super) place: ValueSource,
}

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// On a line of the file, counted from one.
    File(PathBuf, usize),
    /// In the environment.
    Variable,
    /// On the command line.
    Flag,
}

/// What is wrong with a configuration.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The variables of the settings that it leaves in doubt.
    pub of: Vec<&'static str>,
    /// Whether nothing of the file could be read.
    pub is_of_whole_file: bool,
    /// The problem, in words for an operator.
    pub text: String,
}
