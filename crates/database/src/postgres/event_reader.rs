//! Takes events in, as every node reads them.

use agora_domain::Result;

use super::database::Postgres;
use super::events::{Head, begin, delete_old, give_numbers, head, read};
use crate::event_window::CAPACITY;

fn number(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or_default()
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Postgres {
    /// Takes in what was committed until now, but for what another node gives numbers at this moment.
    pub(crate) async fn refresh_events(&self) -> Result<()> {
        let _turn = self.events.turn.lock().await;
        let mut found = self.read(|conn| Box::pin(head(conn))).await?;
        if found.is_none() {
            self.write(|conn| Box::pin(begin(conn))).await?;
            found = self.read(|conn| Box::pin(head(conn))).await?;
        }
        if let Some(Head { unnumbered: Some(last), .. }) = found {
            // None that are put there meanwhile: where that is quicker than giving them numbers, there would be no end.
            while self.write(move |conn| Box::pin(give_numbers(conn, last))).await? {}
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
                // Deleted since the head was read: the next look begins behind them.
                return Ok(());
            }
            window.extend(events);
        }
        Ok(())
    }

    /// Deletes what is older than it has to be.
    pub(crate) async fn trim_events(&self) -> Result<()> {
        self.write(|conn| Box::pin(begin(conn))).await?;
        while self.write(|conn| Box::pin(delete_old(conn))).await? {}
        Ok(())
    }
}
