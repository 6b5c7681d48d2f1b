//! From the texts that were given to the values that the program works with.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use agora_database::Options;
use agora_domain::accounts::{Email, Password, Registration, Username};
use agora_http::Throttling;
use tracing_subscriber::EnvFilter;
use url::Url;

use super::entry::Problem;
use super::table::{Kind, Setting};
use super::values::Values;
use super::{Config, LogFormat, Purpose, Secret, table};

/// Returns the configuration that these values make. Where one is bad, its default stands in for it, and it is among
/// the problems.
pub(super) fn config(values: &Values, purpose: Purpose, problems: &mut Vec<Problem>) -> Config {
    let mut reader = Reader { values, problems };
    reader.refuse_images_of_memory_elsewhere();
    reader.refuse_one_address_for_both();
    reader.refuse_one_secret_for_both();
    // What `agora copy` takes, which is in no configuration of a service.
    for setting in [&table::COPY_FROM, &table::COPY_TO] {
        reader.location(setting, agora_database::check_url);
    }
    Config {
        listen: reader.address(&table::LISTEN),
        metrics_listen: reader.optional_address(&table::METRICS_LISTEN),
        data_dir: PathBuf::from(reader.text(&table::DATA_DIR).unwrap_or_default()),
        database_url: reader.location(&table::DATABASE_URL, agora_database::check_url).map(Secret::from),
        database: reader.database(),
        media_url: reader.location(&table::MEDIA_URL, agora_media::check_url),
        media_public_url: reader.public_url(&table::MEDIA_PUBLIC_URL),
        public_url: reader.public_url(&table::PUBLIC_URL),
        jwt_secret: reader.signing_secret(&table::JWT_SECRET),
        jwt_accepted_secret: reader.signing_secret(&table::JWT_ACCEPTED_SECRET),
        token_lifetime: reader.time(&table::TOKEN_LIFETIME),
        cors_origins: reader.list(&table::CORS_ORIGINS),
        trusted_proxies: reader.list(&table::TRUSTED_PROXIES),
        throttling: Throttling {
            per_address: reader.number::<u32>(&table::REQUESTS_PER_ADDRESS).and_then(NonZeroU32::new),
            per_account: reader.number::<u32>(&table::REQUESTS_PER_ACCOUNT).and_then(NonZeroU32::new),
        },
        bcrypt_cost: reader.number(&table::BCRYPT_COST).unwrap_or_default(),
        max_image_bytes: reader.number(&table::MAX_IMAGE_BYTES).unwrap_or_default(),
        max_image_pixels: reader.number(&table::MAX_IMAGE_PIXELS).unwrap_or_default(),
        max_connections: reader.number(&table::MAX_CONNECTIONS),
        max_requests: reader.number(&table::MAX_REQUESTS).unwrap_or_default(),
        upload_memory: reader.number(&table::UPLOAD_MEMORY).unwrap_or_default(),
        answer_memory: reader.number(&table::ANSWER_MEMORY).unwrap_or_default(),
        decode_memory: reader.number(&table::DECODE_MEMORY).unwrap_or_default(),
        client_timeout: reader.client_timeout(),
        workers: reader.number(&table::WORKERS).unwrap_or_default(),
        sweep_interval: reader.time(&table::SWEEP_INTERVAL),
        admin: if purpose == Purpose::Administration { None } else { reader.admin() },
        slow_query: reader.slow_query(),
        log: reader.filter(&table::LOG),
        log_format: match reader.choice(&table::LOG_FORMAT).as_deref() {
            Some("json") => LogFormat::Json,
            _ => LogFormat::Text,
        },
        file: None,
    }
}

