//! The table of settings: all there is to know of each but what it does. Reading, checks, `agora config show`, the
//! manual and the tables of docs/configuration.md go by it.

use agora_database::Options;

use super::Config;

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its environment variable, which begins with [`PREFIX`].
    pub variable: &'static str,
    /// What it is listed with.
    pub group: &'static Group,
    /// What its values are.
    pub kind: Kind,
    /// What holds where nobody sets it.
    pub default: DefaultValue,
    /// What it does, in a paragraph of Markdown that begins with a small letter and has no full stop.
    pub documentation: &'static str,
    flag: &'static str,
}

/// What every variable begins with.
pub const PREFIX: &str = "AGORA_";

/// What settings are listed together.
#[derive(Debug)]
pub struct Group {
    /// Its heading.
    pub title: &'static str,
    /// Whether its settings may stand in the file.
    pub in_file: bool,
}

/// What the values of a setting are.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A text.
    Text,
    /// The path of a file or directory.
    Path,
    /// Texts, separated by commas.
    List,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number within bounds.
    Number(u64, u64),
    /// A number of bytes within bounds.
    Bytes(u64, u64),
    /// A time from a second to [`Config::LONGEST`].
    Time,
    /// A text that is never shown, and that may stand in a file of its own.
    Secret,
    /// A URL whose user's password is never shown; it may stand in a file of its own.
    SecretUrl,
}

