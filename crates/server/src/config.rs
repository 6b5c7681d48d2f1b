//! The configuration: where it comes from, its defaults, its bounds.

use std::{fmt, num::NonZeroU32, path::PathBuf, str::FromStr, time::Duration};

use agora_database::Options;
use agora_domain::accounts::Registration;
use agora_http::{CorsOrigins, Throttling, TrustedProxies};
use anyhow::{Context, Result, bail, ensure};
use url::Url;

/// A text that is not shown in logs and errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text.
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

/// How the service is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// `AGORA_LISTEN`: the address and port to listen on. Port 0 takes a free one.
    pub listen: String,
    /// `AGORA_METRICS_LISTEN`: the address and port at which metrics are shown; without it, none are taken.
    pub metrics_listen: Option<String>,
    /// `AGORA_SLOW_QUERY`: from which time on a call of the database is logged; `None` when none is.
    pub slow_query: Option<Duration>,
    /// `AGORA_DATA_DIR`: where the embedded database, the images and the generated secret are kept.
    pub data_dir: PathBuf,
    /// `AGORA_DATABASE_URL`: the database; without it, `agora.db` in the data directory.
    pub database_url: Option<Secret>,
    /// `AGORA_DATABASE_CONNECTIONS`, `AGORA_DATABASE_CONNECT_TIMEOUT`, `AGORA_DATABASE_STATEMENT_TIMEOUT` and
    /// `AGORA_DATABASE_WAIT_TIMEOUT`: how a PostgreSQL server is used.
    pub database: Options,
    /// `AGORA_MEDIA_URL`: where images are kept; without it, `media` in the data directory.
    pub media_url: Option<String>,
    /// `AGORA_MEDIA_PUBLIC_URL`: where clients reach what is at `AGORA_MEDIA_URL`, without a slash at the end; without
    /// it, the service serves the images.
    pub media_public_url: Option<String>,
    /// `AGORA_PUBLIC_URL`: where clients reach the service, without a slash at the end; without it, the address
    /// listened on.
    pub public_url: Option<String>,
    /// `AGORA_JWT_SECRET`: what tokens are signed with, at least 32 bytes; without it, one generated at the first
    /// start and kept in the data directory.
    pub jwt_secret: Option<Secret>,
    /// `AGORA_JWT_ACCEPTED_SECRET`: another secret whose tokens are taken as well, while the one is changed for the other.
    pub jwt_accepted_secret: Option<Secret>,
    /// `AGORA_TOKEN_LIFETIME`: how long a token is valid.
    pub token_lifetime: Duration,
    /// `AGORA_CORS_ORIGINS`: the sites whose pages may call the service from a browser.
    pub cors_origins: CorsOrigins,
    /// `AGORA_TRUSTED_PROXIES`: the proxies whose `X-Forwarded-For` counts.
    pub trusted_proxies: TrustedProxies,
    /// `AGORA_REQUESTS_PER_ADDRESS` and `AGORA_REQUESTS_PER_ACCOUNT`: how many requests a minute are served.
    pub throttling: Throttling,
    /// `AGORA_BCRYPT_COST`: the cost of a password hash, 4 to 20; each step doubles its time.
    pub bcrypt_cost: u32,
    /// `AGORA_MAX_IMAGE_BYTES`: the most bytes an uploaded image has.
    pub max_image_bytes: u32,
    /// `AGORA_MAX_IMAGE_PIXELS`: the most pixels an uploaded image has.
    pub max_image_pixels: u32,
    /// `AGORA_MAX_CONNECTIONS`: the most connections of clients at once; without it, as many as the process may well
    /// have open files for, up to [`Config::MAX_CONNECTIONS`].
    pub max_connections: Option<usize>,
    /// `AGORA_MAX_REQUESTS`: the most requests in flight.
    pub max_requests: usize,
    /// `AGORA_UPLOAD_MEMORY`: the most bytes of uploads in memory at once.
    pub upload_memory: u32,
    /// `AGORA_DECODE_MEMORY`: the most bytes that the images being decoded take.
    pub decode_memory: u32,
    /// `AGORA_CLIENT_TIMEOUT`: how long a client may take to send a body, and to take a part of an answer.
    pub client_timeout: Duration,
    /// `AGORA_WORKERS`: how many threads serve requests; as many as there are cores by default.
    pub workers: usize,
    /// `AGORA_SWEEP_INTERVAL`: the time between two sweeps.
    pub sweep_interval: Duration,
    /// `AGORA_ADMIN_USERNAME`, `AGORA_ADMIN_EMAIL`, `AGORA_ADMIN_PASSWORD`: the administrator to make at start when
    /// there is none.
    pub admin: Option<Registration>,
}

