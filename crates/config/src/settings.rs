//! The settings, each declared once, below. The field of [`Config`], the parser, the environment variable, the key of the file,
//! the flag, `agora config show`, the manual and the tables of docs/configuration.md follow from that declaration.

use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use agora_database::{Flavor, Options};
use agora_http::{CorsOrigins, TrustedProxies};

use crate::parse::{
    DAY, address, filter, list, location, number, one_of, public_url, signing_secret, slow_query, text, time,
};
use crate::setting::{DefaultValue, Form, Secret, Setting};
use crate::values::Values;

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

const LOG_FORMATS: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
const FLAVORS: [(&str, Flavor); 2] = [("postgresql", Flavor::Postgresql), ("distributed", Flavor::Distributed)];
const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];

/// Declares the settings by groups: the documentation of each, the field with its type, its form and parser, its default and,
/// if there is one, the flag of the command line with the placeholder of its value.
macro_rules! settings {
    ($($group:literal, in_file: $in_file:literal {
        $($(#[doc = $documentation:literal])+
        $field:ident: $type:ty = $form:ident($parse:expr), $default:ident($($value:expr),+)
            $(, $flag:literal $name:literal)?;)+
    })+) => {
        /// The configuration of the service.
        #[derive(Debug, Clone)]
        pub struct Config {
            $($(
                #[doc = concat!("`", stringify!($field), "`:", $($documentation),+)]
                pub $field: $type,
            )+)+
        }

        impl Config {
            /// Parses the values into a configuration.
            pub(crate) fn read(values: &mut Values) -> Self {
                Self { $($($field: values.read(&SETTINGS.$field, $parse),)+)+ }
            }
        }

        /// The descriptions of all settings.
        #[derive(Debug)]
        pub struct Settings {
            $($(#[doc = concat!("`", stringify!($field), "`")] pub $field: Setting,)+)+
        }

        /// The descriptions of all settings.
        pub static SETTINGS: Settings = Settings {
            $($($field: Setting {
                key: stringify!($field),
                group: $group,
                in_file: $in_file,
                form: Form::$form,
                default: DefaultValue::$default($($value),+),
                documentation: concat!($($documentation),+).trim_ascii_start(),
                flag: settings!(@flag $($flag $name)?),
            },)+)+
        };

        /// Every setting, in the order in which they are listed.
        pub static ALL: &[&Setting] = &[$($(&SETTINGS.$field,)+)+];
    };
    (@flag) => { None };
    (@flag $flag:literal $name:literal) => { Some(($flag, $name)) };
}

const MIB: u32 = 1 << 20;

/// The most seconds of the timeouts for a connection and for a statement together, so that the 503 of the database comes before
/// the time limit of the request.
pub(crate) const MAX_DATABASE_SECONDS: u64 = 28;

settings! {
    "The service", in_file: true {
        /// the address and port to listen on; port 0 chooses a free port
        listen: String = Text(address), Fixed("127.0.0.1:8080"), "--listen" "ADDRESS";
        /// the address and port that serves metrics, such as `127.0.0.1:9464`; without it no metrics are collected. Clients
        /// should not be able to reach it
        metrics_listen: Option<String> = Text(address), Unset("none");
        /// the directory of the embedded database, the images and the generated secret; created if it does not exist
        data_dir: PathBuf = Text(text::<PathBuf>), Fixed("./data"), "--data-dir" "DIRECTORY";
        /// the URL at which clients reach the service: every link and image address begins with it. The `Host` header is
        /// never used instead
        public_url: Option<String> = Text(public_url),
            Unset("`http://` and the listen address, or `127.0.0.1` if that is all interfaces: set it in this case");
        /// the addresses and networks of the reverse proxies, such as `10.0.0.0/8, ::1`. Limits apply to the client that
        /// their `X-Forwarded-For` header names; from anybody else, the header is ignored
        trusted_proxies: TrustedProxies = List(list::<TrustedProxies>), Unset("none");
        /// the origins whose pages may call the service from a browser (CORS), such as `https://app.example.org,
        /// http://localhost:3000`; `*` for all
        cors_origins: CorsOrigins = List(list::<CorsOrigins>), Unset("none");
        /// `on` to serve the web client at `/app/`, or `off`
        app: bool = Text(one_of(SWITCH)), Fixed("on");
        /// `on` to serve the administrators' console at `/console/`, or `off`
        console: bool = Text(one_of(SWITCH)), Fixed("on");
        /// the number of threads that serve requests
        workers: usize = Number(number(1_usize..=1024)),
            Computed(|| available_parallelism().map_or(1, usize::from).clamp(1, 1024).to_string(), "number of cores");
        /// the time between two sweeps, which delete expired data: images that this database has recorded as
        /// unreferenced, expired sessions, expired records of `Idempotency-Key` requests, remaining rows of deleted posts,
        /// old notifications and mails, and the names of deleted accounts; at most 30 days
        sweep_interval: Duration = Time(time(30 * DAY)), Fixed("1h");
    }
    "The database", in_file: true {
        /// `sqlite:PATH`, `sqlite:///ABSOLUTE/PATH`, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`.
        /// Of several servers, `HOST:PORT,HOST:PORT`, the one that accepts writes is used
        database_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)),
            Unset("`agora.db` in the data directory");
        /// a streaming replica of the PostgreSQL server that lists are read from,
        /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; of several, the first that is reachable is used. Each host name
        /// must stand for one server. Set it on all nodes or on none
        database_read_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_replica_url)),
            Unset("none: lists are read from the primary server");
        /// the percentage of accounts whose lists the replica serves, the same on all nodes; with 0 it serves none, but
        /// nodes record the writes that it would have to show
        database_read_share: u8 = Number(number(0_u8..=100)), Fixed("100");
        /// `postgresql`, or `distributed` for distributed SQL databases that are compatible with PostgreSQL. It cannot be
        /// changed after the first start
        database_flavor: Flavor = Text(one_of(FLAVORS)), Fixed("postgresql");
        /// the maximum number of connections to a PostgreSQL server, 5 to 1000. A fifth is shared by small reads and
        /// another by reads of lists, each at most two per core; the rest is the pool, for writes and searches
        database_connections: usize = Number(number(Options::MIN_CONNECTIONS..=1000)),
            Computed(|| Options::default().connections.to_string(), "ten per core");
        /// the time limit for connecting to a PostgreSQL server; at most 28 s
        database_connect_timeout: Duration = Time(time(MAX_DATABASE_SECONDS)), Fixed("5s");
        /// the time limit of a statement on a PostgreSQL server, and of a whole transaction; at most half of it may be spent
        /// waiting for a lock
        database_statement_timeout: Duration = Time(time(30 * DAY)), Fixed("20s");
        /// how long a request waits for a free or new connection to a PostgreSQL server. Together with
        /// `AGORA_DATABASE_STATEMENT_TIMEOUT` at most 28 s, less than the 30 s of a request
        database_wait_timeout: Duration = Time(time(30 * DAY)), Fixed("5s");
    }
    "Images", in_file: true {
        /// `file:///ABSOLUTE/PATH`; `s3://BUCKET` or `s3://BUCKET/PREFIX`; or `memory:`, which loses the images
        /// when the service stops
        media_url: Option<String> = Text(location::<String, _>(agora_media::check_url)),
            Unset("`media` in the data directory");
        /// the URL at which clients fetch the images of `AGORA_MEDIA_URL` directly, such as that of a CDN
        media_public_url: Option<String> = Text(public_url), Unset("the service serves the images");
        /// the maximum size of an uploaded image in bytes
        max_image_bytes: u32 = Number(number(1_u32..=1 << 30)), Fixed("5242880");
        /// the maximum number of pixels of an uploaded image
        max_image_pixels: u32 = Number(number(1_u32..=1_000_000_000)), Fixed("40000000");
    }
    "Mail", in_file: true {
        /// the mail server: `smtp://USER:PASSWORD@HOST:PORT`, which must offer STARTTLS, or
        /// `smtps://USER:PASSWORD@HOST:PORT`, with implicit TLS; its certificate is verified. Without TLS, the server must be
        /// on this machine: `smtp://127.0.0.1:25?tls=none`
        smtp_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_mail::check_url)), Unset("no mail is sent");
        /// the sender of mails, such as `no-reply@example.org` or `Agora <no-reply@example.org>`; set together
        /// with `AGORA_SMTP_URL`
        mail_from: Option<String> = Text(location::<String, _>(agora_mail::check_sender)), Unset("none");
        /// a directory with mail templates: `password-reset.txt`, `email-verification.txt`, `email-change.txt`,
        /// `email-changed.txt`. The default text is used for a missing file
        mail_templates: Option<PathBuf> = Text(text::<PathBuf>), Unset("none");
    }
    "Accounts and access", in_file: true {
        /// the secret that signs tokens and cursors, and fingerprints requests with an `Idempotency-Key`; at least 32 bytes
        jwt_secret: Option<Secret> = Secret(signing_secret),
            Unset("generated once, kept as `jwt-secret` in the data directory");
        /// another secret of at least 32 bytes that is also accepted, for tokens, cursors and requests with an
        /// `Idempotency-Key`, while the secret is being replaced
        jwt_accepted_secret: Option<Secret> = Secret(signing_secret), Unset("none");
        /// how long a token is valid; at most 30 days
        token_lifetime: Duration = Time(time(30 * DAY)), Fixed("1h");
        /// the cost of a password hash, 4 to 20; each step doubles its time. Hashes of a lower cost are renewed at the next login
        bcrypt_cost: u32 = Number(number(4_u32..=20)), Fixed("12");
        /// the username of the administrator that a start creates if no account has ADMIN; set together with the next two.
        /// The start fails if another account has the username or the email address
        admin_username: Option<String> = Text(text::<String>), Unset("none");
        /// the administrator's email address
        admin_email: Option<String> = Text(text::<String>), Unset("none");
        /// the administrator's password
        admin_password: Option<Secret> = Secret(text::<Secret>), Unset("none");
    }
    "Load", in_file: true {
        /// the maximum number of requests per minute from one client address, 1 to 1,000,000. More get 429, except for
        /// those to `/health/live` and `/health/ready`. A minute begins with the first request after the previous one
        /// ended. Addresses of this machine are not limited
        requests_per_address: Option<u32> = Number(number(1_u32..=1_000_000)), Unset("none");
        /// the maximum number of requests per minute of one account, from all addresses together, 1 to 1,000,000. More get 429
        requests_per_account: Option<u32> = Number(number(1_u32..=1_000_000)), Unset("none");
        /// the maximum number of client connections
        max_connections: Option<usize> = Number(number(1_usize..=1_000_000)),
            Unset("4096, or fewer if the limit on open files is low");
        /// the maximum number of requests in flight
        max_requests: usize = Number(number(1_usize..=1_000_000)), Fixed("2048");
        /// the maximum memory for large request bodies, in bytes
        upload_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("33554432");
        /// the maximum memory for large responses, in bytes
        answer_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("67108864");
        /// the maximum memory for images while they are checked, in bytes
        decode_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("201326592");
        /// how long a client may take to send a request body, and to read a part of a response; at most 10 minutes
        client_timeout: Duration = Time(time(10 * 60)), Fixed("30s");
    }
    "The log", in_file: true {
        /// the filter of the log on standard error, such as `warn`, `info,agora_http=debug` or, for a line per request,
        /// `info,agora_http::access=debug`. Libraries never log below `info`, whatever the filter: some would log what they
        /// send, including password hashes
        log: String = Text(filter), Fixed("info"), "--log" "FILTER";
        /// the duration from which a database call is logged as slow: a time, also in milliseconds such as `250ms`; `none`
        /// or `0` logs none
        slow_query: Option<Duration> = Text(slow_query), Fixed("1s");
        /// `text`, or `json` for one JSON object per line. The error of a failed start and the output of commands are
        /// always text
        log_format: LogFormat = Text(one_of(LOG_FORMATS)), Fixed("text");
    }
    "Commands", in_file: false {
        /// the configuration file
        config: Option<PathBuf> = Text(text::<PathBuf>),
            Unset("`agora.toml` in the working directory, if there is one"), "--config" "FILE";
        /// the database that `agora copy` copies, instead of `--from`
        copy_from: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)), Unset("none");
        /// the database that `agora copy` fills, instead of `--to`
        copy_to: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)), Unset("none");
    }
}
