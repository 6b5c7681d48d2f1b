//! The flags of the command line.

use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::setting::Setting;
use crate::settings::ALL;

/// What the command line sets: a flag for each setting that has one.
#[derive(Debug, Clone, Default)]
pub struct Flags(pub(crate) Vec<(&'static Setting, String)>);

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |setting: &&'static Setting| Some((*setting, matches.get_one::<String>(setting.key)?.clone()));
        Ok(Self(ALL.iter().filter(|setting| setting.flag.is_some()).filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
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

/// Returns the first sentence of the documentation, and what else sets it.
fn help(setting: &Setting) -> String {
    let (first, _) = setting.documentation.split_once(". ").unwrap_or((setting.documentation, ""));
    let text = format!("{first} [{}; {}]", setting.variable(), setting.default_in_words()).replace('`', "");
    let (initial, rest) = text.split_at(1);
    initial.to_ascii_uppercase() + rest
}
