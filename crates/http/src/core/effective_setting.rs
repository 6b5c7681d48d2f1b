//! The settings that the service was started with, as administrators may read them.

/// A setting as it is in effect. No secret is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveSetting {
    /// The heading that it is listed under.
    pub group: &'static str,
    /// Its key in the configuration file.
    pub key: &'static str,
    /// Its environment variable.
    pub variable: String,
    /// The value, or what of it is not secret; nothing where all of it is, or where there is none.
    pub value: Option<String>,
    /// Whether the value, or a part of it, is left out.
    pub is_secret: bool,
    /// Where it was set; nothing where its default holds.
    pub source: Option<String>,
}
