//! Reads new events into memory, as every node does.

use agora_domain::Result;

use super::database::Postgres;
use super::events::{Head, assign_numbers, create_log, delete_old, head, read};
use crate::event_window::CAPACITY;

fn number(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Postgres {
    /// Reads the events that were committed until now, except those that another node is numbering at this moment.
    pub(crate) async fn refresh_events(&self) -> Result<()> {
        let _guard = self.events.refresh_lock.lock().await;
        let mut found = self.read(|conn| Box::pin(head(conn))).await?;
        if found.is_none() {
            self.write(|conn| Box::pin(create_log(conn))).await?;
            found = self.read(|conn| Box::pin(head(conn))).await?;
        }
        if let Some(Head { unnumbered: Some(last), .. }) = found {
            // Only up to `last`: if events are recorded more quickly than they are numbered, this would never end.
            while self.write(move |conn| Box::pin(assign_numbers(conn, last))).await? {}
            found = self.read(|conn| Box::pin(head(conn))).await?;
        }
        let Some(Head { epoch, last_number, trimmed, .. }) = found else { return Ok(()) };
        let (epoch, window) = (number(epoch), &self.events.window);
        let end = window.end();
        if end.epoch != epoch || end.number < number(trimmed) || end.number > number(last_number) {
            let oldest_kept = number(last_number).saturating_sub(CAPACITY as u64);
            window.restart(epoch, number(trimmed).max(oldest_kept));
        }
        while window.end().number < number(last_number) {
            let last = stored(window.end().number);
            let events = self.list(move |conn| Box::pin(read(conn, last))).await?;
            if events.is_empty() {
                // They were deleted since the head was read: the next refresh begins after them.
                return Ok(());
            }
            window.extend(events);
        }
        Ok(())
    }

    /// Deletes events that no longer have to be kept.
    pub(crate) async fn trim_events(&self) -> Result<()> {
        self.write(|conn| Box::pin(create_log(conn))).await?;
        while self.write(|conn| Box::pin(delete_old(conn))).await? {}
        Ok(())
    }
}
