//! The configuration in effect, as it is shown to administrators.

use agora_config::{EffectiveSetting, ShownValue, Values, effective};

/// Returns the settings in the form that the HTTP interface shows, without secrets.
pub fn shown_settings(values: &Values) -> Vec<agora_http::EffectiveSetting> {
    let shown = effective(values).map(|EffectiveSetting { setting, value, source }| {
        let (value, is_secret) = match value {
            ShownValue::Unset => (None, false),
            ShownValue::Whole(value) => (Some(value), false),
            ShownValue::WithoutPassword(url) => (Some(url), true),
            ShownValue::Secret | ShownValue::InFile(_) => (None, true),
        };
        let (group, key, variable) = (setting.group, setting.key, setting.variable());
        agora_http::EffectiveSetting { group, key, variable, value, is_secret, source }
    });
    shown.collect()
}
