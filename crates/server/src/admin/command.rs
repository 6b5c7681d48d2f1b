//! The arguments of `agora admin`, and what they open.

use agora_config::{Config, Invalid, shown_url};
use agora_database::{OpenError, Probe, probe};
use agora_operations::open::database_url;
use anyhow::Result;
use clap::Subcommand;

use super::{Administration, ask_password};
use crate::app::Adapters;

/// What `agora admin` does.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Create an account with the roles ADMIN and USER
    Create {
        /// Its username [AGORA_ADMIN_USERNAME]
        #[arg(long)]
        username: Option<String>,
        /// Its email address [AGORA_ADMIN_EMAIL]
        #[arg(long)]
        email: Option<String>,
        /// Its password [AGORA_ADMIN_PASSWORD]. Better omit it: other users of the machine can see it here. It is
        /// prompted for, or read from standard input
        #[arg(long)]
        password: Option<String>,
    },
    /// List the accounts with ADMIN
    List,
    /// Show an account: its roles, whether it is disabled, when it was created, and how many sessions it has
    Show {
        /// The account's username or email
        identifier: String,
    },
    /// Grant ADMIN to an account
    Grant {
        /// The account's username or email
        identifier: String,
    },
    /// Revoke ADMIN from an account
    Revoke {
        /// The account's username or email
        identifier: String,
    },
    /// Disable an account, whatever its roles, and log it out everywhere
    Disable {
        /// The account's username or email
        identifier: String,
    },
    /// Enable an account that was disabled
    Enable {
        /// The account's username or email
        identifier: String,
    },
    /// Give an account a new password, which is asked for, or read from the standard input, and log it out everywhere
    ResetPassword {
        /// The account's username or email
        identifier: String,
    },
}

/// `agora admin`; what to tell the operator.
///
/// # Errors
/// What is wrong with the arguments, or what a rule forbids.
pub(crate) async fn run(config: &Config, command: AdminCommand) -> Result<String> {
    // An account can be made before the first start, but others must be somewhere.
    let makes = matches!(command, AdminCommand::Create { .. });
    let changes = !matches!(command, AdminCommand::List | AdminCommand::Show { .. });
    let database = database(config, makes).await?;
    let adapters = if makes { Adapters::open(config).await? } else { Adapters::open_existing(config).await? };
    let told = execute(config, command, &Administration::new(&adapters)).await?;
    Ok(if changes { format!("{told}\n{database}") } else { told })
}

/// Which database it is, for whoever called the command without the settings of the service; and that it is a new one,
/// if it may be.
async fn database(config: &Config, may_be_new: bool) -> Result<String> {
    let url = database_url(config, &std::path::absolute(&config.data_dir)?);
    let shown = shown_url(url.expose());
    // What else is wrong with it shows when it is opened.
    let is_new = may_be_new
        && matches!(
            probe(url.expose(), &config.database()).await,
            Err(OpenError::Missing(_)) | Ok(Probe { schema: None, .. })
        );
    let new = if is_new { ", made just now: no service has used it yet" } else { "" };
    Ok(format!("Database: {shown}{new}"))
}

async fn execute(config: &Config, command: AdminCommand, administration: &Administration) -> Result<String> {
    match command {
        AdminCommand::Create { username, email, password } => {
            let required = |name: &str| Invalid(format!("--{name} is required"));
            let username = username.or(config.admin_username.clone()).ok_or_else(|| required("username"))?;
            let email = email.or(config.admin_email.clone()).ok_or_else(|| required("email"))?;
            let configured = config.admin_password.as_ref().map(|password| password.expose().to_owned());
            let password = password.or(configured).map_or_else(ask_password, Ok)?;
            administration.create(&username, &email, &password).await
        }
        AdminCommand::List => administration.list().await,
        AdminCommand::Show { identifier } => administration.show(&identifier).await,
        AdminCommand::Grant { identifier } => administration.grant(&identifier).await,
        AdminCommand::Revoke { identifier } => administration.revoke(&identifier).await,
        AdminCommand::Disable { identifier } => administration.set_enabled(&identifier, false).await,
        AdminCommand::Enable { identifier } => administration.set_enabled(&identifier, true).await,
        AdminCommand::ResetPassword { identifier } => administration.reset_password(&identifier, ask_password).await,
    }
}
