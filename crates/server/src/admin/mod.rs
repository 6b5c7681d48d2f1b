//! `agora admin`: the administrators, and any account, from the command line of the machine.

pub(crate) mod command;

use std::io;
use std::io::{BufRead, IsTerminal};

use agora_config::in_words;
use agora_domain::Error;
use agora_domain::accounts::{
    AccountDetails, Accounts, LoginIdentifier, ManagedAccount, Password, Registration, Role, RoleAction, RoleChange,
};
use agora_domain::clock::Timestamp;
use anyhow::{Context, Result, bail};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::app::Adapters;

/// When a change counts on the nodes that run.
const SOON: &str = "A running service sees it within 5 seconds.";

/// What an operator does with accounts. Each says what to tell the operator.
struct Administration {
    accounts: Accounts,
}

impl Administration {
    fn new(adapters: &Adapters) -> Self {
        Self { accounts: adapters.accounts() }
    }

    /// Makes an account with ADMIN and USER.
    async fn create(&self, username: &str, email: &str, password: &str) -> Result<String> {
        let admin = Registration::parse(Some(username), Some(email), Some(password), None);
        let admin = admin.map_err(|errors| anyhow::anyhow!(in_words(&errors)))?;
        let name = admin.username.as_str().to_owned();
        self.accounts.create_admin(admin).await.context("cannot make the account")?;
        Ok(format!("Made {name}, with ADMIN and USER."))
    }

    /// Lists those with ADMIN, oldest first.
    async fn list(&self) -> Result<String> {
        let admins = self.accounts.admins().await?;
        let lines = admins.iter().map(|account| {
            let state = if account.enabled { "" } else { " (disabled)" };
            format!("{} <{}>{state}", account.username.as_str(), account.email.as_str())
        });
        let lines: Vec<_> = lines.collect();
        Ok(if lines.is_empty() { "No account has ADMIN.".to_owned() } else { lines.join("\n") })
    }

    /// Shows an account.
    async fn show(&self, identifier: &str) -> Result<String> {
        let AccountDetails { account, sessions } = self.accounts.details(self.find(identifier).await?).await?;
        let has = [(Role::Admin, "ADMIN"), (Role::User, "USER")].into_iter();
        let roles: Vec<_> = has.filter(|(role, _)| account.roles.contains(*role)).map(|(_, name)| name).collect();
        Ok(format!(
            "Username: {}\nEmail: {}\nRoles: {}\nState: {}\nRegistered: {}\nSessions: {sessions}",
            account.username.as_str(),
            account.email.as_str(),
            if roles.is_empty() { "none".to_owned() } else { roles.join(", ") },
            if account.enabled { "enabled" } else { "disabled" },
            in_utc(account.created_at)
        ))
    }

    /// Gives ADMIN to an account.
    async fn grant(&self, identifier: &str) -> Result<String> {
        let account = self.find(identifier).await?;
        self.accounts.change_role(account, RoleChange { role: Role::Admin, action: RoleAction::Add }).await?;
        Ok(format!("{identifier} has ADMIN. {SOON}"))
    }

    /// Takes ADMIN from an account.
    async fn revoke(&self, identifier: &str) -> Result<String> {
        let account = self.find(identifier).await?;
        self.accounts.change_role(account, RoleChange { role: Role::Admin, action: RoleAction::Remove }).await?;
        Ok(format!("{identifier} does not have ADMIN. {SOON}"))
    }

    /// Enables an account, or disables it and ends its sessions.
    async fn set_enabled(&self, identifier: &str, enabled: bool) -> Result<String> {
        let account = self.find(identifier).await?;
        self.accounts.set_enabled(account, enabled).await?;
        let state = if enabled { "enabled" } else { "disabled and logged out everywhere" };
        Ok(format!("{identifier} is {state}. {SOON}"))
    }

    /// Gives an account another password, which is asked for once it is known that there is such an account.
    async fn reset_password(&self, identifier: &str, ask: impl Fn() -> Result<String>) -> Result<String> {
        let account = self.find(identifier).await?;
        let password = Password::parse(&ask()?).map_err(|violation| anyhow::anyhow!(violation.to_string()))?;
        self.accounts.reset_password(account, &password).await?;
        Ok(format!("{identifier} has a new password and is logged out everywhere. {SOON}"))
    }

    async fn find(&self, identifier: &str) -> Result<ManagedAccount> {
        let parsed = LoginIdentifier::parse(identifier).map_err(|violation| anyhow::anyhow!(violation.to_string()))?;
        match self.accounts.managed_by_operator(&parsed).await {
            Ok(account) => Ok(account),
            Err(Error::NotFound(_)) => bail!("no account has the username or email {identifier}"),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns an instant to the second, such as `2026-11-22T10:30:00Z`.
fn in_utc(at: Timestamp) -> String {
    let time = OffsetDateTime::from_unix_timestamp(at.unix_seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_else(|_| at.unix_seconds().to_string())
}

/// Returns a new password: asked for twice on a terminal, otherwise the first line of the standard input.
fn ask_password() -> Result<String> {
    if io::stdin().is_terminal() {
        let password = rpassword::prompt_password("Password: ")?;
        if rpassword::prompt_password("Password again: ")? != password {
            bail!("the passwords differ");
        }
        return Ok(password);
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("no password on the standard input")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