impl Config {
    /// The fewest bytes of a signing secret: what HS256 puts in.
    pub const MIN_SECRET_BYTES: usize = 32;

    /// The most that the waits for a connection and for a statement may take together: the database's own 503 comes
    /// before the end of the time that a request has.
    const MAX_DATABASE_TIME: Duration = Duration::from_secs(28);

    /// The most connections by default.
    pub const MAX_CONNECTIONS: usize = 4096;

    /// The most a client may take: nothing of a connection should last longer.
    const MAX_CLIENT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

    const NAMES: [&str; 32] = [
        "AGORA_LISTEN",
        "AGORA_METRICS_LISTEN",
        "AGORA_SLOW_QUERY",
        "AGORA_DATA_DIR",
        "AGORA_DATABASE_URL",
        "AGORA_DATABASE_CONNECTIONS",
        "AGORA_DATABASE_CONNECT_TIMEOUT",
        "AGORA_DATABASE_STATEMENT_TIMEOUT",
        "AGORA_DATABASE_WAIT_TIMEOUT",
        "AGORA_MEDIA_URL",
        "AGORA_MEDIA_PUBLIC_URL",
        "AGORA_PUBLIC_URL",
        "AGORA_JWT_SECRET",
        "AGORA_JWT_ACCEPTED_SECRET",
        "AGORA_TOKEN_LIFETIME",
        "AGORA_CORS_ORIGINS",
        "AGORA_TRUSTED_PROXIES",
        "AGORA_REQUESTS_PER_ADDRESS",
        "AGORA_REQUESTS_PER_ACCOUNT",
        "AGORA_BCRYPT_COST",
        "AGORA_MAX_IMAGE_BYTES",
        "AGORA_MAX_IMAGE_PIXELS",
        "AGORA_MAX_CONNECTIONS",
        "AGORA_MAX_REQUESTS",
        "AGORA_UPLOAD_MEMORY",
        "AGORA_DECODE_MEMORY",
        "AGORA_CLIENT_TIMEOUT",
        "AGORA_WORKERS",
        "AGORA_SWEEP_INTERVAL",
        "AGORA_ADMIN_USERNAME",
        "AGORA_ADMIN_EMAIL",
        "AGORA_ADMIN_PASSWORD",
    ];

    /// Variables that are read elsewhere.
    const OTHERS: [&str; 3] = ["AGORA_LOG", "AGORA_COPY_FROM", "AGORA_COPY_TO"];

    /// Reads the configuration from variables such as those of the environment. An empty one counts as not set.
    ///
    /// # Errors
    /// The first bad value, with the name of its variable and what it must be.
    pub fn from_variables(variables: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let get = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            listen: get("AGORA_LISTEN").unwrap_or_else(|| "127.0.0.1:8080".to_owned()),
            metrics_listen: get("AGORA_METRICS_LISTEN"),
            slow_query: slow_query(&get)?,
            data_dir: get("AGORA_DATA_DIR").map_or_else(|| PathBuf::from("./data"), PathBuf::from),
            database_url: get("AGORA_DATABASE_URL").map(Secret),
            database: database(&get)?,
            media_url: get("AGORA_MEDIA_URL"),
            media_public_url: public_url(&get, "AGORA_MEDIA_PUBLIC_URL")?,
            public_url: public_url(&get, "AGORA_PUBLIC_URL")?,
            jwt_secret: signing_secret(&get, "AGORA_JWT_SECRET")?,
            jwt_accepted_secret: signing_secret(&get, "AGORA_JWT_ACCEPTED_SECRET")?,
            token_lifetime: time(&get, "AGORA_TOKEN_LIFETIME", Duration::from_secs(60 * 60))?,
            cors_origins: list(&get, "AGORA_CORS_ORIGINS")?,
            trusted_proxies: list(&get, "AGORA_TRUSTED_PROXIES")?,
            throttling: throttling(&get)?,
            bcrypt_cost: number(&get, "AGORA_BCRYPT_COST", 4, 20, 12)?,
            max_image_bytes: number(&get, "AGORA_MAX_IMAGE_BYTES", 1, 1 << 30, 5 * 1024 * 1024)?,
            max_image_pixels: number(&get, "AGORA_MAX_IMAGE_PIXELS", 1, 1_000_000_000, 40_000_000)?,
            max_connections: get("AGORA_MAX_CONNECTIONS")
                .map(|_| number(&get, "AGORA_MAX_CONNECTIONS", 1, 1_000_000, 1))
                .transpose()?,
            max_requests: number(&get, "AGORA_MAX_REQUESTS", 1, 1_000_000, 2048)?,
            upload_memory: number(&get, "AGORA_UPLOAD_MEMORY", 1 << 20, u32::MAX, 32 << 20)?,
            decode_memory: number(&get, "AGORA_DECODE_MEMORY", 1 << 20, u32::MAX, 288 << 20)?,
            client_timeout: client_timeout(&get)?,
            workers: number(&get, "AGORA_WORKERS", 1, 1024, cores.clamp(1, 1024))?,
            sweep_interval: time(&get, "AGORA_SWEEP_INTERVAL", Duration::from_secs(60 * 60))?,
            admin: admin(&get)?,
        })
    }

    /// The variables that begin like ours and are none: most likely misspelled.
    pub fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
        let known = |name: &str| Self::NAMES.contains(&name) || Self::OTHERS.contains(&name);
        names.filter(|name| name.starts_with("AGORA_") && !known(name)).collect()
    }
}

