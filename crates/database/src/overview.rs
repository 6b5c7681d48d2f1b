//! Totals for the administrators' overview.

use agora_domain::Result;
use agora_domain::clock::Timestamp;
use agora_domain::mail::MailStatus;
use agora_domain::overview::{OverviewRepository, Totals};
use async_trait::async_trait;

use crate::mail::status_code;
use crate::rows::count;
use crate::sql_types::DbInstant;
use crate::{Database, call};

#[async_trait]
impl OverviewRepository for Database {
    async fn count(&self, sessions_opened_after: Timestamp) -> Result<Totals> {
        let opened_after = DbInstant(sessions_opened_after);
        let [waiting, dead] = [MailStatus::Waiting, MailStatus::Dead].map(status_code);
        // One statement for each total, so that other queries can run in between.
        Ok(Totals {
            accounts: count(call!(self, search overview::count_accounts())?),
            posts: count(call!(self, search overview::count_posts())?),
            comments: count(call!(self, search overview::count_comments())?),
            products: count(call!(self, search overview::count_products())?),
            open_sessions: count(call!(self, search overview::count_sessions(opened_after))?),
            open_reports: count(call!(self, search overview::count_open_reports())?),
            waiting_mails: count(call!(self, search overview::count_mails(waiting))?),
            dead_mails: count(call!(self, search overview::count_mails(dead))?),
            database_bytes: call!(self, search overview::database_bytes())?.map(count),
        })
    }
}
