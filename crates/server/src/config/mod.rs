//! The configuration: a file, then variables, then flags; what each value must be.
//!
//! | module | what it does |
//! |---|---|
//! | `table` | the settings: names, kinds, defaults, documentation |
//! | `values` | what was given, where |
//! | `file` | the file: its keys, and the lines they stand on |
//! | `read` | from texts to the values that the program works with, and what is wrong with them |
//! | `start` | where a program that starts finds all this |
//! | `show` | `agora config show` |

#[cfg(test)]
mod document;
mod entry;
mod file;
mod read;
mod show;
mod start;
pub mod table;
#[cfg(test)]
mod tests;
mod values;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use agora_database::Options;
use agora_domain::accounts::Registration;
use agora_http::{CorsOrigins, Throttling, TrustedProxies};

pub use self::entry::Problem;
pub(crate) use self::entry::ValueSource;
pub(crate) use self::read::parse_registration;
pub(crate) use self::show::{show, shown_url};
pub(crate) use self::start::{Flags, load};
pub use self::table::Setting;
pub use self::values::{SettingValue, Sources, Values};

/// A text that is not shown in logs and errors.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns the text.
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
    /// `AGORA_ANSWER_MEMORY`: the most bytes of large answers in memory at once.
    pub answer_memory: u32,
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
    /// `AGORA_SLOW_QUERY`: from which time on a call of the database is logged; `None` when none is.
    pub slow_query: Option<Duration>,
    /// `AGORA_LOG`: what is logged.
    pub log: String,
    /// `AGORA_LOG_FORMAT`: how it is logged.
    pub log_format: LogFormat,
    /// The absolute path of the file that the configuration was read from.
    pub file: Option<PathBuf>,
}

/// What the lines of the log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    Text,
    /// A JSON object each.
    Json,
}

impl Config {
    /// The fewest bytes of a signing secret: what HS256 puts in.
    pub const MIN_SECRET_BYTES: usize = 32;

    /// The most connections by default.
    pub const MAX_CONNECTIONS: usize = 4096;

    /// The longest time that a setting can be.
    pub const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

    /// The most that the waits for a connection and for a statement may take together: the database's own 503 comes
    /// before the end of the time that a request has.
    const MAX_DATABASE_TIME: Duration = Duration::from_secs(28);

    /// The most a client may take: nothing of a connection should last longer.
    const MAX_CLIENT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

    /// Reads the configuration from variables such as those of the environment alone. An empty one counts as not set.
    ///
    /// # Errors
    /// [`Invalid`], each problem with the name of its variable and what it must be.
    pub fn from_variables(variables: impl Fn(&str) -> Option<String>) -> Result<Self, Invalid> {
        let own = |setting: &Setting| {
            let file = setting.may_be_in_own_file().then(|| format!("{}_FILE", setting.variable));
            file.into_iter().chain([setting.variable.to_owned()])
        };
        let names = table::ALL.iter().flat_map(own);
        let variables = names.filter_map(|name| variables(&name).map(|value| (name, value))).collect();
        let sources = Sources { file: None, variables, flags: Vec::new(), read: &values::read_secret };
        Loaded::read(&sources, Purpose::Service).into_config()
    }

    fn default_workers() -> String {
        std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 1024).to_string()
    }

    fn default_connections() -> String {
        Options::default().connections.to_string()
    }
}

/// What a configuration is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// For the service and what works on its data.
    Service,
    /// For a command about administrators: what it takes from the settings of the administrator is completed by flags
    /// and the standard input.
    Administration,
}

/// A configuration that was read, whether or not it is any good.
pub struct Loaded {
    /// What was given.
    pub values: Values,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is not wrong, but hardly meant.
    pub warnings: Vec<String>,
    /// The configuration. Where a value is bad, the default stands in for it.
    config: Config,
}

impl Loaded {
    /// Reads a configuration.
    pub fn read(sources: &Sources<'_>, purpose: Purpose) -> Self {
        let mut values = Values::read(sources);
        let mut problems = std::mem::take(&mut values.problems);
        let warnings = std::mem::take(&mut values.warnings);
        let mut config = read::config(&values, purpose, &mut problems);
        config.file = sources.file.and_then(|(path, _)| std::path::absolute(path).ok());
        Self { values, problems, warnings, config }
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// When anything is wrong with it.
    pub fn into_config(self) -> Result<Config, Invalid> {
        self.config().cloned()
    }

    /// Returns the configuration.
    ///
    /// # Errors
    /// When anything is wrong with it.
    pub fn config(&self) -> Result<&Config, Invalid> {
        if self.problems.is_empty() { Ok(&self.config) } else { Err(Invalid(self.problems.clone())) }
    }

    /// Where the configuration comes from, in words.
    pub(crate) fn summary(&self, config: &Config) -> String {
        let several = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let [in_file, variables, flags] = self.values.counts();
        let file = config.file.as_ref().map(|file| format!("{} from {}", several(in_file, "setting"), file.display()));
        let others = [(variables, "variable"), (flags, "flag")].into_iter().filter(|(count, _)| *count > 0);
        let others = others.map(|(count, one)| several(count, one));
        let all: Vec<String> = file.into_iter().chain(others).collect();
        if all.is_empty() { "defaults alone".to_owned() } else { all.join(", ") }
    }

    /// Returns the configuration with defaults in place of what is bad.
    pub(crate) fn best_guess(&self) -> &Config {
        &self.config
    }

    /// Returns whether a setting's value is what was meant, as far as can be told.
    pub(crate) fn is_certain(&self, setting: &Setting) -> bool {
        let is_outside = matches!(
            self.values.given(setting),
            Some(SettingValue { place: ValueSource::Variable | ValueSource::Flag, .. })
        );
        !self
            .problems
            .iter()
            .any(|problem| problem.of.contains(&setting.variable) || problem.is_of_whole_file && !is_outside)
    }
}

/// Why a configuration is refused: every problem that it has.
#[derive(Debug)]
pub struct Invalid(Vec<Problem>);

impl Invalid {
    /// One problem alone, of what a command needs.
    pub(crate) fn because(text: &str) -> Self {
        Self(vec![Problem { of: Vec::new(), is_of_whole_file: false, text: text.to_owned() }])
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = self.0.iter().map(|problem| problem.text.as_str()).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Invalid {}
