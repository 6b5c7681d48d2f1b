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
        /// address and port to listen on; port 0 takes a free one
        listen: String = Text(address), Fixed("127.0.0.1:8080"), "--listen" "ADDRESS";
        /// address and port at which metrics are shown, such as `127.0.0.1:9464`; without it none are taken. Clients
        /// should not reach it
        metrics_listen: Option<String> = Text(address), Unset("none");
        /// the directory of the embedded database, the images and the generated secret; made when missing
        data_dir: PathBuf = Text(text::<PathBuf>), Fixed("./data"), "--data-dir" "DIRECTORY";
        /// where clients reach the service: the beginning of every link and image address. The `Host` header is never
        /// used for that
        public_url: Option<String> = Text(public_url),
            Unset("`http://` and the address listened on; `127.0.0.1` when that is all interfaces, so set it then");
        /// the addresses and networks of the proxies in front, such as `10.0.0.0/8, ::1`: where they write
        /// `X-Forwarded-For`, limits count the client that it names. From anybody else, the header is ignored
        trusted_proxies: TrustedProxies = List(list::<TrustedProxies>), Unset("none");
        /// the sites whose pages may call the service from a browser, such as `https://app.example.org,
        /// http://localhost:3000`; `*` for all
        cors_origins: CorsOrigins = List(list::<CorsOrigins>), Unset("none");
        /// `on`, or `off` to do without the client in the browser at `/app/`
        app: bool = Text(one_of(SWITCH)), Fixed("on");
        /// `on`, or `off` to do without the console of administrators at `/console/`
        console: bool = Text(one_of(SWITCH)), Fixed("on");
        /// threads that serve requests
        workers: usize = Number(number(1_usize..=1024)),
            Computed(|| available_parallelism().map_or(1, usize::from).clamp(1, 1024).to_string(), "number of cores");
        /// the time between two sweeps, which delete what is no longer kept: images that this database has on record as
        /// named by no row, expired sessions, requests that can no longer be repeated, what is left of deleted posts,
        /// and old notifications, mails and names; at most 30 days
        sweep_interval: Duration = Time(time(30 * DAY)), Fixed("1h");
    }
    "The database", in_file: true {
        /// `sqlite:PATH`, `sqlite:///ABSOLUTE/PATH`, or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`;
        /// of several servers, `HOST:PORT,HOST:PORT`, the one that takes writes is used
        database_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)),
            Unset("`agora.db` in the data directory");
        /// a streaming replica of the PostgreSQL server, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, from which lists are
        /// read; of several, the first that can be reached is. A name must lead to one server. All nodes need it, or none
        database_read_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_replica_url)),
            Unset("none: lists are read from the server that takes writes");
        /// of how many of a hundred accounts the replica serves the lists, the same on all nodes; with 0 it serves none, and
        /// nodes record what it would have to show
        database_read_share: u8 = Number(number(0_u8..=100)), Fixed("100");
        /// `postgresql`, or `distributed` for engines over many machines that speak as PostgreSQL does; how it is said at the
        /// first start, it stays
        database_flavor: Flavor = Text(one_of(FLAVORS)), Fixed("postgresql");
        /// how many connections to a PostgreSQL server are kept at most; 5 to 1000. A fifth is shared by reads of
        /// little and another by reads of lists, two for each core at most; the rest is for writes and searches
        database_connections: usize = Number(number(Options::MIN_CONNECTIONS..=1000)),
            Computed(|| Options::default().connections.to_string(), "ten for each core");
        /// how long a connection to a PostgreSQL server may take to be made; at most 28 s
        database_connect_timeout: Duration = Time(time(MAX_DATABASE_SECONDS)), Fixed("5s");
        /// how long a statement may take on a PostgreSQL server, and all the work of a transaction; half of it may be
        /// spent waiting for a lock
        database_statement_timeout: Duration = Time(time(30 * DAY)), Fixed("20s");
        /// how long a request waits for a connection to a PostgreSQL server, whether one becomes free or is made. With
        /// the time for a statement 28 s at most, so that it is over before the 30 s of the request
        database_wait_timeout: Duration = Time(time(30 * DAY)), Fixed("5s");
    }
    "Images", in_file: true {
        /// `file:///ABSOLUTE/PATH`; `s3://BUCKET` or `s3://BUCKET/PREFIX`; or `memory:`, which forgets the images at
        /// the end
        media_url: Option<String> = Text(location::<String, _>(agora_media::check_url)),
            Unset("`media` in the data directory");
        /// where clients reach what is at `AGORA_MEDIA_URL` by themselves
        media_public_url: Option<String> = Text(public_url), Unset("the service serves the images");
        /// the most bytes of an uploaded image
        max_image_bytes: u32 = Number(number(1_u32..=1 << 30)), Fixed("5242880");
        /// the most pixels of an uploaded image
        max_image_pixels: u32 = Number(number(1_u32..=1_000_000_000)), Fixed("40000000");
    }
    "Mail", in_file: true {
        /// the server that mails are handed to: `smtp://USER:PASSWORD@HOST:PORT`, which must offer STARTTLS, or
        /// `smtps://USER:PASSWORD@HOST:PORT`, with TLS from the beginning; its certificate is checked. In clear it is
        /// spoken to on this machine alone: `smtp://127.0.0.1:25?tls=none`
        smtp_url: Option<Secret> = SecretUrl(location::<Secret, _>(agora_mail::check_url)), Unset("no mail is sent");
        /// whom mails are from, such as `no-reply@example.org` or `Agora <no-reply@example.org>`; set with
        /// `AGORA_SMTP_URL`
        mail_from: Option<String> = Text(location::<String, _>(agora_mail::check_sender)), Unset("none");
        /// a directory with texts of mails: `password-reset.txt`, `email-verification.txt`, `email-change.txt`,
        /// `email-changed.txt`. What is not there is as it comes with the program
        mail_templates: Option<PathBuf> = Text(text::<PathBuf>), Unset("none");
    }
    "Accounts and access", in_file: true {
        /// what tokens and cursors are signed with, and requests under an `Idempotency-Key` known by: 32 bytes or more
        jwt_secret: Option<Secret> = Secret(signing_secret),
            Unset("generated once, kept as `jwt-secret` in the data directory");
        /// another secret, of 32 bytes or more, whose tokens and cursors are taken as well, and by which requests under
        /// an `Idempotency-Key` are known, while the one is changed for the other
        jwt_accepted_secret: Option<Secret> = Secret(signing_secret), Unset("none");
        /// how long a token is valid; at most 30 days
        token_lifetime: Duration = Time(time(30 * DAY)), Fixed("1h");
        /// cost of a password hash, 4 to 20; each step doubles its time. A lower one is renewed at the next login
        bcrypt_cost: u32 = Number(number(4_u32..=20)), Fixed("12");
        /// the username of the administrator made at start while no account has ADMIN; set with the two that follow.
        /// The start fails when another account has the name or the address
        admin_username: Option<String> = Text(text::<String>), Unset("none");
        /// its email address
        admin_email: Option<String> = Text(text::<String>), Unset("none");
        /// its password
        admin_password: Option<Secret> = Secret(text::<Secret>), Unset("none");
    }
    "Load", in_file: true {
        /// how many requests a minute are served to one client address; 1 to 1,000,000. More are answered 429, but for
        /// those to `/health/live` and `/health/ready`. A minute begins with the first request after the last one was
        /// over. Addresses of this machine have no such limit
        requests_per_address: Option<u32> = Number(number(1_u32..=1_000_000)), Unset("none");
        /// the same for one account, wherever its requests come from
        requests_per_account: Option<u32> = Number(number(1_u32..=1_000_000)), Unset("none");
        /// the most connections of clients at once
        max_connections: Option<usize> = Number(number(1_usize..=1_000_000)),
            Unset("4096, or fewer where the process may have fewer files open");
        /// the most requests in flight
        max_requests: usize = Number(number(1_usize..=1_000_000)), Fixed("2048");
        /// the most bytes of large bodies in memory at once
        upload_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("33554432");
        /// the most bytes of large answers in memory at once
        answer_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("67108864");
        /// the most bytes that images take while they are checked
        decode_memory: u32 = Number(number(MIB..=u32::MAX)), Fixed("201326592");
        /// how long a client may take to send a body, and to take a part of an answer; at most 10 minutes
        client_timeout: Duration = Time(time(10 * 60)), Fixed("30s");
    }
    "The log", in_file: true {
        /// what is logged to the standard error, such as `warn`, `info,agora_http=debug` or, for a line for each
        /// request, `info,agora_http::access=debug`. Of the libraries, nothing below `info` is logged, whatever is
        /// asked for: some repeat there what they send, password hashes included
        log: String = Text(filter), Fixed("info"), "--log" "FILTER";
        /// a call of the database that takes as long is logged: a time, or one in milliseconds such as `250ms`; `none`
        /// or `0` logs none
        slow_query: Option<Duration> = Text(slow_query), Fixed("1s");
        /// `text`, or `json` for one JSON object on each line. What a start fails with is text in either case, as what
        /// commands say is
        log_format: LogFormat = Text(one_of(LOG_FORMATS)), Fixed("text");
    }
    "Commands", in_file: false {
        /// the configuration file
        config: Option<PathBuf> = Text(text::<PathBuf>),
            Unset("`agora.toml` in the working directory, if there is one"), "--config" "FILE";
        /// the database that `agora copy` copies, in place of `--from`
        copy_from: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)), Unset("none");
        /// the database that `agora copy` fills, in place of `--to`
        copy_to: Option<Secret> = SecretUrl(location::<Secret, _>(agora_database::check_url)), Unset("none");
    }
}
