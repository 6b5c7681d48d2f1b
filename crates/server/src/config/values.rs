//! The values that were given, and where: in the file, by variables, by flags.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::entry::{Entry, Problem, ValueSource};
use super::table::{Kind, PREFIX, Setting};
use super::{file, table};

/// Where a configuration is read from. What comes later here wins.
pub struct Sources<'a> {
    /// The file: its name, for messages, and its text.
    pub file: Option<(&'a Path, &'a str)>,
    /// The environment: names that do not begin with [`PREFIX`] do not count.
    pub variables: BTreeMap<String, String>,
    /// Flags of the command line, and their values.
    pub flags: Vec<(&'static str, String)>,
    /// Reads the file of a secret.
    pub read: &'a dyn Fn(&Path) -> io::Result<String>,
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

/// Every value that was given.
#[derive(Default)]
pub struct Values {
    given: BTreeMap<&'static str, SettingValue>,
    /// What is wrong with how they were given.
    pub(super) problems: Vec<Problem>,
    /// Variables that begin like ours and are none, in words.
    pub(super) warnings: Vec<String>,
}

/// More than any secret has.
const LONGEST_SECRET: u64 = 64 * 1024;

/// Reads the file of a secret.
///
/// # Errors
/// Those of the system; and when it is too long to be one.
pub(super) fn read_secret(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST_SECRET + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_SECRET {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long for a secret"));
    }
    Ok(text)
}

impl Values {
    /// Reads what was given.
    pub(super) fn read(sources: &Sources<'_>) -> Self {
        let mut values = Self::default();
        if let Some((path, text)) = sources.file {
            let (entries, problems) = file::parse(path, text);
            values.problems.extend(problems);
            values.take(entries, sources);
        }
        let variables = sources.variables.iter().filter(|(name, _)| name.starts_with(PREFIX));
        let mut entries = Vec::new();
        for (name, text) in variables {
            let own = table::ALL.iter().find_map(|setting| match name.strip_prefix(setting.variable)? {
                "" => Some((setting, false)),
                "_FILE" if setting.may_be_in_own_file() => Some((setting, true)),
                _ => None,
            });
            match own {
                Some((setting, is_path)) => {
                    entries.push(Entry { setting, is_path, text: text.clone(), place: ValueSource::Variable });
                }
                None => values.warnings.push(unknown(name)),
            }
        }
        values.take(entries, sources);
        let flags = sources.flags.iter().filter_map(|(flag, text)| {
            let setting = table::ALL.iter().find(|setting| setting.flag() == Some(flag))?;
            Some(Entry { setting, is_path: false, text: text.clone(), place: ValueSource::Flag })
        });
        values.take(flags.collect(), sources);
        values
    }

    /// Takes what one source gives, in place of what was given before. An empty value counts as not given.
    fn take(&mut self, entries: Vec<Entry>, sources: &Sources<'_>) {
        let mut taken: BTreeMap<&str, SettingValue> = BTreeMap::new();
        for Entry { setting, is_path, text, place } in entries {
            if text.trim().is_empty() {
                continue;
            }
            let text = without_white_space(setting, text);
            let own_file = is_path.then(|| PathBuf::from(text.trim()));
            let given = SettingValue { text: Some(text), place, own_file };
            if let Some(other) = taken.get(setting.variable) {
                let (one, other) = (given.name(setting), other.name(setting));
                self.refuse(setting, format!("{one} and {other} are both set: one of them is too many"));
            }
            taken.insert(setting.variable, given);
        }
        for (variable, mut given) in taken {
            let Some(setting) = table::ALL.iter().find(|setting| setting.variable == variable) else { continue };
            if let Some(path) = &given.own_file {
                let (name, shown) = (given.name(setting), path.display());
                // Files that hold secrets often end with a line's end.
                let text = (sources.read)(path).map(|text| text.trim_end_matches(['\r', '\n']).to_owned());
                let (text, problem) = match text {
                    Ok(text) if !text.trim().is_empty() => (Some(without_white_space(setting, text)), None),
                    Ok(_) => (None, Some(format!("{name}: {shown} is empty"))),
                    Err(error) => (None, Some(format!("{name}: cannot read {shown}: {error}"))),
                };
                given.text = text;
                if let Some(problem) = problem {
                    self.refuse(setting, problem);
                }
            }
            self.given.insert(setting.variable, given);
        }
    }

    fn refuse(&mut self, setting: &Setting, text: String) {
        self.problems.push(Problem { of: vec![setting.variable], is_of_whole_file: false, text });
    }

    /// Returns what was given for a setting.
    pub fn given(&self, setting: &Setting) -> Option<&SettingValue> {
        self.given.get(setting.variable)
    }

    /// Returns the value given for a setting, where it is known.
    pub fn text(&self, setting: &Setting) -> Option<&str> {
        self.given(setting)?.text.as_deref()
    }

    /// Returns the value given for a setting, or its default.
    pub(super) fn effective(&self, setting: &Setting) -> Option<String> {
        self.text(setting).map(str::to_owned).or_else(|| setting.default_value())
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
    pub(super) fn name(&self, setting: &Setting) -> String {
        self.given(setting).map_or_else(|| setting.variable.to_owned(), |given| given.name(setting))
    }

    /// The same, with the value that holds when nobody gave one.
    pub(super) fn name_with_default(&self, setting: &Setting) -> String {
        match (self.given(setting), setting.default_value()) {
            (None, Some(default)) => format!("{} (by default {default})", setting.variable),
            _ => self.name(setting),
        }
    }
}

/// Returns a value without the white space around it, which a password alone may mean.
fn without_white_space(setting: &Setting, text: String) -> String {
    if matches!(setting.kind, Kind::Secret) { text } else { text.trim().to_owned() }
}

impl SettingValue {
    /// Returns the setting as who gave it knows it: with the line of the file, by the variable, or by the flag.
    pub fn name(&self, setting: &Setting) -> String {
        let own_file = self.own_file.is_some();
        match &self.place {
            ValueSource::File(path, line) => {
                format!("{}:{line}: {}{}", path.display(), setting.key(), if own_file { "_file" } else { "" })
            }
            ValueSource::Variable => format!("{}{}", setting.variable, if own_file { "_FILE" } else { "" }),
            ValueSource::Flag => setting.flag().unwrap_or(setting.variable).to_owned(),
        }
    }
}

impl fmt::Debug for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingValue").field("place", &self.place).finish_non_exhaustive()
    }
}

fn unknown(name: &str) -> String {
    let meant = table::nearest(name, |setting| Some(setting.variable.to_owned()));
    let meant = meant.map(|(_, meant)| format!(": is {meant} meant?")).unwrap_or_default();
    format!("{name} is set, but there is no such setting{meant}")
}
