//! The values that were set, their sources, and problems with them.

use std::collections::BTreeMap;
use std::io;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use crate::parse::Parsed;
use crate::setting::Setting;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// In this file, on this line, counted from one.
    File(PathBuf, usize),
    /// In the environment.
    Variable,
    /// On the command line.
    Flag,
}

/// A value that was set.
#[derive(Clone)]
pub struct SettingValue {
    /// The value, as a variable would hold it; `None` if its separate file was not read yet, or cannot be.
    pub text: Option<String>,
    /// Where it was set.
    pub place: ValueSource,
    /// The path of the separate file with the value, if it was set by such a path.
    pub own_file: Option<PathBuf>,
}

impl SettingValue {
    /// Returns the name by which the setting was set: the file, line and key, the variable, or the flag.
    pub fn name(&self, setting: &Setting) -> String {
        let suffix = if self.own_file.is_some() { "_file" } else { "" };
        match &self.place {
            ValueSource::File(path, line) => format!("{}:{line}: {}{suffix}", path.display(), setting.key),
            ValueSource::Variable => setting.variable() + &suffix.to_ascii_uppercase(),
            ValueSource::Flag => setting.flag.map_or_else(|| setting.variable(), |(flag, _)| flag.to_owned()),
        }
    }
}

/// A problem with a configuration.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The keys of the settings whose values are uncertain because of it.
    pub keys: Vec<&'static str>,
    /// The problem, in words for an operator.
    pub text: String,
}

/// All values that were set. Of several for one setting, the one added last wins.
pub struct Values {
    pub(crate) given: BTreeMap<&'static str, SettingValue>,
    read_secret: fn(&Path) -> io::Result<String>,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// Whether there is a file that could not be read or parsed.
    pub(crate) is_file_unreadable: bool,
    /// The problems, each of which makes the configuration invalid.
    pub problems: Vec<Problem>,
    /// What is valid but most likely a mistake.
    pub warnings: Vec<String>,
}

impl Values {
    /// Creates an empty set of values. The function reads the separate files of secrets.
    pub fn new(read_secret: fn(&Path) -> io::Result<String>) -> Self {
        let (given, problems, warnings) = Default::default();
        Self { given, read_secret, file: None, is_file_unreadable: false, problems, warnings }
    }

    /// Adds a problem with these settings.
    pub(crate) fn add_problem(&mut self, settings: &[&'static Setting], text: impl Into<String>) {
        self.problems.push(Problem { keys: settings.iter().map(|setting| setting.key).collect(), text: text.into() });
    }

    /// Adds a value, or the path of the separate file that holds it. An empty value counts as not set.
    pub(crate) fn take(&mut self, setting: &'static Setting, is_path: bool, text: &str, place: ValueSource) {
        let text = setting.trim(text);
        if text.trim().is_empty() {
            return;
        }
        let own_file = is_path.then(|| PathBuf::from(text.trim()));
        let text = own_file.is_none().then(|| text.to_owned());
        let given = SettingValue { text, place, own_file };
        let name = given.name(setting);
        if let Some(other) =
            self.given(setting).filter(|other| discriminant(&other.place) == discriminant(&given.place))
        {
            let other = other.name(setting);
            return self.add_problem(&[setting], format!("{name} and {other} are both set: remove one of them"));
        }
        self.given.insert(setting.key, given);
    }

    /// Reads the separate files of the values of these settings that no later source has replaced.
    pub(crate) fn read_own_files(&mut self, settings: &[&'static Setting]) {
        for setting in settings.iter().copied() {
            let Some(path) = self.given(setting).and_then(|given| given.own_file.clone()) else { continue };
            // Files with secrets often end with a line break.
            let text = (self.read_secret)(&path).map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
            let problem = match &text {
                Ok(text) if !text.trim().is_empty() => None,
                Ok(_) => Some(format!("{} is empty", path.display())),
                Err(error) => Some(format!("cannot read {}: {error}", path.display())),
            };
            if let Some(problem) = problem {
                self.add_problem(&[setting], format!("{}: {problem}", self.name(setting)));
            } else if let Some(given) = self.given.get_mut(setting.key) {
                given.text = text.ok().map(|text| setting.trim(&text).to_owned());
            }
        }
    }

    /// Returns the value that was set for a setting.
    pub fn given(&self, setting: &Setting) -> Option<&SettingValue> {
        self.given.get(setting.key)
    }

    /// Returns the value of a setting: the one that was set, if it can be read, or else the default.
    pub(crate) fn text(&self, setting: &Setting) -> Option<String> {
        self.given(setting).and_then(|given| given.text.clone()).or_else(|| setting.default_value())
    }

    /// Parses the value of a setting. If it is invalid, adds a problem and returns the default instead.
    pub(crate) fn read<T: Default + From<P>, P>(
        &mut self,
        setting: &'static Setting,
        parse: impl Fn(&str) -> Parsed<P>,
    ) -> T {
        let parsed = self.text(setting).and_then(|text| match parse(&text) {
            Ok(value) => Some(value),
            Err(what) => {
                let name = self.name(setting);
                self.add_problem(&[setting], name + &what);
                parse(&setting.default_value()?).ok()
            }
        });
        parsed.map(T::from).unwrap_or_default()
    }

    /// Returns the name by which the setting was set, or its variable if it was not set.
    pub(crate) fn name(&self, setting: &Setting) -> String {
        self.given(setting).map_or_else(|| setting.variable(), |given| given.name(setting))
    }

    /// Returns the same name, with the default value if the setting was not set.
    pub(crate) fn name_with_default(&self, setting: &Setting) -> String {
        match (self.given(setting), setting.default_value()) {
            (None, Some(default)) => format!("{} (by default {default})", setting.variable()),
            _ => self.name(setting),
        }
    }
}
