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
    /// A setting as it is in effect.
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
        /// The value; null where it is secret, or where there is none. Of a URL with a secret in it, what is not secret.
        #[schema(example = "127.0.0.1:8080", required = true)]
        value: Option<&'a str> = setting.value.as_deref(),
        /// Whether the value, or a part of it, is not shown.
        is_secret: bool = setting.is_secret,
        /// Whether somebody has set it; otherwise its default holds.
        is_set: bool = setting.source.is_some(),
        /// Where the value comes from: the line of the file, the variable, the flag, or `default`.
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

/// Read the configuration in effect
///
/// That of the node that answers, as `agora config show` tells it. No secret is in it, nor the password in a URL.
#[utoipa::path(get, path = "", operation_id = "getConfiguration", tag = "Administration",
    responses((status = 200, description = "The settings, in the order of the manual.", body = ConfigurationAnswer)))]
pub(crate) async fn read(_: Auth<Admin>, configuration: Data<Configuration>) -> HandlerResult {
    ok(SUCCESS, configuration.0.iter().map(SettingBody::of).collect::<Vec<_>>())
}
