//! The values that were given, and where; and what is wrong with them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::parse::Parsed;
use crate::setting::Setting;

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

/// A value that was given.
#[derive(Clone)]
pub struct SettingValue {
    /// The value, as a variable would hold it; nothing when the file of its own cannot be read.
    pub text: Option<String>,
    /// Where it was given.
    pub place: ValueSource,
    /// The file of its own in which the value stands.
    pub own_file: Option<PathBuf>,
}

impl SettingValue {
    /// Returns the setting as who gave it knows it: with the line of the file, by the variable, or by the flag.
    pub fn name(&self, setting: &Setting) -> String {
        let suffix = if self.own_file.is_some() { "_file" } else { "" };
        match &self.place {
            ValueSource::File(path, line) => format!("{}:{line}: {}{suffix}", path.display(), setting.key),
            ValueSource::Variable => setting.variable() + &suffix.to_ascii_uppercase(),
            ValueSource::Flag => setting.flag.map_or_else(|| setting.variable(), |(flag, _)| flag.to_owned()),
        }
    }
}

impl fmt::Debug for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingValue").field("place", &self.place).finish_non_exhaustive()
    }
}

/// What is wrong with a configuration.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The keys of the settings that it leaves in doubt.
    pub of: Vec<&'static str>,
    /// The problem, in words for an operator.
    pub text: String,
}

/// Every value that was given.
#[derive(Default)]
pub struct Values {
    given: BTreeMap<&'static str, SettingValue>,
    /// Whether there is a file of which nothing could be read.
    pub(crate) is_file_unreadable: bool,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
    /// What is not wrong, but hardly meant.
    pub warnings: Vec<String>,
}

impl Values {
    /// Takes note of what settings must be.
    pub(crate) fn refuse(&mut self, settings: &[&'static Setting], text: impl Into<String>) {
        self.problems.push(Problem { of: settings.iter().map(|setting| setting.key).collect(), text: text.into() });
    }

    /// Takes a value, or the path of the file that holds it, in place of what an earlier source gave. An empty value
    /// counts as not given.
    pub(crate) fn take(
        &mut self,
        setting: &'static Setting,
        text: &str,
        place: ValueSource,
        own_file: Option<&dyn Fn(&Path) -> std::io::Result<String>>,
    ) {
        let text = setting.trim(text);
        if text.trim().is_empty() {
            return;
        }
        let path = own_file.map(|_| PathBuf::from(text.trim()));
        let mut given = SettingValue { text: Some(text.to_owned()), place, own_file: path };
        let name = given.name(setting);
        let is_of_same_source =
            |other: &&SettingValue| std::mem::discriminant(&other.place) == std::mem::discriminant(&given.place);
        if let Some(other) = self.given(setting).filter(is_of_same_source) {
            let other = other.name(setting);
            return self.refuse(&[setting], format!("{name} and {other} are both set: one of them is too many"));
        }
        if let (Some(read), Some(path)) = (own_file, &given.own_file) {
            let shown = path.display();
            let (text, problem) = match read(path) {
                // Files that hold secrets often end with a line's end.
                Ok(text) if !text.trim().is_empty() => {
                    (Some(setting.trim(text.trim_end_matches(['\r', '\n'])).to_owned()), None)
                }
                Ok(_) => (None, Some(format!("{name}: {shown} is empty"))),
                Err(error) => (None, Some(format!("{name}: cannot read {shown}: {error}"))),
            };
            given.text = text;
            problem.into_iter().for_each(|problem| self.refuse(&[setting], problem));
        }
        self.given.insert(setting.key, given);
    }

    /// Returns what was given for a setting.
    pub fn given(&self, setting: &Setting) -> Option<&SettingValue> {
        self.given.get(setting.key)
    }

    /// Returns the value given for a setting, or its default, where it is known.
    pub(crate) fn text(&self, setting: &Setting) -> Option<String> {
        self.given(setting).and_then(|given| given.text.clone()).or_else(|| setting.default_value())
    }

    /// Returns what the value of a setting means. Where that is nothing, it is among the problems, and the default
    /// stands in for it.
    pub(crate) fn read<T: Default + From<P>, P>(
        &mut self,
        setting: &'static Setting,
        parse: impl Fn(&str) -> Parsed<P>,
    ) -> T {
        let parsed = self.text(setting).and_then(|text| match parse(&text) {
            Ok(value) => Some(value),
            Err(what) => {
                let name = self.name(setting);
                self.refuse(&[setting], name + &what);
                parse(&setting.default_value()?).ok()
            }
        });
        parsed.map(T::from).unwrap_or_default()
    }

    /// Returns how many settings were given by each of the sources: the file, variables, flags.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let count = |is: fn(&ValueSource) -> bool| self.given.values().filter(|given| is(&given.place)).count();
        [
            count(|place| matches!(place, ValueSource::File(..))),
            count(|place| *place == ValueSource::Variable),
            count(|place| *place == ValueSource::Flag),
        ]
    }

    /// Returns the setting as who gave it knows it.
    pub(crate) fn name(&self, setting: &Setting) -> String {
        self.given(setting).map_or_else(|| setting.variable(), |given| given.name(setting))
    }

    /// The same, with the value that holds when nobody gave one.
    pub(crate) fn name_with_default(&self, setting: &Setting) -> String {
        match (self.given(setting), setting.default_value()) {
            (None, Some(default)) => format!("{} (by default {default})", setting.variable()),
            _ => self.name(setting),
        }
    }
}
