//! `agora admin`: manages administrators and accounts from the command line.

use std::io;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use agora_config::{Config, Invalid, parse_registration, shown_url};
use agora_database::{Database, OpenError, Probe, probe};
use agora_domain::accounts::{AccountDetails, Accounts, ManagedAccount, Password, Role, RoleAction, RoleChange};
use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, Subcommand};

use crate::moderation::{account_called, instant, lines};
use crate::open::database_url;
use crate::{data_dir, open};

/// How soon a change takes effect on running nodes.
const EFFECTIVE_WITHIN: &str = "A running service sees the change within 5 seconds.";

/// What `agora admin` does.
#[derive(Debug, Subcommand)]
pub enum AdminCommand {
    /// Create an account with the roles ADMIN and USER
    Create {
        /// Its username (AGORA_ADMIN_USERNAME)
        #[arg(long)]
        username: Option<String>,
        /// Its email address (AGORA_ADMIN_EMAIL)
        #[arg(long)]
        email: Option<String>,
        /// Its password (AGORA_ADMIN_PASSWORD). Better omit it, since other users of the machine can see command lines: it
        /// is then prompted for, or read from standard input
        #[arg(long)]
        password: Option<String>,
    },
    /// List the accounts with ADMIN
    List,
    /// Show an account: its roles, whether it is disabled, when it was created, and how many sessions it has
    Show(Named),
    /// Grant ADMIN to an account
    Grant(Named),
    /// Revoke ADMIN from an account
    Revoke(Named),
    /// Disable an account, whatever its roles, and log it out everywhere
    Disable(Named),
    /// Enable an account that was disabled
    Enable(Named),
    /// Set a new password, which is prompted for or read from standard input, and log the account out everywhere
    ResetPassword(Named),
}

/// An existing account.
#[derive(Debug, Args)]
pub struct Named {
    /// The account's username or email
    identifier: String,
}

impl Named {
    async fn find(&self, accounts: &Accounts) -> Result<ManagedAccount> {
        account_called(accounts, &self.identifier).await
    }
}

/// Creates the configured administrator. Must be called only if no account has ADMIN. Returns whether there is an administrator
/// now, which is `false` if none is configured.
///
/// # Errors
/// When the account could not be created, and no other node has created one.
pub async fn make_configured(config: &Config, accounts: &Accounts) -> Result<bool> {
    let Some(admin) = config.admin() else { return Ok(false) };
    let made = accounts.create_admin(admin).await;
    // If several nodes start at the same time on an empty database, one creates it and the others fail to.
    if made.is_err() && accounts.has_admin().await? {
        tracing::info!("another node created an administrator");
    } else {
        made.context("cannot create the account of AGORA_ADMIN_USERNAME")?;
        tracing::info!("created the administrator of AGORA_ADMIN_USERNAME");
    }
    Ok(true)
}

/// The database that a command works on.
pub struct Opened {
    /// The database.
    pub database: Database,
    /// The absolute path of the data directory.
    pub data_dir: PathBuf,
    /// A text to print after a change: which database was changed, and whether it was created just now. It shows the operator if
    /// the command ran without the settings of the service.
    pub notice: Option<String>,
}

/// Opens the database for the command. `create` creates it if it does not exist or has no schema, so that an account can be made
/// before the first start; otherwise it must exist and is opened as it is.
///
/// # Errors
/// What cannot be opened, in words for an operator.
pub async fn open(config: &Config, command: &AdminCommand) -> Result<Opened> {
    let data_dir = std::path::absolute(&config.data_dir)?;
    let url = database_url(config, &data_dir);
    let is_new = matches!(command, AdminCommand::Create { .. })
        // Any other error is reported when it is opened.
        && matches!(
            probe(url.expose(), &config.database()).await,
            Err(OpenError::Missing(_)) | Ok(Probe { schema: None, .. })
        );
    let database = if is_new {
        open::database(config, &data_dir::prepare(&config.data_dir)?).await?
    } else {
        open::existing_database(config).await?
    };
    let changes = !matches!(command, AdminCommand::List | AdminCommand::Show(_));
    let new = if is_new { ", created just now: no service has used it yet" } else { "" };
    let notice = changes.then(|| format!("Database: {}{new}", shown_url(url.expose())));
    Ok(Opened { database, data_dir, notice })
}

