//! The settings that the service was started with, as administrators may read them.

/// A setting and its value in effect, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The heading under which the setting is listed.
    pub group: &'static str,
    /// The key in the configuration file.
    pub key: &'static str,
    /// The environment variable.
    pub variable: String,
    /// The value without its secret part; `None` if all of it is secret, or if the setting has no value.
    pub value: Option<String>,
    /// Whether the value, or a part of it, is secret and left out.
    pub is_secret: bool,
    /// Where the value was set; `None` for the default.
    pub source: Option<String>,
}
