//! The adapters of the domain's ports for time and identifiers.

use std::time::{SystemTime, UNIX_EPOCH};

use agora_domain::clock::{Clock, Timestamp};
use agora_domain::id::IdGenerator;
use uuid::Uuid;

/// The system's clock.
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this adapter is the one place that may call it")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Version 7 UUIDs. Within the process each is greater than the one before.
pub struct SystemIds;

impl IdGenerator for SystemIds {
    #[allow(clippy::disallowed_methods, reason = "this adapter is the one place that may call it")]
    fn generate(&self) -> Uuid {
        Uuid::now_v7()
    }
}
