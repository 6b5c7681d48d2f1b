//! Checks settings against each other, and derives values from several of them.

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
    /// The minimum length of a signing secret in bytes, which RFC 7518 requires for HS256.
    pub const MIN_SECRET_BYTES: usize = MIN_SECRET_BYTES;

    /// The default maximum of client connections, if the limit on open files allows as many.
    pub const MAX_CONNECTIONS: usize = 4096;

    /// Returns the options for a PostgreSQL server.
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

    /// Returns the limits on requests per minute.
    pub fn throttling(&self) -> Throttling {
        Throttling {
            per_address: self.requests_per_address.and_then(NonZeroU32::new),
            per_account: self.requests_per_account.and_then(NonZeroU32::new),
        }
    }

    /// Returns the administrator to create at start if there is none.
    pub fn admin(&self) -> Option<Registration> {
        self.parse_admin()?.ok()
    }

    fn parse_admin(&self) -> Option<Result<Registration, String>> {
        let (username, email) = (self.admin_username.as_deref()?, self.admin_email.as_deref()?);
        let password = self.admin_password.as_ref()?.expose();
        Some(parse_registration(username, email, password))
    }

    /// Adds a problem for each contradiction between settings.
    pub(crate) fn check(&self, values: &mut Values) {
        // Port 0 stands for a different free port each time.
        let is_fixed = self.listen.rsplit_once(':').is_some_and(|(_, port)| port.parse() != Ok(0u16));
        if is_fixed && self.metrics_listen.as_ref() == Some(&self.listen) {
            add_joint_problem(values, [&SETTINGS.listen, &SETTINGS.metrics_listen], " must be two addresses");
        }
        // With two equal secrets, only one was replaced in a rotation: the old tokens are lost, and everybody is logged out.
        if self.jwt_secret.is_some() && self.jwt_secret == self.jwt_accepted_secret {
            let both = [&SETTINGS.jwt_secret, &SETTINGS.jwt_accepted_secret];
            add_joint_problem(values, both, " must be two secrets: the new one and the old one");
        }
        if let (Some("memory:"), Some(_)) = (self.media_url.as_deref(), &self.media_public_url) {
            let both = [&SETTINGS.media_url, &SETTINGS.media_public_url];
            add_joint_problem(values, both, ": only the service itself can serve images in memory");
        }
        let is_server =
            self.database_url.as_ref().is_some_and(|url| agora_database::check_replica_url(url.expose()).is_ok());
        if self.database_read_url.is_some() && !is_server {
            let both = [&SETTINGS.database_read_url, &SETTINGS.database_url];
            add_joint_problem(values, both, ": only a PostgreSQL server has replicas");
        }
        if self.database_read_url.is_some() && self.database_flavor == Flavor::Distributed {
            let both = [&SETTINGS.database_read_url, &SETTINGS.database_flavor];
            add_joint_problem(values, both, ": a distributed engine has no replicas to read from");
        }
        let both = [&SETTINGS.smtp_url, &SETTINGS.mail_from];
        let [has_server, has_sender] = both.map(|setting| values.given(setting).is_some());
        if has_server != has_sender {
            let names = both.map(Setting::variable).join(" and ");
            values.add_problem(&both, format!("{names} must be set together"));
        }
        let most = Duration::from_secs(MAX_DATABASE_SECONDS);
        if self.database_wait_timeout + self.database_statement_timeout > most {
            let both = [&SETTINGS.database_wait_timeout, &SETTINGS.database_statement_timeout];
            add_joint_problem(values, both, &format!(" must be at most {MAX_DATABASE_SECONDS}s together"));
        }
    }

    /// Adds a problem for each setting of the administrator that is missing or invalid.
    pub(crate) fn check_admin(&self, values: &mut Values) {
        let all = [&SETTINGS.admin_username, &SETTINGS.admin_email, &SETTINGS.admin_password];
        let set = all.iter().filter(|setting| values.given(setting).is_some());
        let set: Vec<String> = set.map(|setting| values.name(setting)).collect();
        if (1..all.len()).contains(&set.len()) {
            let names = all.map(Setting::variable).join(", ");
            values.add_problem(&all, format!("{names} must be set together, not only {}", set.join(", ")));
        }
        if let (Some(Err(errors)), Some(username)) = (self.parse_admin(), set.first()) {
            values.add_problem(&all, format!("{username} and the other settings of the administrator: {errors}"));
        }
    }
}

fn add_joint_problem(values: &mut Values, both: [&'static Setting; 2], what: &str) {
    let [one, other] = both.map(|setting| values.name_with_default(setting));
    values.add_problem(&both, format!("{one} and {other}{what}"));
}

/// Parses the username, the email address and the password of an account.
///
/// # Errors
/// All violations, on one line.
pub fn parse_registration(username: &str, email: &str, password: &str) -> Result<Registration, String> {
    match (Username::parse(username), Email::parse(email), Password::parse(password)) {
        (Ok(username), Ok(email), Ok(password)) => Ok(Registration { username, email, password, biography: None }),
        (username, email, password) => {
            let violations = [username.err(), email.err(), password.err()].into_iter().flatten();
            Err(violations.map(|violation| violation.to_string()).collect::<Vec<_>>().join("; "))
        }
    }
}
