//! The settings in effect, without secrets, also in the form of a configuration file.

use std::path::{Path, PathBuf};

use url::Url;

use crate::setting::{DefaultValue, Form, Setting};
use crate::settings::ALL;
use crate::values::{SettingValue, ValueSource, Values};

/// A setting and its value in effect, without secrets.
#[derive(Debug, Clone)]
pub struct EffectiveSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// The part of its value that may be shown.
    pub value: ShownValue,
    /// The file and line, variable or flag that set it; `None` for a default.
    pub source: Option<String>,
}

/// The part of the value of a setting that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownValue {
    /// The setting has no value.
    Unset,
    /// The whole value.
    Whole(String),
    /// A URL, without the password in it.
    WithoutPassword(String),
    /// Nothing, since the value is secret.
    Secret,
    /// The path of the separate file with the value, but not its content.
    InFile(PathBuf),
}

/// Returns the settings that may be set in the file, in the order of their declaration, with their values in effect.
pub fn effective(values: &Values) -> impl Iterator<Item = EffectiveSetting> {
    ALL.iter().copied().filter(|setting| setting.in_file).map(|setting| match values.given(setting) {
        Some(given) => EffectiveSetting { setting, value: shown(setting, given), source: Some(source(setting, given)) },
        None => {
            let value = setting.default_value().map_or(ShownValue::Unset, ShownValue::Whole);
            EffectiveSetting { setting, value, source: None }
        }
    })
}

fn shown(setting: &Setting, given: &SettingValue) -> ShownValue {
    if let Some(path) = &given.own_file {
        return ShownValue::InFile(path.clone());
    }
    let text = given.text.clone().unwrap_or_default();
    let (text, is_secret) = match setting.form {
        Form::Secret => (String::new(), true),
        Form::SecretUrl => without_password(&text),
        // Such a setting should have no password, but one that is there must not be shown either.
        Form::Text if text.contains("://") => without_password(&text),
        _ => (text, false),
    };
    match (is_secret, text.is_empty()) {
        (false, _) => ShownValue::Whole(text),
        (true, true) => ShownValue::Secret,
        (true, false) => ShownValue::WithoutPassword(text),
    }
}

fn source(setting: &Setting, given: &SettingValue) -> String {
    match &given.place {
        ValueSource::File(path, line) => format!("{}:{line}", path.display()),
        ValueSource::Variable | ValueSource::Flag => given.name(setting),
    }
}

/// Returns every setting with its value and source, in the form of a configuration file. Secrets are left out. `file` is the
/// configuration file that was read, if any.
pub fn show(values: &Values, file: Option<&Path>) -> String {
    let file = file.map_or_else(|| "No file was read".to_owned(), |file| format!("The file is {}", file.display()));
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("# The effective configuration of Agora {version}. {file}. Secrets are left out.\n");
    let mut group = "";
    for EffectiveSetting { setting, value, source } in effective(values) {
        if group != setting.group {
            group = setting.group;
            text += &format!("\n# {group}\n");
        }
        text += &source.map_or_else(|| default(setting), |source| line(setting, value, &source));
        text.push('\n');
    }
    text
}

fn default(setting: &Setting) -> String {
    let (key, words) = (setting.key, setting.default_in_words());
    let value = || value_of(setting.form, &setting.default_value().unwrap_or_default());
    match setting.default {
        DefaultValue::Unset("none") => format!("# {key} is not set"),
        DefaultValue::Unset(_) => format!("# {key} is not set: {}", words.replace('`', "")),
        DefaultValue::Computed(..) => format!("{key} = {}  # default: {words}", value()),
        DefaultValue::Fixed(_) => format!("{key} = {}  # default", value()),
    }
}

fn line(setting: &Setting, value: ShownValue, source: &str) -> String {
    let key = setting.key;
    match value {
        ShownValue::Whole(text) => format!("{key} = {}  # {source}", value_of(setting.form, &text)),
        ShownValue::InFile(path) => format!("{key}_file = {}  # {source}", quoted(&path.to_string_lossy())),
        ShownValue::WithoutPassword(url) => format!("# {key} is set; its password is not shown: {url}  # {source}"),
        ShownValue::Secret | ShownValue::Unset => format!("# {key} is set, but not shown  # {source}"),
    }
}

/// Returns a URL without secrets, to be shown.
pub fn shown_url(url: &str) -> String {
    let (shown, _) = without_password(url);
    if shown.is_empty() { "not shown".to_owned() } else { shown }
}

/// Returns a URL without secrets, and whether it had any. That of a database on several servers is returned as one URL each.
fn without_password(text: &str) -> (String, bool) {
    let each = agora_database::url_of_each_server(text).into_iter().map(|url| of_one_server(&url));
    let (shown, are_secret): (Vec<_>, Vec<_>) = each.unzip();
    let is_secret = are_secret.contains(&true);
    (if is_secret || shown.len() == 1 { shown.join(", ") } else { text.to_owned() }, is_secret)
}

/// Returns a URL without secrets, and whether it had any. Parameters may be secret, and a text that is no URL is not shown.
fn of_one_server(text: &str) -> (String, bool) {
    if text.starts_with("sqlite:") {
        return (text.to_owned(), false);
    }
    let Ok(mut url) = Url::parse(text) else { return (String::new(), true) };
    let harmless = |name: &str| matches!(name, "sslmode" | "sslrootcert" | "application_name" | "connect_timeout");
    let has_parameters = url.query_pairs().any(|(name, _)| !harmless(&name)) || url.fragment().is_some();
    let is_secret = url.password().is_some() || has_parameters;
    if is_secret {
        url.set_query(None);
        url.set_fragment(None);
        if url.password().is_some() && url.set_password(None).is_err() {
            return (String::new(), true);
        }
    }
    (url.to_string(), is_secret)
}

/// Returns a value in the syntax of the file.
fn value_of(form: Form, text: &str) -> String {
    match form {
        Form::Number => text.to_owned(),
        Form::Time => text.parse::<u64>().map_or_else(|_| quoted(text), |seconds| seconds.to_string()),
        Form::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
        }
        Form::Text | Form::Secret | Form::SecretUrl => quoted(text),
    }
}

/// Returns a text as a string of TOML. TOML accepts the escapes of JSON, and also requires DEL to be escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
