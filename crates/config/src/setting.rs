//! What there is to know of a setting.

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

    /// Returns whether a name is this one's, and then whether it is that of the file with its value.
    pub(crate) fn is_named(&self, name: &str, own: &str, suffix: &str) -> Option<bool> {
        match name.strip_prefix(own)? {
            "" => Some(false),
            rest => (rest == suffix && self.may_be_in_own_file()).then_some(true),
        }
    }
}

/// Returns the setting of which a name is most like this one, when any is like it at all; and that name, which `own`
/// makes of those that have one, or that with the suffix.
pub(crate) fn nearest(
    settings: &'static [&'static Setting],
    name: &str,
    suffix: &str,
    own: impl Fn(&Setting) -> Option<String>,
) -> Option<(&'static Setting, String)> {
    let names = settings.iter().flat_map(|setting| {
        let own = own(setting);
        let file = own.as_ref().filter(|_| setting.may_be_in_own_file()).map(|own| format!("{own}{suffix}"));
        own.into_iter().chain(file).map(|known| (*setting, known))
    });
    let alike = names.map(|(setting, known)| (strsim::normalized_damerau_levenshtein(name, &known), setting, known));
    let (likeness, setting, known) = alike.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness >= 0.7).then_some((setting, known))
}
