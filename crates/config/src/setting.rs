//! What there is to know of a setting, and values that are not shown.

use std::fmt;

/// A text that is not shown in logs and errors.
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

/// What every variable begins with.
pub const PREFIX: &str = "AGORA_";

/// A setting.
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
    /// What holds where nobody sets it.
    pub default: DefaultValue,
    /// What it does, in a paragraph of Markdown that begins with a small letter and has no full stop.
    pub documentation: &'static str,
    /// The flag of the command line that sets it, and what that calls the value.
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
    /// A text that is never shown, and that may stand in a file of its own.
    Secret,
    /// A URL whose user's password is never shown; it may stand in a file of its own.
    SecretUrl,
}

/// What holds where nobody sets a setting.
#[derive(Debug)]
pub enum DefaultValue {
    /// This value.
    Fixed(&'static str),
    /// A value that depends on the machine, which the text is about.
    Computed(fn() -> String, &'static str),
    /// No value. The text says what holds then, in Markdown.
    Unset(&'static str),
}

impl Setting {
    /// Returns its environment variable.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.key.to_ascii_uppercase())
    }

    /// Returns whether its value may stand in a file of its own, which the variable and the key with `_FILE` behind
    /// them name.
    pub fn may_be_in_own_file(&self) -> bool {
        matches!(self.form, Form::Secret | Form::SecretUrl)
    }

    /// Returns the value that holds where nobody sets it.
    pub fn default_value(&self) -> Option<String> {
        match self.default {
            DefaultValue::Fixed(value) => Some(value.to_owned()),
            DefaultValue::Computed(value, _) => Some(value()),
            DefaultValue::Unset(_) => None,
        }
    }

    /// Returns what is said of the value that holds where nobody sets it, in Markdown.
    pub fn default_in_words(&self) -> &'static str {
        let (DefaultValue::Fixed(words) | DefaultValue::Computed(_, words) | DefaultValue::Unset(words)) = self.default;
        words
    }

    /// Returns a value without the white space around it, which a password alone may mean.
    pub(crate) fn trim<'a>(&self, text: &'a str) -> &'a str {
        if self.form == Form::Secret { text } else { text.trim() }
    }
}

/// Finds the setting of a name, and whether the name is that of the file with its value, which ends with the suffix.
///
/// # Errors
/// When there is none: the one of which a name is most like this, when any is like it at all, and that name.
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
    let likeness = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let nearest = names.max_by(|(.., one), (.., other)| likeness(one).total_cmp(&likeness(other)));
    match nearest {
        Some((setting, is_path, known)) if known == name => Ok((setting, is_path)),
        nearest => {
            Err(nearest.filter(|(.., known)| likeness(known) >= 0.7).map(|(setting, _, known)| (setting, known)))
        }
    }
}
