//! The configuration, from variables.

use std::{collections::HashMap, time::Duration};

use agora_server::config::Config;

/// What every secret ends with here.
const MARK: &str = "<hunter2>";

const SECRETS: [&str; 3] = ["AGORA_JWT_SECRET", "AGORA_DATABASE_URL", "AGORA_ADMIN_PASSWORD"];

/// Reads a configuration from lines such as `AGORA_WORKERS=4`.
///
/// # Panics
/// When a value out of its bounds is taken, or a secret shows in the error or the configuration.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let variables: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let get = |name: &str| {
        let value = (*variables.get(name)?).to_owned();
        Some(if SECRETS.contains(&name) { value + MARK } else { value })
    };
    let shown = match Config::from_variables(get) {
        Ok(config) => {
            let (second, month) = (Duration::from_secs(1), Duration::from_secs(30 * 24 * 60 * 60));
            assert!((second..=month).contains(&config.token_lifetime));
            assert!((second..=month).contains(&config.sweep_interval));
            assert!((4..=20).contains(&config.bcrypt_cost));
            assert!((1..=1024).contains(&config.workers));
            assert!(config.jwt_secret.as_ref().is_none_or(|secret| secret.expose().len() >= Config::MIN_SECRET_BYTES));
            for address in [&config.public_url, &config.media_public_url].into_iter().flatten() {
                let url = url::Url::parse(address).expect("an address");
                assert!(matches!(url.scheme(), "http" | "https") && url.query().is_none(), "{address}");
                assert!(!address.contains(|c: char| c.is_control() || c.is_whitespace()), "{address:?}");
            }
            format!("{config:?}")
        }
        Err(error) => format!("{error:#} {error:?}"),
    };
    assert!(!shown.contains(MARK), "a secret is shown: {shown}");
}