/// Carries out the command; returns a text for the operator.
///
/// # Errors
/// When the arguments are invalid, or a rule forbids the change.
pub async fn admin(config: &Config, command: AdminCommand, accounts: &Accounts) -> Result<String> {
    let (account, done) = match command {
        AdminCommand::Create { username, email, password } => {
            let required = |name: &str| Invalid(format!("--{name} is required"));
            let username = username.or(config.admin_username.clone()).ok_or_else(|| required("username"))?;
            let email = email.or(config.admin_email.clone()).ok_or_else(|| required("email"))?;
            let configured = config.admin_password.as_ref().map(|password| password.expose().to_owned());
            let password = password.or(configured).map_or_else(ask_password, Ok)?;
            let admin = parse_registration(&username, &email, &password).map_err(anyhow::Error::msg)?;
            let name = admin.username.as_str().to_owned();
            accounts.create_admin(admin).await.context("cannot create the account")?;
            return Ok(format!("Created {name} with the roles ADMIN and USER."));
        }
        AdminCommand::List => return list(accounts).await,
        AdminCommand::Show(account) => return show(accounts.details(account.find(accounts).await?).await?),
        AdminCommand::Grant(account) => {
            let change = RoleChange { role: Role::Admin, action: RoleAction::Add };
            accounts.change_role(account.find(accounts).await?, change).await?;
            (account, "has ADMIN")
        }
        AdminCommand::Revoke(account) => {
            let change = RoleChange { role: Role::Admin, action: RoleAction::Remove };
            accounts.change_role(account.find(accounts).await?, change).await?;
            (account, "does not have ADMIN")
        }
        AdminCommand::Disable(account) => {
            accounts.set_enabled(account.find(accounts).await?, false).await?;
            (account, "is disabled and logged out everywhere")
        }
        AdminCommand::Enable(account) => {
            accounts.set_enabled(account.find(accounts).await?, true).await?;
            (account, "is enabled")
        }
        AdminCommand::ResetPassword(account) => {
            // Looked up first, so that no password is prompted for if there is no such account.
            let found = account.find(accounts).await?;
            let password = Password::parse(&ask_password()?).map_err(|violation| anyhow!("{violation}"))?;
            accounts.reset_password(found, &password).await?;
            (account, "has a new password and is logged out everywhere")
        }
    };
    Ok(format!("{} {done}. {EFFECTIVE_WITHIN}", account.identifier))
}

/// Returns a line for each account with ADMIN, oldest first.
async fn list(accounts: &Accounts) -> Result<String> {
    let admins = accounts.admins().await?;
    lines(&admins, "No account has ADMIN.", |account| {
        let state = if account.enabled { "" } else { " (disabled)" };
        Ok(format!("{} <{}>{state}", account.username.as_str(), account.email.as_str()))
    })
}

fn show(AccountDetails { account, sessions }: AccountDetails) -> Result<String> {
    let has = [(Role::Admin, "ADMIN"), (Role::User, "USER")].into_iter();
    let roles: Vec<_> = has.filter(|(role, _)| account.roles.contains(*role)).map(|(_, name)| name).collect();
    Ok(format!(
        "Username: {}\nEmail: {}\nRoles: {}\nState: {}\nRegistered: {}\nSessions: {sessions}",
        account.username.as_str(),
        account.email.as_str(),
        if roles.is_empty() { "none".to_owned() } else { roles.join(", ") },
        if account.enabled { "enabled" } else { "disabled" },
        instant(account.created_at)?
    ))
}

/// Reads a new password: prompts for it twice on a terminal, otherwise reads the first line of standard input.
fn ask_password() -> Result<String> {
    if io::stdin().is_terminal() {
        let password = rpassword::prompt_password("Password: ")?;
        if rpassword::prompt_password("Password again: ")? != password {
            bail!("the passwords differ");
        }
        return Ok(password);
    }
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line).context("cannot read standard input")?;
    ensure!(
        length > 0,
        "no password: run this on a terminal, or write the password to standard input as the first line"
    );
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