/// What holds where nobody sets a setting.
#[derive(Debug)]
pub enum DefaultValue {
    /// This value.
    Is(&'static str),
    /// A value that depends on the machine, which the text is about.
    Of(fn() -> String, &'static str),
    /// No value. The text says what holds then, in Markdown.
    None(&'static str),
}

impl Setting {
    /// Returns its key in the file: the variable in small letters, without the prefix.
    pub fn key(&self) -> String {
        self.variable.trim_start_matches(PREFIX).to_ascii_lowercase()
    }

    /// Returns the flag of the command line that sets it.
    pub fn flag(&self) -> Option<&'static str> {
        Some(self.flag).filter(|flag| !flag.is_empty())
    }

    /// Returns whether its value may stand in a file of its own, which the variable and the key with `_FILE` behind
    /// them name.
    pub fn may_be_in_own_file(&self) -> bool {
        matches!(self.kind, Kind::Secret | Kind::SecretUrl)
    }

    /// Returns the value that holds where nobody sets it.
    pub fn default_value(&self) -> Option<String> {
        match self.default {
            DefaultValue::Is(value) => Some(value.to_owned()),
            DefaultValue::Of(value, _) => Some(value()),
            DefaultValue::None(_) => None,
        }
    }
}

/// Declares the settings, each as a constant that is named like its variable, and [`ALL`] of them.
macro_rules! settings {
    ($($group:ident { $($name:ident: $kind:expr, $default:expr, $documentation:literal $(, $flag:literal)?;)+ })+) => {
        $($(
            #[doc = $documentation]
            pub const $name: Setting = Setting {
                variable: concat!("AGORA_", stringify!($name)),
                group: &groups::$group,
                kind: $kind,
                default: $default,
                documentation: $documentation,
                flag: concat!("", $($flag)?),
            };
        )+)+

        /// Every setting, in the order in which they are listed.
        pub static ALL: &[Setting] = &[$($($name),+),+];
    };
}

mod groups {
    use super::Group;

    pub(super) const SERVICE: Group = Group { title: "The service", in_file: true };
    pub(super) const DATABASE: Group = Group { title: "The database", in_file: true };
    pub(super) const IMAGES: Group = Group { title: "Images", in_file: true };
    pub(super) const ACCESS: Group = Group { title: "Accounts and access", in_file: true };
    pub(super) const LIMITS: Group = Group { title: "Load", in_file: true };
    pub(super) const LOG: Group = Group { title: "The log", in_file: true };
    pub(super) const COMMANDS: Group = Group { title: "Commands", in_file: false };
}

const MIB: u64 = 1 << 20;

const MOST_BYTES: u64 = u32::MAX as u64;

settings! {
    SERVICE {
        LISTEN: Kind::Text, DefaultValue::Is("127.0.0.1:8080"), "address and port to listen on; port 0 takes a free one",
            "--listen";
        METRICS_LISTEN: Kind::Text, DefaultValue::None("none"),
            "address and port at which metrics are shown, such as `127.0.0.1:9464`; without it none are taken. Clients \
             should not reach it";
        DATA_DIR: Kind::Path, DefaultValue::Is("./data"),
            "the directory of the embedded database, the images and the generated secret; made when missing",
            "--data-dir";
        PUBLIC_URL: Kind::Text,
            DefaultValue::None("`http://` and the address listened on; `127.0.0.1` when that is all interfaces, so set it then"),
            "where clients reach the service: the beginning of every link and image address. The `Host` header is never \
             used for that";
        TRUSTED_PROXIES: Kind::List, DefaultValue::None("none"),
            "the addresses and networks of the proxies in front, such as `10.0.0.0/8, ::1`: where they write \
             `X-Forwarded-For`, limits count the client that it names. From anybody else, the header is ignored";
        CORS_ORIGINS: Kind::List, DefaultValue::None("none"),
            "the sites whose pages may call the service from a browser, such as `https://app.example.org, \
             http://localhost:3000`; `*` for all";
        WORKERS: Kind::Number(1, 1024), DefaultValue::Of(Config::default_workers, "number of cores"),
            "threads that serve requests";
        SWEEP_INTERVAL: Kind::Time, DefaultValue::Is("1h"),
            "the time between two sweeps, which delete images that this database has on record as named by no row, \
             expired sessions, requests that can no longer be repeated, and what is left of deleted posts; at most 30 days";
    }
    DATABASE {
        DATABASE_URL: Kind::SecretUrl, DefaultValue::None("`agora.db` in the data directory"),
            "`sqlite:PATH`, `sqlite:///ABSOLUTE/PATH`, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`";
        DATABASE_CONNECTIONS: Kind::Number(Options::MIN_CONNECTIONS as u64, 1000),
            DefaultValue::Of(Config::default_connections, "ten for each core"),
            "how many connections to a PostgreSQL server are kept at most; 5 to 1000. A fifth is shared by reads of \
             little and another by reads of lists, two for each core at most; the rest is for writes and searches";
        DATABASE_CONNECT_TIMEOUT: Kind::Time, DefaultValue::Is("5s"),
            "how long a connection to a PostgreSQL server may take to be made; at most 28 s";
        DATABASE_STATEMENT_TIMEOUT: Kind::Time, DefaultValue::Is("20s"),
            "how long a statement may take on a PostgreSQL server, and all the work of a transaction; half of it may be \
             spent waiting for a lock";
        DATABASE_WAIT_TIMEOUT: Kind::Time, DefaultValue::Is("5s"),
            "how long a request waits for a connection to a PostgreSQL server, whether one becomes free or is made. With \
             the time for a statement 28 s at most, so that it is over before the 30 s of the request";
    }
    IMAGES {
        MEDIA_URL: Kind::Text, DefaultValue::None("`media` in the data directory"),
            "`file:///ABSOLUTE/PATH`; `s3://BUCKET` or `s3://BUCKET/PREFIX`; or `memory:`, which forgets the \
             images at the end";
        MEDIA_PUBLIC_URL: Kind::Text, DefaultValue::None("the service serves the images"),
            "where clients reach what is at `AGORA_MEDIA_URL` by themselves";
        MAX_IMAGE_BYTES: Kind::Bytes(1, 1 << 30), DefaultValue::Is("5242880"), "the most bytes of an uploaded image";
        MAX_IMAGE_PIXELS: Kind::Number(1, 1_000_000_000), DefaultValue::Is("40000000"),
            "the most pixels of an uploaded image";
    }
    ACCESS {
        JWT_SECRET: Kind::Secret, DefaultValue::None("generated once, kept as `jwt-secret` in the data directory"),
            "what tokens and cursors are signed with, and requests under an `Idempotency-Key` known by: 32 bytes or more";
        JWT_ACCEPTED_SECRET: Kind::Secret, DefaultValue::None("none"),
            "another secret, of 32 bytes or more, whose tokens and cursors are taken as well, and by which requests under \
             an `Idempotency-Key` are known, while the one is changed for the other";
        TOKEN_LIFETIME: Kind::Time, DefaultValue::Is("1h"), "how long a token is valid; at most 30 days";
        BCRYPT_COST: Kind::Number(4, 20), DefaultValue::Is("12"),
            "cost of a password hash, 4 to 20; each step doubles its time. A lower one is renewed at the next login";
        ADMIN_USERNAME: Kind::Text, DefaultValue::None("none"),
            "the username of the administrator made at start while no account has ADMIN; set with the two that follow. \
             The start fails when another account has the name or the address";
        ADMIN_EMAIL: Kind::Text, DefaultValue::None("none"), "its email address";
        ADMIN_PASSWORD: Kind::Secret, DefaultValue::None("none"), "its password";
    }
    LIMITS {
        REQUESTS_PER_ADDRESS: Kind::Number(1, 1_000_000), DefaultValue::None("none"),
            "how many requests a minute are served to one client address; 1 to 1,000,000. More are answered 429, but for \
             those to `/health/live` and `/health/ready`. A minute begins with the first request after the last one was over. Addresses of this machine have no such limit";
        REQUESTS_PER_ACCOUNT: Kind::Number(1, 1_000_000), DefaultValue::None("none"),
            "the same for one account, wherever its requests come from";
        MAX_CONNECTIONS: Kind::Number(1, 1_000_000), DefaultValue::None("4096, or fewer where the process may have fewer files open"),
            "the most connections of clients at once";
        MAX_REQUESTS: Kind::Number(1, 1_000_000), DefaultValue::Is("2048"), "the most requests in flight";
        UPLOAD_MEMORY: Kind::Bytes(MIB, MOST_BYTES), DefaultValue::Is("33554432"),
            "the most bytes of large bodies in memory at once";
        ANSWER_MEMORY: Kind::Bytes(MIB, MOST_BYTES), DefaultValue::Is("67108864"),
            "the most bytes of large answers in memory at once";
        DECODE_MEMORY: Kind::Bytes(MIB, MOST_BYTES), DefaultValue::Is("201326592"),
            "the most bytes that images take while they are checked";
        CLIENT_TIMEOUT: Kind::Time, DefaultValue::Is("30s"),
            "how long a client may take to send a body, and to take a part of an answer; at most 10 minutes";
    }
    LOG {
        LOG: Kind::Text, DefaultValue::Is("info"),
            "what is logged to the standard error, such as `warn`, `info,agora_http=debug` or, for a line for each \
             request, `info,agora_http::access=debug`. Of the libraries, nothing below `info` is logged, whatever is asked \
             for: some repeat there what they send, password hashes included",
            "--log";
        SLOW_QUERY: Kind::Text, DefaultValue::Is("1s"),
            "a call of the database that takes as long is logged: a time, or one in milliseconds such as `250ms`; `none` \
             or `0` logs none";
        LOG_FORMAT: Kind::Choice(&["text", "json"]), DefaultValue::Is("text"),
            "`text`, or `json` for one JSON object on each line. What a start fails with is text in either case, as what \
             commands say is";
    }
    COMMANDS {
        CONFIG: Kind::Path, DefaultValue::None("`agora.toml` in the working directory, if there is one"),
            "the configuration file", "--config";
        COPY_FROM: Kind::SecretUrl, DefaultValue::None("none"), "the database that `agora copy` copies, in place of `--from`";
        COPY_TO: Kind::SecretUrl, DefaultValue::None("none"), "the database that `agora copy` fills, in place of `--to`";
    }
}

/// Returns the setting whose own name, if it has one, is most like this one, when any is like it at all; and that name,
/// which is a key of the file or a variable.
pub fn nearest(name: &str, own: impl Fn(&Setting) -> Option<String>) -> Option<(&'static Setting, String)> {
    let names = |setting: &'static Setting| {
        let own = own(setting);
        let suffix = if name.starts_with(PREFIX) { "_FILE" } else { "_file" };
        let file = own.as_ref().filter(|_| setting.may_be_in_own_file()).map(|own| format!("{own}{suffix}"));
        own.into_iter().chain(file).map(move |known| (setting, known))
    };
    let alike = |known: &str| strsim::normalized_damerau_levenshtein(name, known);
    let all = ALL.iter().flat_map(names).map(|(setting, known)| (alike(&known), setting, known));
    let (likeness, setting, known) = all.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (likeness >= 0.7).then_some((setting, known))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_setting_is_there_once_and_is_documented() {
        let mut names = BTreeSet::new();
        for setting in ALL {
            assert!(names.insert(setting.variable), "{} twice", setting.variable);
            let text = setting.documentation;
            assert!(!text.is_empty() && !text.ends_with('.') && !text.contains(['\n', '|']), "{text:?}");
            assert!(!setting.variable.ends_with("_FILE"), "taken for the file of a secret: {}", setting.variable);
        }
    }

    #[test]
    fn what_was_probably_meant_is_found() {
        let key = |name: &str| nearest(name, |setting| Some(setting.key())).map(|(_, known)| known);
        assert_eq!(key("databse_url").as_deref(), Some("database_url"));
        assert_eq!(key("jwt_secret_fil").as_deref(), Some("jwt_secret_file"));
        assert_eq!(key("token_life_time").as_deref(), Some("token_lifetime"));
        assert_eq!(key("colour"), None);
        let variable = nearest("AGORA_LISTENN", |setting| Some(setting.variable.to_owned()));
        assert_eq!(variable.map(|(_, known)| known).as_deref(), Some("AGORA_LISTEN"));
    }
}
