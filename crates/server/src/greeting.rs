//! The text that the service prints once it has started.

use std::env;

use agora_config::{Config, Loaded, SETTINGS, ValueSource, shown_url};

use crate::app::App;

/// Returns the text: where the service listens, where its data are and, while no account has ADMIN, how to create one.
pub(crate) fn greeting(app: &App, loaded: &Loaded, config: &Config) -> String {
    let mut text = format!(
        "Agora {} listens on http://{}\nData directory: {}",
        env!("CARGO_PKG_VERSION"),
        app.address,
        app.data_dir.display()
    );
    let pages = [("/app/ for people", config.app), ("/console/ for administrators", config.console)];
    let pages: Vec<_> = pages.into_iter().filter(|(_, is_there)| *is_there).map(|(page, _)| page).collect();
    text += &format!("\nPages: {}", [&pages[..], &["/docs/ for developers"]].concat().join(", "));
    if let Some(address) = &app.metrics_address {
        text += &format!("\nMetrics: http://{address}/metrics");
    }
    if let Some(file) = &config.config {
        text += &format!("\nConfiguration: {}", file.display());
    }
    if let Some(url) = &config.database_url {
        text += &format!("\nDatabase: {}", shown_url(url.expose()));
    }
    if let Some(url) = &config.database_read_url {
        text += &format!("\nReplica for lists: {}", shown_url(url.expose()));
    }
    if let Some(url) = &config.media_url {
        text += &format!("\nImages: {}", shown_url(url));
    }
    if config.public_url.is_some() || app.address.ip().is_unspecified() {
        text += &format!("\nPublic address: {}", app.public_url);
    }
    if !app.has_admin {
        text += &format!("\nNo account has ADMIN yet. To create one: {}", create_admin_command(app, config));
        if let Some(given) = loaded.values.given(&SETTINGS.database_url).filter(|it| it.place == ValueSource::Variable)
        {
            let variable = given.name(&SETTINGS.database_url);
            text += &format!("\nIt needs the {variable} of this service; without it, it uses another database.");
        }
    }
    text
}

/// Returns the shell command that creates an administrator of this service. It works in any working directory.
fn create_admin_command(app: &App, config: &Config) -> String {
    let program = env::args().next().unwrap_or_else(|| "agora".to_owned());
    let file = config.config.as_ref().map(|file| format!("--config {} ", shell_word(&file.to_string_lossy())));
    format!(
        "{} {}--data-dir {} admin create --username NAME --email ADDRESS",
        shell_word(&program),
        file.unwrap_or_default(),
        shell_word(&app.data_dir.to_string_lossy())
    )
}

/// Quotes a text as one word of a shell command, if necessary.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_a_shell_would_split_or_expand_is_quoted() {
        assert_eq!(shell_word("/srv/agora-1.0/data"), "/srv/agora-1.0/data");
        assert_eq!(shell_word("/home/ann's data"), r"'/home/ann'\''s data'");
        assert_eq!(shell_word("$HOME"), "'$HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
