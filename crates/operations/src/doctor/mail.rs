//! Checks whether the mail server can be reached, has a valid certificate, and accepts the credentials.

use agora_config::{Loaded, SETTINGS};
use agora_domain::mail::SendError;

use super::{Finding, failed, ok, unclear};
use crate::open;

pub(super) async fn finding(loaded: &Loaded) -> Finding {
    if let Some(finding) = unclear(loaded, &[&SETTINGS.smtp_url, &SETTINGS.mail_from, &SETTINGS.mail_templates]) {
        return finding;
    }
    match open::mail(&loaded.best_guess) {
        Ok(None) => ok("not sent: AGORA_SMTP_URL is not set"),
        Ok(Some(server)) => match server.probe().await {
            Ok(()) => ok("the server is reachable and ready to accept mail"),
            Err(SendError(why)) => failed(format!("cannot use the server: {why}: correct AGORA_SMTP_URL")),
        },
        Err(error) => failed(format!("{error:#}")),
    }
}
