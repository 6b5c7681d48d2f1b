//! What stands for traces where they are left out.

use agora_http::RemoteParent;
use anyhow::Result;
use tracing_subscriber::layer::Identity;

/// Where traces are sent to: there is no such thing.
#[derive(Debug)]
pub(crate) enum Telemetry {}

impl Telemetry {
    pub(crate) fn begin() -> Result<Option<Self>> {
        Ok(None)
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    pub(crate) fn remote_parent() -> Option<RemoteParent> {
        None
    }
}
