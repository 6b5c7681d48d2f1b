//! What settings must be together, and what they make together.

use std::num::NonZeroU32;
use std::time::Duration;

use agora_database::{Flavor, Options};
use agora_domain::accounts::{Email, Password, Registration, Username};
use agora_http::Throttling;

use crate::parse::MIN_SECRET_BYTES;
use crate::setting::Setting;
use crate::settings::{Config, MAX_DATABASE_SECONDS, SETTINGS};
use crate::values::Values;

impl Config {
    /// The fewest bytes of a signing secret: what HS256 puts in.
    pub const MIN_SECRET_BYTES: usize = MIN_SECRET_BYTES;

    /// The most connections by default.
    pub const MAX_CONNECTIONS: usize = 4096;

    /// Returns how a PostgreSQL server is used.
    pub fn database(&self) -> Options {
        Options {
            connections: self.database_connections,
            connect_timeout: self.database_connect_timeout,
            statement_timeout: self.database_statement_timeout,
            wait_timeout: self.database_wait_timeout,
            flavor: self.database_flavor,
            replica_share: self.database_read_share,
        }
    }

    /// Returns how many requests a minute are served.
    pub fn throttling(&self) -> Throttling {
        Throttling {
            per_address: self.requests_per_address.and_then(NonZeroU32::new),
            per_account: self.requests_per_account.and_then(NonZeroU32::new),
        }
    }

    /// Returns the administrator to make at start when there is none.
    pub fn admin(&self) -> Option<Registration> {
        self.parse_admin()?.ok()
    }

    fn parse_admin(&self) -> Option<Result<Registration, String>> {
        let (username, email) = (self.admin_username.as_deref()?, self.admin_email.as_deref()?);
        let password = self.admin_password.as_ref()?.expose();
        Some(parse_registration(username, email, password))
    }

    /// Notes what contradicts itself.
    pub(crate) fn check(&self, values: &mut Values) {
        // Port 0 is another one each time.
        let is_fixed = self.listen.rsplit_once(':').is_some_and(|(_, port)| port.parse() != Ok(0u16));
        if is_fixed && self.metrics_listen.as_ref() == Some(&self.listen) {
            refuse_together(values, [&SETTINGS.listen, &SETTINGS.metrics_listen], " must be two addresses");
        }
        // Whoever sets the same twice has exchanged one of them alone, and would log everybody out.
        if self.jwt_secret.is_some() && self.jwt_secret == self.jwt_accepted_secret {
            let both = [&SETTINGS.jwt_secret, &SETTINGS.jwt_accepted_secret];
            refuse_together(values, both, " must be two secrets: the new one and the old one");
        }
        if let (Some("memory:"), Some(_)) = (self.media_url.as_deref(), &self.media_public_url) {
            let both = [&SETTINGS.media_url, &SETTINGS.media_public_url];
            refuse_together(values, both, ": what is in memory can be had from the service alone");
        }
        let is_server =
            self.database_url.as_ref().is_some_and(|url| agora_database::check_replica_url(url.expose()).is_ok());
        if self.database_read_url.is_some() && !is_server {
            let both = [&SETTINGS.database_read_url, &SETTINGS.database_url];
            refuse_together(values, both, ": only a PostgreSQL server has replicas");
        }
        if self.database_read_url.is_some() && self.database_flavor == Flavor::Distributed {
            let both = [&SETTINGS.database_read_url, &SETTINGS.database_flavor];
            refuse_together(values, both, ": an engine over many machines has no replicas to read from");
        }
        let both = [&SETTINGS.smtp_url, &SETTINGS.mail_from];
        let [has_server, has_sender] = both.map(|setting| values.given(setting).is_some());
        if has_server != has_sender {
            let names = both.map(Setting::variable).join(" and ");
            values.refuse(&both, format!("{names} must be set together"));
        }
        let most = Duration::from_secs(MAX_DATABASE_SECONDS);
        if self.database_wait_timeout + self.database_statement_timeout > most {
            let both = [&SETTINGS.database_wait_timeout, &SETTINGS.database_statement_timeout];
            refuse_together(values, both, &format!(" must be at most {MAX_DATABASE_SECONDS}s together"));
        }
    }

    /// Notes what is missing or wrong of the administrator.
    pub(crate) fn check_admin(&self, values: &mut Values) {
        let all = [&SETTINGS.admin_username, &SETTINGS.admin_email, &SETTINGS.admin_password];
        let set = all.iter().filter(|setting| values.given(setting).is_some());
        let set: Vec<String> = set.map(|setting| values.name(setting)).collect();
        if (1..all.len()).contains(&set.len()) {
            let names = all.map(Setting::variable).join(", ");
            values.refuse(&all, format!("{names} must be set together, not only {}", set.join(", ")));
        }
        if let (Some(Err(errors)), Some(username)) = (self.parse_admin(), set.first()) {
            values.refuse(&all, format!("{username} and what belongs to it: {errors}"));
        }
    }
}

fn refuse_together(values: &mut Values, both: [&'static Setting; 2], what: &str) {
    let [one, other] = both.map(|setting| values.name_with_default(setting));
    values.refuse(&both, format!("{one} and {other}{what}"));
}

/// Parses the name, the email address and the password of an account.
///
/// # Errors
/// What is wrong with them, on one line.
pub fn parse_registration(username: &str, email: &str, password: &str) -> Result<Registration, String> {
    match (Username::parse(username), Email::parse(email), Password::parse(password)) {
        (Ok(username), Ok(email), Ok(password)) => Ok(Registration { username, email, password, biography: None }),
        (username, email, password) => {
            let violations = [username.err(), email.err(), password.err()].into_iter().flatten();
            Err(violations.map(|violation| violation.to_string()).collect::<Vec<_>>().join("; "))
        }
    }
}
