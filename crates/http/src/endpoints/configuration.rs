//! `/api/admin/configuration`: the settings in effect.

use actix_web::web::Data;
use agora_domain::accounts::Admin;
use serde::Serialize;
use utoipa::ToSchema;

use crate::core::EffectiveSetting;
use crate::request::Auth;
use crate::response::{HandlerResult, SUCCESS, answers, ok};

answers! {
    /// The settings in effect.
    ConfigurationAnswer { Vec<SettingBody> }
}

/// A setting as it is in effect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Setting)]
pub(crate) struct SettingBody {
    /// The heading that it is listed under.
    #[schema(example = "The service")]
    group: &'static str,
    /// Its key in the configuration file.
    #[schema(example = "listen")]
    key: &'static str,
    /// Its environment variable.
    #[schema(example = "AGORA_LISTEN")]
    variable: String,
    /// The value; null where it is secret, or where there is none. Of a URL with a secret in it, what is not secret.
    #[schema(example = "127.0.0.1:8080", required = true)]
    value: Option<String>,
    /// Whether the value, or a part of it, is not shown.
    is_secret: bool,
    /// Whether somebody has set it; otherwise its default holds.
    is_set: bool,
    /// Where the value comes from: the line of the file, the variable, the flag, or `default`.
    #[schema(example = "agora.toml:1")]
    source: String,
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
    let bodies = configuration.0.iter().map(|setting| {
        let EffectiveSetting { group, key, variable, value, is_secret, source } = setting.clone();
        let is_set = source.is_some();
        SettingBody {
            group,
            key,
            variable,
            value,
            is_secret,
            is_set,
            source: source.unwrap_or_else(|| "default".into()),
        }
    });
    ok(SUCCESS, bodies.collect::<Vec<_>>())
}