/// Reads settings of each kind. Those that have a default always have a value.
struct Reader<'a> {
    values: &'a Values,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Takes note of what a setting must be.
    fn refuse(&mut self, setting: &Setting, what: &str) {
        let text = format!("{}{what}", self.values.name(setting));
        self.problems.push(Problem { of: vec![setting.variable], is_of_whole_file: false, text });
    }

    /// Takes note of what settings must be together.
    fn refuse_together(&mut self, settings: &[&Setting], text: String) {
        let of = settings.iter().map(|setting| setting.variable).collect();
        self.problems.push(Problem { of, is_of_whole_file: false, text });
    }

    fn text(&self, setting: &Setting) -> Option<String> {
        self.values.effective(setting)
    }

    /// Returns what a text means; what its default does when it means nothing.
    fn parse<T>(&mut self, setting: &Setting, what: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let text = self.text(setting)?;
        parse(text.trim()).or_else(|| {
            self.refuse(setting, what);
            setting.default_value().and_then(|default| parse(&default))
        })
    }

    fn address(&mut self, setting: &Setting) -> String {
        self.optional_address(setting).unwrap_or_default()
    }

    fn optional_address(&mut self, setting: &Setting) -> Option<String> {
        let parse = |text: &str| {
            let (host, port) = text.rsplit_once(':')?;
            (!host.is_empty() && port.parse::<u16>().is_ok()).then(|| text.to_owned())
        };
        let what = " must be an address and a port such as 127.0.0.1:8080";
        self.parse(setting, what, parse)
    }

    /// A URL that an adapter understands, by its own word.
    fn location<E: std::error::Error>(
        &mut self,
        setting: &Setting,
        check: impl Fn(&str) -> Result<(), E>,
    ) -> Option<String> {
        let url = self.text(setting)?;
        match check(&url) {
            Ok(()) => Some(url),
            Err(error) => {
                self.refuse(setting, &format!(": {error}"));
                None
            }
        }
    }

    fn public_url(&mut self, setting: &Setting) -> Option<String> {
        let parse = |text: &str| {
            let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
            let url = url.filter(|url| url.query().is_none() && url.fragment().is_none())?;
            let is_plain = url.username().is_empty() && url.password().is_none();
            // As it was understood: what was written may hold blanks and line ends, which no header takes.
            is_plain.then(|| url.as_str().trim_end_matches('/').to_owned())
        };
        self.parse(setting, " must be an http or https address such as https://agora.example.org", parse)
    }

    fn refuse_images_of_memory_elsewhere(&mut self) {
        let both = [&table::MEDIA_URL, &table::MEDIA_PUBLIC_URL];
        if let [Some("memory:"), Some(_)] = both.map(|setting| self.values.text(setting)) {
            let [url, public_url] = both.map(|setting| self.values.name(setting));
            let what = "what is in memory can be had from the service alone";
            self.refuse_together(&both, format!("{url} and {public_url}: {what}"));
        }
    }

    fn refuse_one_address_for_both(&mut self) {
        let both = [&table::LISTEN, &table::METRICS_LISTEN];
        let [Some(own), Some(of_metrics)] = both.map(|setting| self.text(setting)) else { return };
        // Port 0 is another one each time.
        let is_fixed = own.trim().rsplit_once(':').is_some_and(|(_, port)| port.parse() != Ok(0u16));
        if own.trim() == of_metrics.trim() && is_fixed {
            let [own, of_metrics] = both.map(|setting| self.values.name_with_default(setting));
            self.refuse_together(&both, format!("{own} and {of_metrics} must be two addresses"));
        }
    }

    /// Whoever sets the same twice has exchanged one of them alone, and would log everybody out.
    fn refuse_one_secret_for_both(&mut self) {
        let both = [&table::JWT_SECRET, &table::JWT_ACCEPTED_SECRET];
        let [Some(own), Some(accepted)] = both.map(|setting| self.text(setting)) else { return };
        if own.trim() == accepted.trim() {
            let [own, accepted] = both.map(|setting| self.values.name(setting));
            self.refuse_together(
                &both,
                format!("{own} and {accepted} must be two secrets: the new one and the old one"),
            );
        }
    }

    fn signing_secret(&mut self, setting: &Setting) -> Option<Secret> {
        // White space around it is no part of it: files that hold secrets often end with a line's end.
        let fewest = Config::MIN_SECRET_BYTES;
        let what = format!(" must be at least {fewest} bytes, as from `openssl rand -hex 32`");
        self.parse(setting, &what, |text| (text.len() >= fewest).then(|| Secret::from(text.to_owned())))
    }

    fn list<T: FromStr<Err = String> + Default>(&mut self, setting: &Setting) -> T {
        let parsed = self.text(setting).unwrap_or_default().parse();
        parsed.unwrap_or_else(|problem| {
            self.refuse(setting, &format!(": {problem}"));
            T::default()
        })
    }

    fn number<N: TryFrom<u64>>(&mut self, setting: &Setting) -> Option<N> {
        let (Kind::Number(least, most) | Kind::Bytes(least, most)) = setting.kind else { return None };
        let parse = |text: &str| {
            let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number))?;
            N::try_from(number).ok()
        };
        self.parse(setting, &format!(" must be a number from {least} to {most}"), parse)
    }

    fn time(&mut self, setting: &Setting) -> Duration {
        let what = " must be a time from 1 second to 30 days, such as 3600, 90s, 15m, 1h or 7d";
        self.parse(setting, what, duration).unwrap_or_default()
    }

    fn client_timeout(&mut self) -> Duration {
        let (given, most) = (self.time(&table::CLIENT_TIMEOUT), Config::MAX_CLIENT_TIMEOUT);
        if given > most {
            self.refuse(&table::CLIENT_TIMEOUT, &format!(" must be at most {}m", most.as_secs() / 60));
        }
        given.min(most)
    }

    /// Queries are quicker than what other times are about, so this one may be in milliseconds.
    fn slow_query(&mut self) -> Option<Duration> {
        let milliseconds = |text: &str| text.strip_suffix("ms")?.parse().ok().filter(|count| *count > 0);
        let parse = |text: &str| match text {
            "0" | "none" => Some(None),
            _ => milliseconds(text).map(Duration::from_millis).or_else(|| duration(text)).map(Some),
        };
        self.parse(&table::SLOW_QUERY, " must be a time such as 250ms or 1s, or none", parse).flatten()
    }

    fn choice(&mut self, setting: &Setting) -> Option<String> {
        let Kind::Choice(words) = setting.kind else { return None };
        let what = format!(" must be {}", words.join(" or "));
        self.parse(setting, &what, |text| words.contains(&text).then(|| text.to_owned()))
    }

    fn filter(&mut self, setting: &Setting) -> String {
        let parse = |text: &str| EnvFilter::builder().parse(text).is_ok().then(|| text.to_owned());
        self.parse(setting, " must be such as warn or agora_http=debug", parse).unwrap_or_default()
    }

    fn database(&mut self) -> Options {
        let options = Options {
            connections: self.number(&table::DATABASE_CONNECTIONS).unwrap_or_default(),
            connect_timeout: self.time(&table::DATABASE_CONNECT_TIMEOUT),
            statement_timeout: self.time(&table::DATABASE_STATEMENT_TIMEOUT),
            wait_timeout: self.time(&table::DATABASE_WAIT_TIMEOUT),
        };
        let (most, seconds) = (Config::MAX_DATABASE_TIME, Config::MAX_DATABASE_TIME.as_secs());
        if options.connect_timeout > most {
            self.refuse(&table::DATABASE_CONNECT_TIMEOUT, &format!(" must be at most {seconds}s"));
        }
        if options.wait_timeout + options.statement_timeout > most {
            let both = [&table::DATABASE_WAIT_TIMEOUT, &table::DATABASE_STATEMENT_TIMEOUT];
            let [wait, statement] = both.map(|setting| self.values.name_with_default(setting));
            self.refuse_together(&both, format!("{wait} and {statement} must be at most {seconds}s together"));
        }
        options
    }

    fn admin(&mut self) -> Option<Registration> {
        let all = [&table::ADMIN_USERNAME, &table::ADMIN_EMAIL, &table::ADMIN_PASSWORD];
        let set: Vec<_> = all.iter().filter(|setting| self.values.given(setting).is_some()).collect();
        if !set.is_empty() && set.len() < all.len() {
            let names = all.map(|setting| setting.variable).join(", ");
            let set: Vec<String> = set.iter().map(|setting| self.values.name(setting)).collect();
            self.refuse_together(&all, format!("{names} must be set together, not only {}", set.join(", ")));
        }
        match &all.map(|setting| self.text(setting)) {
            [Some(username), Some(email), Some(password)] => parse_registration(username, email, password)
                .map_err(|errors| {
                    let [username, ..] = all.map(|setting| self.values.name(setting));
                    self.refuse_together(&all, format!("{username} and what belongs to it: {errors}"));
                })
                .ok(),
            _ => None,
        }
    }
}

/// Returns a number of seconds, or of another unit when followed by s, m, h or d.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let seconds = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    (1..=Config::LONGEST.as_secs()).contains(&seconds).then(|| Duration::from_secs(seconds))
}

/// Parses the name, the email address and the password of an account.
///
/// # Errors
/// What is wrong with them, on one line.
pub(crate) fn parse_registration(username: &str, email: &str, password: &str) -> Result<Registration, String> {
    match (Username::parse(username), Email::parse(email), Password::parse(password)) {
        (Ok(username), Ok(email), Ok(password)) => Ok(Registration { username, email, password, biography: None }),
        (username, email, password) => {
            let violations = [username.err(), email.err(), password.err()].into_iter().flatten();
            Err(violations.map(|violation| violation.to_string()).collect::<Vec<_>>().join("; "))
        }
    }
}
