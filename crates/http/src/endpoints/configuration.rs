//! `/api/admin/configuration`: the settings in effect.

use actix_web::web::Data;
use agora_domain::accounts::Admin;

use crate::core::EffectiveSetting;
use crate::request::Auth;
use crate::response::{HandlerResult, SUCCESS, answers, ok, views};

answers! {
    /// The settings in effect.
    ConfigurationAnswer { Vec<SettingBody<'static>> }
}

views! {
    /// A setting in effect.
    SettingBody as Setting of setting: EffectiveSetting {
        /// The heading that it is listed under.
        #[schema(example = "The service")]
        group: &'static str = setting.group,
        /// Its key in the configuration file.
        #[schema(example = "listen")]
        key: &'static str = setting.key,
        /// Its environment variable.
        #[schema(example = "AGORA_LISTEN")]
        variable: &'a str = &setting.variable,
        /// The value; null if it is secret, or if there is none. A URL is shown without the secret in it.
        #[schema(example = "127.0.0.1:8080", required = true)]
        value: Option<&'a str> = setting.value.as_deref(),
        /// Whether the value, or a part of it, is secret and not shown.
        is_secret: bool = setting.is_secret,
        /// Whether it is set; otherwise its default applies.
        is_set: bool = setting.source.is_some(),
        /// The source of the value: the line of the file, the variable, the flag, or `default`.
        #[schema(example = "agora.toml:1")]
        source: &'a str = setting.source.as_deref().unwrap_or("default"),
    }
}

/// The settings that the service was started with.
pub(crate) struct Configuration(Vec<EffectiveSetting>);

impl Configuration {
    pub(crate) fn new(settings: Vec<EffectiveSetting>) -> Self {
        Self(settings)
    }
}

/// Get the configuration in effect
///
/// The settings of the node that answers, as `agora config show` prints them, without secrets and passwords in URLs.
#[utoipa::path(get, path = "", operation_id = "getConfiguration", tag = "Administration",
    responses((status = 200, description = "The settings, in the order of the manual.", body = ConfigurationAnswer)))]
pub(crate) async fn read(_: Auth<Admin>, configuration: Data<Configuration>) -> HandlerResult {
    ok(SUCCESS, configuration.0.iter().map(SettingBody::of).collect::<Vec<_>>())
}
