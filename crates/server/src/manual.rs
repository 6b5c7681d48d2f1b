//! The manual pages and the shell completions.

use std::path::Path;

use agora_config::ALL;
use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

/// Returns the completion script for the shell.
pub(crate) fn completions(mut command: Command, shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "agora", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Returns the manual page of the command, with its settings.
pub(crate) fn page(command: Command) -> Result<String> {
    let mut page = Vec::new();
    Man::new(command.disable_help_subcommand(true)).manual("Agora").render(&mut page)?;
    settings().to_writer(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Writes that page and one for each subcommand into the directory; returns a text for the operator.
pub(crate) fn pages(command: Command, directory: &Path) -> Result<String> {
    let written = clap_mangen::generate_to(command.clone().disable_help_subcommand(true), directory);
    written
        .and_then(|()| std::fs::write(directory.join("agora.1"), page(command).map_err(std::io::Error::other)?))
        .with_context(|| format!("cannot write into {}", directory.display()))?;
    Ok(format!("Wrote agora.1 and a page for each command into {}.", directory.display()))
}

fn settings() -> Roff {
    let mut section = Roff::default();
    section.control("SH", ["ENVIRONMENT"]);
    section.text([roman(
        "Each setting is a variable, and a key of the file: its name in lower case without AGORA_. Times are in seconds, \
         or such as 90s, 15m, 1h or 7d. An empty value counts as not set.",
    )]);
    for setting in ALL {
        section.control("TP", []);
        let variable = setting.variable();
        let names = if setting.may_be_in_own_file() { format!("{variable}, {variable}_FILE") } else { variable };
        section.text([bold(names)]);
        let text = format!("{}. Default: {}.", setting.documentation, setting.default_in_words());
        // Without the backticks of Markdown.
        section.text([roman(text.replace('`', ""))]);
    }
    section
}
