//! The values that were given, and where; and what is wrong with them.

use std::collections::BTreeMap;
use std::io;
use std::mem::discriminant;
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

/// What is wrong with a configuration.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The keys of the settings that it leaves in doubt.
    pub of: Vec<&'static str>,
    /// The problem, in words for an operator.
    pub text: String,
}

/// Every value that was given. What is taken later wins.
pub struct Values {
    pub(crate) given: BTreeMap<&'static str, SettingValue>,
    read_secret: fn(&Path) -> io::Result<String>,
    /// The file that was read.
    pub(crate) file: Option<PathBuf>,
    /// Whether there is a file of which nothing could be read.
    pub(crate) is_file_unreadable: bool,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
    /// What is not wrong, but hardly meant.
    pub warnings: Vec<String>,
}

impl Values {
    /// None. The function reads the files of secrets.
    pub fn new(read_secret: fn(&Path) -> io::Result<String>) -> Self {
        let (given, problems, warnings) = Default::default();
        Self { given, read_secret, file: None, is_file_unreadable: false, problems, warnings }
    }

    /// Takes note of what settings must be.
    pub(crate) fn refuse(&mut self, settings: &[&'static Setting], text: impl Into<String>) {
        self.problems.push(Problem { of: settings.iter().map(|setting| setting.key).collect(), text: text.into() });
    }

    /// Takes a value, or the path of the file that holds it. An empty value counts as not given.
    pub(crate) fn take(&mut self, setting: &'static Setting, is_path: bool, text: &str, place: ValueSource) {
        let text = setting.trim(text);
        if text.trim().is_empty() {
            return;
        }
        let own_file = is_path.then(|| PathBuf::from(text.trim()));
        let mut given = SettingValue { text: Some(text.to_owned()), place, own_file };
        let name = given.name(setting);
        if let Some(other) =
            self.given(setting).filter(|other| discriminant(&other.place) == discriminant(&given.place))
        {
            let other = other.name(setting);
            return self.refuse(&[setting], format!("{name} and {other} are both set: one of them is too many"));
        }
        if let Some(path) = &given.own_file {
            // Files that hold secrets often end with a line's end.
            let text = (self.read_secret)(path).map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
            let problem = match &text {
                Ok(text) if !text.trim().is_empty() => None,
                Ok(_) => Some(format!("{name}: {} is empty", path.display())),
                Err(error) => Some(format!("{name}: cannot read {}: {error}", path.display())),
            };
            given.text = text.ok().filter(|_| problem.is_none()).map(|text| setting.trim(&text).to_owned());
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
