//! The description of a setting, and values that are never shown.

use std::fmt;

/// A text that its `Debug` output does not show, so that it does not appear in logs and errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The prefix of every environment variable.
pub const PREFIX: &str = "AGORA_";

/// The description of a setting.
#[derive(Debug)]
pub struct Setting {
    /// Its key in the file.
    pub key: &'static str,
    /// The heading that it is listed under.
    pub group: &'static str,
    /// Whether it may stand in the file.
    pub in_file: bool,
    /// How its values are written.
    pub form: Form,
    /// The value if it is not set.
    pub default: DefaultValue,
    /// What it does: a paragraph of Markdown that begins with a lower-case letter and has no full stop at the end.
    pub documentation: &'static str,
    /// The flag of the command line that sets it, and the placeholder of its value.
    pub flag: Option<(&'static str, &'static str)>,
}

/// How the values of a setting are written in the file, and how they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A text.
    Text,
    /// Texts, separated by commas.
    List,
    /// A whole number.
    Number,
    /// A time: a number of seconds, or one with a unit.
    Time,
    /// A text that is never shown, and that may be read from a separate file.
    Secret,
    /// A URL whose password is never shown, and that may be read from a separate file.
    SecretUrl,
}

/// The value of a setting that is not set.
#[derive(Debug)]
pub enum DefaultValue {
    /// This value.
    Fixed(&'static str),
    /// A value that depends on the machine, and a text that describes it.
    Computed(fn() -> String, &'static str),
    /// No value. The text, in Markdown, says what happens then.
    Unset(&'static str),
}

impl Setting {
    /// Returns its environment variable.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.to_ascii_uppercase())
    }

    /// Returns whether its value may be read from a separate file, whose path the variable or key with the suffix `_FILE` or
    /// `_file` gives.
    pub fn may_be_in_own_file(&self) -> bool {
        matches!(self.form, Form::Secret | Form::SecretUrl)
    }

    /// Returns its value if it is not set.
    pub fn default_value(&self) -> Option<String> {
        match self.default {
            DefaultValue::Fixed(value) => Some(value.to_owned()),
            DefaultValue::Computed(value, _) => Some(value()),
            DefaultValue::Unset(_) => None,
        }
    }

    /// Returns the description of that value, in Markdown.
    pub fn default_in_words(&self) -> &'static str {
        let (DefaultValue::Fixed(words) | DefaultValue::Computed(_, words) | DefaultValue::Unset(words)) = self.default;
        words
    }

    /// Returns a value without the white space around it, which only in a secret may be intended.
    pub(crate) fn trim<'a>(&self, text: &'a str) -> &'a str {
        if self.form == Form::Secret { text } else { text.trim() }
    }
}

/// Finds the setting with this name, and returns whether the name has the suffix that stands for the path of a separate file.
/// `own` returns the name of a setting.
///
/// # Errors
/// When there is none: the setting with the most similar name, and that name, if any is similar enough.
pub(crate) fn find(
    settings: &[&'static Setting],
    name: &str,
    suffix: &str,
    own: impl Fn(&Setting) -> String,
) -> Result<(&'static Setting, bool), Option<(&'static Setting, String)>> {
    let names = settings.iter().flat_map(|setting| {
        let file = setting.may_be_in_own_file().then(|| (own(setting) + suffix, true));
        [(own(setting), false)].into_iter().chain(file).map(|(known, is_path)| (*setting, is_path, known))
    });
    let similarity = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let nearest = names.max_by(|(.., one), (.., other)| similarity(one).total_cmp(&similarity(other)));
    match nearest {
        Some((setting, is_path, known)) if known == name => Ok((setting, is_path)),
        nearest => {
            Err(nearest.filter(|(.., known)| similarity(known) >= 0.7).map(|(setting, _, known)| (setting, known)))
        }
    }
}