fn public_url(get: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<String>> {
    let Some(text) = get(name) else { return Ok(None) };
    let url = Url::parse(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let plain = url.filter(|url| {
        url.query().is_none() && url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
    });
    let Some(url) = plain else { bail!("{name} must be an http or https address such as https://agora.example.org") };
    // As it was understood: what was written may hold blanks and line ends, which no header takes.
    Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
}

fn signing_secret(get: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<Secret>> {
    let Some(text) = get(name) else { return Ok(None) };
    // White space around it is no part of it: files that hold secrets often end with a line's end.
    let text = text.trim();
    let fewest = Config::MIN_SECRET_BYTES;
    ensure!(text.len() >= fewest, "{name} must be at least {fewest} bytes, as from `openssl rand -hex 32`");
    Ok(Some(Secret(text.to_owned())))
}

fn list<T: FromStr<Err = String>>(get: &impl Fn(&str) -> Option<String>, name: &str) -> Result<T> {
    get(name).unwrap_or_default().parse().map_err(|problem| anyhow::anyhow!("{name}: {problem}"))
}

fn throttling(get: &impl Fn(&str) -> Option<String>) -> Result<Throttling> {
    // Without a variable there is no limit.
    let rate = |name| number(get, name, 1, 1_000_000, 0).map(NonZeroU32::new);
    Ok(Throttling {
        per_address: rate("AGORA_REQUESTS_PER_ADDRESS")?,
        per_account: rate("AGORA_REQUESTS_PER_ACCOUNT")?,
    })
}

fn database(get: &impl Fn(&str) -> Option<String>) -> Result<Options> {
    let default = Options::default();
    let options = Options {
        connections: number(get, "AGORA_DATABASE_CONNECTIONS", Options::MIN_CONNECTIONS, 1000, default.connections)?,
        connect_timeout: time(get, "AGORA_DATABASE_CONNECT_TIMEOUT", default.connect_timeout)?,
        statement_timeout: time(get, "AGORA_DATABASE_STATEMENT_TIMEOUT", default.statement_timeout)?,
        wait_timeout: time(get, "AGORA_DATABASE_WAIT_TIMEOUT", default.wait_timeout)?,
    };
    let (most, seconds) = (Config::MAX_DATABASE_TIME, Config::MAX_DATABASE_TIME.as_secs());
    ensure!(options.connect_timeout <= most, "AGORA_DATABASE_CONNECT_TIMEOUT must be at most {seconds}s");
    ensure!(
        options.wait_timeout + options.statement_timeout <= most,
        "AGORA_DATABASE_WAIT_TIMEOUT and AGORA_DATABASE_STATEMENT_TIMEOUT must be at most {seconds}s together"
    );
    Ok(options)
}

/// Queries are quicker than what other times are about, so this one may be in milliseconds. `0` and `none` stand for none.
fn slow_query(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Duration>> {
    let name = "AGORA_SLOW_QUERY";
    let Some(text) = get(name) else { return Ok(Some(Duration::from_secs(1))) };
    match (text.trim(), text.trim().strip_suffix("ms").map(str::parse)) {
        ("0" | "none", _) => Ok(None),
        (_, Some(Ok(milliseconds @ 1..))) => Ok(Some(Duration::from_millis(milliseconds))),
        (_, Some(_)) => bail!("{name} must be a time such as 250ms or 1s, or none"),
        (text, None) => duration(text).context(name).map(Some),
    }
}

fn client_timeout(get: &impl Fn(&str) -> Option<String>) -> Result<Duration> {
    let given = time(get, "AGORA_CLIENT_TIMEOUT", Duration::from_secs(30))?;
    let most = Config::MAX_CLIENT_TIMEOUT;
    ensure!(given <= most, "AGORA_CLIENT_TIMEOUT must be at most {}m", most.as_secs() / 60);
    Ok(given)
}

fn time(get: &impl Fn(&str) -> Option<String>, name: &'static str, default: Duration) -> Result<Duration> {
    get(name).map_or(Ok(default), |text| duration(&text).context(name))
}

/// A number of seconds, or of another unit when followed by s, m, h or d.
fn duration(text: &str) -> Result<Duration> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => 0,
    };
    let seconds = digits.parse::<u64>().unwrap_or(0).checked_mul(unit).unwrap_or(0);
    let longest = 30 * 24 * 60 * 60;
    if !(1..=longest).contains(&seconds) {
        bail!("must be a time from 1 second to 30 days, such as 3600, 90s, 15m, 1h or 7d");
    }
    Ok(Duration::from_secs(seconds))
}

fn number<N: FromStr + PartialOrd + fmt::Display>(
    get: &impl Fn(&str) -> Option<String>,
    name: &str,
    least: N,
    most: N,
    default: N,
) -> Result<N> {
    let Some(text) = get(name) else { return Ok(default) };
    match text.trim().parse() {
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => bail!("{name} must be a number from {least} to {most}"),
    }
}

fn admin(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Registration>> {
    let given = ["AGORA_ADMIN_USERNAME", "AGORA_ADMIN_EMAIL", "AGORA_ADMIN_PASSWORD"].map(get);
    match &given {
        [Some(username), Some(email), Some(password)] => {
            let admin = Registration::parse(Some(username), Some(email), Some(password), None);
            Ok(Some(admin.map_err(|errors| anyhow::anyhow!("AGORA_ADMIN_*: {}", in_words(&errors)))?))
        }
        [None, None, None] => Ok(None),
        _ => bail!("AGORA_ADMIN_USERNAME, AGORA_ADMIN_EMAIL and AGORA_ADMIN_PASSWORD must be set together"),
    }
}

/// What is wrong with the fields, on one line.
pub(crate) fn in_words(errors: &agora_domain::FieldErrors) -> String {
    errors.iter().flat_map(|(_, messages)| messages.to_vec()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)]) -> Result<Config> {
        Config::from_variables(|name| {
            variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_the_defaults_hold() {
        let config = config(&[("AGORA_LISTEN", ""), ("AGORA_PUBLIC_URL", " ")]).unwrap();
        assert_eq!(config.listen, "127.0.0.1:8080");
        assert_eq!(config.data_dir, PathBuf::from("./data"));
        assert_eq!((config.bcrypt_cost, config.max_image_bytes), (12, 5 * 1024 * 1024));
        assert_eq!(config.token_lifetime, Duration::from_secs(3600));
        assert_eq!((config.database, config.sweep_interval), (Options::default(), Duration::from_secs(3600)));
        assert_eq!((config.max_connections, config.max_requests), (None, 2048));
        assert_eq!(config.client_timeout, Duration::from_secs(30));
        assert!(config.public_url.is_none() && config.jwt_secret.is_none() && config.admin.is_none());
    }

    #[test]
    fn a_bad_value_is_refused_by_the_name_of_its_variable() {
        for (name, value) in [
            ("AGORA_PUBLIC_URL", "agora.example.org"),
            ("AGORA_PUBLIC_URL", "ftp://agora.example.org"),
            ("AGORA_PUBLIC_URL", "https://agora.example.org/?a=b"),
            ("AGORA_MEDIA_PUBLIC_URL", "cdn.example.org"),
            ("AGORA_MEDIA_PUBLIC_URL", "s3://agora"),
            ("AGORA_JWT_SECRET", "too-short"),
            ("AGORA_JWT_ACCEPTED_SECRET", "too-short"),
            ("AGORA_TOKEN_LIFETIME", "0"),
            ("AGORA_TOKEN_LIFETIME", "1w"),
            ("AGORA_TOKEN_LIFETIME", "-5"),
            ("AGORA_TOKEN_LIFETIME", "31d"),
            ("AGORA_TOKEN_LIFETIME", "99999999999999999999d"),
            ("AGORA_DATABASE_CONNECTIONS", "0"),
            ("AGORA_DATABASE_CONNECT_TIMEOUT", "29s"),
            ("AGORA_DATABASE_STATEMENT_TIMEOUT", "0"),
            ("AGORA_DATABASE_STATEMENT_TIMEOUT", "24s"),
            ("AGORA_DATABASE_WAIT_TIMEOUT", "9s"),
            ("AGORA_SWEEP_INTERVAL", "never"),
            ("AGORA_SLOW_QUERY", "0ms"),
            ("AGORA_SLOW_QUERY", "soon"),
            ("AGORA_CORS_ORIGINS", "app.example.org"),
            ("AGORA_TRUSTED_PROXIES", "proxy.example.org"),
            ("AGORA_REQUESTS_PER_ADDRESS", "0"),
            ("AGORA_REQUESTS_PER_ACCOUNT", "many"),
            ("AGORA_BCRYPT_COST", "3"),
            ("AGORA_BCRYPT_COST", "21"),
            ("AGORA_BCRYPT_COST", "twelve"),
            ("AGORA_MAX_IMAGE_BYTES", "0"),
            ("AGORA_MAX_CONNECTIONS", "0"),
            ("AGORA_MAX_CONNECTIONS", "many"),
            ("AGORA_MAX_REQUESTS", "0"),
            ("AGORA_UPLOAD_MEMORY", "1024"),
            ("AGORA_DECODE_MEMORY", "64MiB"),
            ("AGORA_CLIENT_TIMEOUT", "0"),
            ("AGORA_CLIENT_TIMEOUT", "11m"),
            ("AGORA_WORKERS", "0"),
            ("AGORA_ADMIN_PASSWORD", "correct horse"),
            ("AGORA_ADMIN_USERNAME", "root"),
        ] {
            let error = format!("{:#}", config(&[(name, value)]).unwrap_err());
            assert!(error.contains(name), "{name}={value}: {error}");
            assert!(!error.contains("too-short"), "a secret in a message");
        }
    }

    #[test]
    fn an_address_is_kept_as_it_is_understood() {
        for (given, kept) in [
            (" https://agora.example.org/ ", "https://agora.example.org"),
            ("https://agora.\texample.org/\nbase", "https://agora.example.org/base"),
            ("https://Agora.example.org:443/a b/", "https://agora.example.org/a%20b"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            let config = config(&[("AGORA_PUBLIC_URL", given)]).unwrap();
            assert_eq!(config.public_url.as_deref(), Some(kept), "{given:?}");
        }
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("30d", 2_592_000)] {
            let config = config(&[("AGORA_TOKEN_LIFETIME", text)]).unwrap();
            assert_eq!(config.token_lifetime, Duration::from_secs(seconds), "{text}");
        }
    }

    #[test]
    fn what_a_slow_query_is_can_be_told_in_milliseconds_or_not_at_all() {
        let second = Some(Duration::from_secs(1));
        assert_eq!(config(&[]).unwrap().slow_query, second);
        for (text, time) in [("1s", second), ("250ms", Some(Duration::from_millis(250))), ("0", None), (" none ", None)]
        {
            assert_eq!(config(&[("AGORA_SLOW_QUERY", text)]).unwrap().slow_query, time, "{text:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = "0123456789abcdef0123456789abcdef";
        let config = config(&[
            ("AGORA_JWT_SECRET", secret),
            ("AGORA_JWT_ACCEPTED_SECRET", secret),
            ("AGORA_DATABASE_URL", "postgres://agora:hunter2@db.example.org/agora"),
            ("AGORA_ADMIN_USERNAME", "root"),
            ("AGORA_ADMIN_EMAIL", "root@example.org"),
            ("AGORA_ADMIN_PASSWORD", "correct horse"),
        ]);
        let shown = format!("{:?}", config.unwrap());
        assert!(!shown.contains(secret) && !shown.contains("hunter2") && !shown.contains("correct horse"), "{shown}");
    }

    #[test]
    fn misspelled_variables_are_found() {
        let names = ["AGORA_LISTEN", "AGORA_LISTENN", "AGORA_LOG", "PATH"].map(str::to_owned);
        assert_eq!(Config::unknown_variables(names.into_iter()), ["AGORA_LISTENN"]);
    }
}
