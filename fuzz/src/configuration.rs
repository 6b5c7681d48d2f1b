//! The configuration, from variables and a file.

use std::path::Path;
use std::time::Duration;

use agora_config::{Config, Loaded, Purpose, Values};

/// What every secret ends with here.
const MARK: &str = "<hunter2>";

const SECRETS: [&str; 4] =
    ["AGORA_JWT_SECRET", "AGORA_JWT_ACCEPTED_SECRET", "AGORA_DATABASE_URL", "AGORA_ADMIN_PASSWORD"];

/// The line between variables and the text of the file.
const FILE: &str = "--- agora.toml\n";

/// Reads a configuration from lines such as `AGORA_WORKERS=4` and, after a line that says so, a file.
///
/// # Panics
/// When a value out of its bounds is taken, or a secret shows in the error or the configuration.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (variables, file) = text.split_once(FILE).unwrap_or((&text, ""));
    let marked = |name: &str, value: &str| {
        // The name of a parameter of a URL is no secret.
        let mark = if SECRETS.contains(&name) && !value.contains('?') { MARK } else { "" };
        (name.to_owned(), format!("{value}{mark}"))
    };
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    // No file that somebody names is read here.
    let mut values = Values::new(|_| Ok(format!("0123456789abcdef0123456789abcdef{MARK}\n")));
    values.take_file(Path::new("agora.toml"), file);
    values.take_variables(variables.map(|(name, value)| marked(name, value)));
    let loaded = Loaded::new(values, Purpose::Service);
    let warnings = loaded.values.warnings.join("\n");
    let problems = format!("{:?}", loaded.values.problems);
    assert_eq!(loaded.values.problems.is_empty(), loaded.config().is_ok());
    let shown = match loaded.config() {
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
    let shown = format!("{shown}{warnings}{problems}");
    assert!(!shown.contains(MARK), "a secret is shown: {shown}");
}
