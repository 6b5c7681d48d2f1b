//! Loads the configuration when the program starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use thiserror::Error;

use crate::setting::{PREFIX, Setting, find};
use crate::settings::{ALL, Config, SETTINGS};
use crate::values::{ValueSource, Values};

/// The file in the working directory that is read if no other is named.
const DEFAULT_FILE: &str = "agora.toml";

/// The most bytes of the file of a secret.
const MAX_SECRET_FILE_BYTES: u64 = 64 * 1024;

/// The values that flags of the command line set.
#[derive(Debug, Clone, Default)]
pub struct Flags(pub(crate) Vec<(&'static Setting, String)>);

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |setting: &&'static Setting| Some((*setting, matches.get_one::<String>(setting.key)?.clone()));
        Ok(Self(ALL.iter().filter(|setting| setting.flag.is_some()).filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Flags {
    fn augment_args(command: Command) -> Command {
        command.args(ALL.iter().filter_map(|setting| {
            let (flag, value) = setting.flag?;
            let flag = flag.trim_start_matches("--");
            let flag = Arg::new(setting.key).long(flag).value_name(value).help(help(setting));
            Some(flag.global(true).help_heading("Settings"))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Returns the help text of a flag: the first sentence of the documentation, the variable, and the default.
fn help(setting: &Setting) -> String {
    let (first, _) = setting.documentation.split_once(". ").unwrap_or((setting.documentation, ""));
    let text = format!("{first} [{}; {}]", setting.variable(), setting.default_in_words()).replace('`', "");
    let (initial, rest) = text.split_at(1);
    initial.to_ascii_uppercase() + rest
}

/// What a configuration is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The service, and commands that work on its data.
    Service,
    /// A command about administrators, whose flags and standard input complete the settings of the administrator.
    Administration,
}

/// An invalid configuration or command line, with a line for each problem.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Invalid(pub String);

/// A configuration that was read, valid or not.
pub struct Loaded {
    /// The values that were set, and the problems with them.
    pub values: Values,
    /// The configuration, with defaults in place of invalid values.
    pub best_guess: Config,
}

impl Loaded {
    /// Reads the separate files of values, then parses and checks all values.
    pub fn new(mut values: Values, purpose: Purpose) -> Self {
        values.read_own_files(ALL);
        let mut config = Config::read(&mut values);
        config.check(&mut values);
        if purpose == Purpose::Service {
            config.check_admin(&mut values);
        }
        // The file that was read, also if it is the default one.
        config.config = values.file.as_ref().and_then(|path| std::path::absolute(path).ok());
        Self { values, best_guess: config }
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// [`Invalid`], with all problems, if there are any.
    pub fn config(&self) -> Result<&Config, Invalid> {
        let problems: Vec<&str> = self.values.problems.iter().map(|problem| problem.text.as_str()).collect();
        if problems.is_empty() { Ok(&self.best_guess) } else { Err(Invalid(problems.join("\n"))) }
    }

    /// Returns a text about the sources of the configuration, such as "2 settings from /srv/agora.toml, 1 variable".
    pub fn summary(&self) -> String {
        let several = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let count = |is: fn(&ValueSource) -> bool| self.values.given.values().filter(|given| is(&given.place)).count();
        let in_file = several(count(|place| matches!(place, ValueSource::File(..))), "setting");
        let file = self.best_guess.config.as_ref().map(|file| format!("{in_file} from {}", file.display()));
        let variables = (count(|place| *place == ValueSource::Variable), "variable");
        let flags = (count(|place| *place == ValueSource::Flag), "flag");
        let others = [variables, flags].into_iter().filter(|(count, _)| *count > 0);
        let all: Vec<String> = file.into_iter().chain(others.map(|(count, one)| several(count, one))).collect();
        if all.is_empty() { "only defaults".to_owned() } else { all.join(", ") }
    }

    /// Returns whether the value of a setting is known: no problem concerns it, and no unreadable file could have set it.
    pub fn is_certain(&self, setting: &Setting) -> bool {
        let given = self.values.given(setting);
        let is_set_outside_file = given.is_some_and(|given| !matches!(given.place, ValueSource::File(..)));
        let is_in_doubt = self.values.problems.iter().any(|problem| problem.keys.contains(&setting.key));
        !is_in_doubt && (is_set_outside_file || !self.values.is_file_unreadable)
    }
}

impl Config {
    /// Reads the configuration from variables alone, such as those of the environment. An empty one counts as not set.
    ///
    /// # Errors
    /// [`Invalid`], with the variable of each problem and what its value must be.
    pub fn from_variables(variables: impl Fn(&str) -> Option<String>) -> Result<Self, Invalid> {
        let names = ALL.iter().map(|setting| setting.variable()).flat_map(|name| [format!("{name}_FILE"), name]);
        let mut values = Values::new(read_secret);
        values.take_variables(names.filter_map(|name| variables(&name).map(|value| (name, value))));
        Loaded::new(values, Purpose::Service).config().cloned()
    }
}

impl Values {
    /// Adds the values of environment variables. Names that do not begin with [`PREFIX`] are ignored.
    pub fn take_variables(&mut self, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, text) in variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)) {
            match find(ALL, &name, "_FILE", Setting::variable) {
                Ok((setting, is_path)) => self.take(setting, is_path, &text, ValueSource::Variable),
                Err(meant) => {
                    let meant = meant.map(|(_, meant)| format!(": did you mean {meant}?")).unwrap_or_default();
                    self.warnings.push(format!("{name} is set, but there is no such setting{meant}"));
                }
            }
        }
    }

    /// Adds the values of flags.
    pub fn take_flags(&mut self, flags: &Flags) {
        flags.0.iter().for_each(|(setting, text)| self.take(setting, false, text, ValueSource::Flag));
    }
}

/// Reads the configuration of this process from its file, its environment and its flags.
pub fn load(flags: &Flags, purpose: Purpose) -> Loaded {
    let mut values = Values::new(read_secret);
    let mut variables = BTreeMap::new();
    for (name, value) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        match value.into_string() {
            Ok(value) => drop(variables.insert(name.to_owned(), value)),
            Err(_) => {
                let of: Vec<_> = ALL.iter().copied().filter(|setting| name.starts_with(&setting.variable())).collect();
                values.add_problem(&of, format!("{name} must be valid Unicode"));
            }
        }
    }
    if let Some(path) = file(flags, &variables) {
        match fs::read_to_string(&path) {
            Ok(text) => values.take_file(&path, &text),
            Err(error) => {
                values.add_problem(&[], format!("cannot read the configuration file {}: {error}", path.display()));
                values.is_file_unreadable = true;
            }
        }
    }
    values.take_variables(variables);
    values.take_flags(flags);
    Loaded::new(values, purpose)
}

/// Returns the file to read: the one that a flag or variable names, or else [`DEFAULT_FILE`] if it exists.
fn file(flags: &Flags, variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    let flag = flags.0.iter().find(|(setting, _)| setting.key == SETTINGS.config.key).map(|(_, path)| path);
    let named = flag.or_else(|| variables.get(&SETTINGS.config.variable()));
    let named = named.filter(|path| !path.trim().is_empty()).map(PathBuf::from);
    named.or_else(|| Path::new(DEFAULT_FILE).exists().then(|| PathBuf::from(DEFAULT_FILE)))
}

/// Reads the separate file of a secret.
fn read_secret(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_SECRET_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_SECRET_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too large for a secret"));
    }
    Ok(text)
}
