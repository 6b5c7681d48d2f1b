//! Parsers of the values of settings. Their error is the end of a message that begins with the name of the setting.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use url::Url;

use crate::setting::Secret;

/// The minimum length of a signing secret in bytes, which RFC 7518 requires for HS256.
pub(crate) const MIN_SECRET_BYTES: usize = 32;

const SECOND: u64 = 1;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

pub(crate) type Parsed<T> = Result<T, String>;

pub(crate) fn text<T: From<String>>(text: &str) -> Parsed<T> {
    Ok(text.to_owned().into())
}

/// Parses one of these words into its value.
pub(crate) fn one_of<T: Copy, const N: usize>(words: [(&'static str, T); N]) -> impl Fn(&str) -> Parsed<T> {
    move |text| {
        let meant = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        meant.ok_or_else(|| format!(" must be {}", words.map(|(word, _)| word).join(" or ")))
    }
}

pub(crate) fn address(text: &str) -> Parsed<String> {
    let parts = text.rsplit_once(':').filter(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
    let wrong = || " must be an address and a port such as 127.0.0.1:8080".to_owned();
    parts.map(|_| text.to_owned()).ok_or_else(wrong)
}

/// Parses a URL that an adapter accepts: `check` is that adapter's own check.
pub(crate) fn location<T: From<String>, E: Display>(
    check: impl Fn(&str) -> Result<(), E>,
) -> impl Fn(&str) -> Parsed<T> {
    move |text| check(text).map(|()| text.to_owned().into()).map_err(|error| format!(": {error}"))
}

pub(crate) fn public_url(text: &str) -> Parsed<String> {
    let is_plain = |url: &Url| {
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        let has_user = !url.username().is_empty() || url.password().is_some();
        is_web && !has_user && url.query().is_none() && url.fragment().is_none()
    };
    let wrong = || " must be an http or https address such as https://agora.example.org".to_owned();
    let url = Url::parse(text).ok().filter(is_plain).ok_or_else(wrong)?;
    // Normalized: the original may contain white space and line breaks, which headers do not allow.
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

pub(crate) fn signing_secret(text: &str) -> Parsed<Secret> {
    // Surrounding white space is not part of it: files with secrets often end with a line break.
    match text.trim() {
        secret if secret.len() >= MIN_SECRET_BYTES => Ok(secret.to_owned().into()),
        _ => Err(format!(" must be at least {MIN_SECRET_BYTES} bytes, as from `openssl rand -hex 32`")),
    }
}

pub(crate) fn list<T: FromStr<Err = String>>(text: &str) -> Parsed<T> {
    text.parse().map_err(|problem| format!(": {problem}"))
}

pub(crate) fn number<N: FromStr + PartialOrd + Display>(bounds: RangeInclusive<N>) -> impl Fn(&str) -> Parsed<N> {
    move |text| {
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number.ok_or_else(|| format!(" must be a number from {} to {}", bounds.start(), bounds.end()))
    }
}

/// Parses a time of one second to `most` seconds.
pub(crate) fn time(most: u64) -> impl Fn(&str) -> Parsed<Duration> {
    move |text| {
        duration(text).filter(|time| time.as_secs() <= most).ok_or_else(|| {
            let units = [(DAY, "days"), (MINUTE, "minutes"), (SECOND, "seconds")];
            let (size, unit) =
                units.into_iter().find(|(size, _)| most.is_multiple_of(*size)).unwrap_or((SECOND, "seconds"));
            let most = most / size;
            format!(" must be a time from 1 second to {most} {unit}: seconds, or a number with s, m, h or d behind it")
        })
    }
}

/// Parses a time that, unlike other settings, may be in milliseconds, since queries are short; `None` if none are logged.
pub(crate) fn slow_query(text: &str) -> Parsed<Option<Duration>> {
    let milliseconds = |text: &str| text.strip_suffix("ms")?.parse().ok().filter(|count| *count > 0);
    let time = match text {
        "0" | "none" => return Ok(None),
        text => milliseconds(text).map(Duration::from_millis).or_else(|| duration(text)),
    };
    time.map(Some).ok_or_else(|| " must be a time such as 250ms or 1s, or none".to_owned())
}

/// Parses a number of seconds, or of another unit if it is followed by s, m, h or d. At most 30 days.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    };
    let seconds = digits.parse::<u64>().ok()?.checked_mul(unit)?;
    (1..=30 * DAY).contains(&seconds).then(|| Duration::from_secs(seconds))
}

pub(crate) fn filter(text: &str) -> Parsed<String> {
    // Spaces around commas are allowed.
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    let filter = parts.join(",");
    // A part without `=` must be a level: `Targets` would take anything else for a target and enable all of its levels.
    let is_part = |part: &&str| match part.split_once('=') {
        None => part.parse::<LevelFilter>().is_ok(),
        Some((target, _)) => target.chars().all(|it| it.is_ascii_alphanumeric() || "_:".contains(it)),
    };
    let is_filter = parts.iter().all(is_part) && filter.parse::<Targets>().is_ok();
    if is_filter { Ok(filter) } else { Err(" must be a filter such as warn or agora_http=debug".to_owned()) }
}
