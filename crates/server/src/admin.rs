//! `agora admin`: the administrators, from the command line of the machine.

use std::io::{self, BufRead, IsTerminal};

use agora_domain::{
    Error,
    accounts::{LoginIdentifier, Registration},
};
use anyhow::{Context, Result, bail};

use crate::{app::Adapters, config::in_words};

/// Makes an account with ADMIN and USER; what to tell the operator.
///
/// # Errors
/// What is wrong with the values, or that a name is taken.
pub async fn create(adapters: &Adapters, username: &str, email: &str, password: &str) -> Result<String> {
    let admin = Registration::parse(Some(username), Some(email), Some(password), None);
    let admin = admin.map_err(|errors| anyhow::anyhow!(in_words(&errors)))?;
    let name = admin.username.as_str().to_owned();
    adapters.accounts().create_admin(admin).await.context("cannot make the account")?;
    Ok(format!("Made {name}, with ADMIN and USER."))
}

/// Gives ADMIN to an account; what to tell the operator.
///
/// # Errors
/// When the username or email names no account.
pub async fn grant(adapters: &Adapters, identifier: &str) -> Result<String> {
    let parsed = LoginIdentifier::parse(identifier).map_err(|violation| anyhow::anyhow!(violation.to_string()))?;
    match adapters.accounts().grant_admin(&parsed).await {
        Ok(_) => Ok(format!("{identifier} has ADMIN. A running service sees it within 5 seconds.")),
        Err(Error::NotFound(_)) => bail!("no account has the username or email {identifier}"),
        Err(error) => Err(error.into()),
    }
}

/// The new administrator's password: asked for twice on a terminal, otherwise the first line of the standard input.
///
/// # Errors
/// When nothing can be read, or the two differ.
pub fn ask_password() -> Result<String> {
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
