//! Where a program that starts finds its configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::Args;

use super::entry::Problem;
use super::table::{PREFIX, Setting};
use super::values::{Sources, read_secret};
use super::{Loaded, Purpose, table};

/// The file that is read when no other is named.
const FILE: &str = "agora.toml";

/// What the command line sets.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Flags {
    /// The configuration file [AGORA_CONFIG; agora.toml, if there is one]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<String>,
    /// The address and port to listen on [AGORA_LISTEN; 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", global = true)]
    listen: Option<String>,
    /// Where data is kept [AGORA_DATA_DIR; ./data]
    #[arg(long, value_name = "DIRECTORY", global = true)]
    data_dir: Option<String>,
    /// What is logged, such as warn or info,agora_http=debug [AGORA_LOG]
    #[arg(long, value_name = "FILTER", global = true)]
    log: Option<String>,
}

impl Flags {
    fn values(&self) -> Vec<(&'static str, String)> {
        let all: [(&Setting, &Option<String>); 4] = [
            (&table::CONFIG, &self.config),
            (&table::LISTEN, &self.listen),
            (&table::DATA_DIR, &self.data_dir),
            (&table::LOG, &self.log),
        ];
        all.into_iter().filter_map(|(setting, value)| Some((setting.flag()?, value.clone()?))).collect()
    }
}

/// Reads the configuration of this process: its file, its environment, its flags.
pub(crate) fn load(flags: &Flags, purpose: Purpose) -> Loaded {
    let (variables, mut problems) = variables();
    let path = file(flags, &variables);
    let text = path.as_ref().map(|path| (path, fs::read_to_string(path)));
    let file = match &text {
        Some((path, Ok(text))) => Some((path.as_path(), text.as_str())),
        Some((path, Err(error))) => {
            let text = format!("cannot read the configuration file {}: {error}", path.display());
            problems.push(Problem { of: Vec::new(), is_of_whole_file: true, text });
            None
        }
        None => None,
    };
    let mut loaded = Loaded::read(&Sources { file, variables, flags: flags.values(), read: &read_secret }, purpose);
    problems.append(&mut loaded.problems);
    loaded.problems = problems;
    loaded
}

/// Returns the variables of the environment that begin like ours.
fn variables() -> (BTreeMap<String, String>, Vec<Problem>) {
    let (mut variables, mut problems) = (BTreeMap::new(), Vec::new());
    for (name, value) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        match value.into_string() {
            Ok(value) => {
                variables.insert(name.to_owned(), value);
            }
            Err(_) => {
                let of = table::ALL.iter().filter(|setting| name.starts_with(setting.variable));
                let of = of.map(|setting| setting.variable).collect();
                let text = format!("{name} must be valid Unicode");
                problems.push(Problem { of, is_of_whole_file: false, text });
            }
        }
    }
    (variables, problems)
}

/// Returns the file to read: the one that is named, or else the one in the working directory, if it is there.
fn file(flags: &Flags, variables: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = flags.config.as_ref().or_else(|| variables.get(table::CONFIG.variable));
    let named = named.filter(|path| !path.trim().is_empty()).map(PathBuf::from);
    named.or_else(|| Path::new(FILE).exists().then(|| PathBuf::from(FILE)))
}
