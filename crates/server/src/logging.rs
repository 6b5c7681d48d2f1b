//! The log.

use std::io::{self, IsTerminal};

use anyhow::{Context, Result};
use tracing_subscriber::{
    EnvFilter, Layer,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::config::{Config, LogFormat};

/// Logs to the standard error what `AGORA_LOG` asks for. What libraries have to say below `info` is not to be had: the
/// PostgreSQL driver, for one, repeats every parameter of a query there.
pub(crate) fn start(config: &Config) -> Result<()> {
    let filter =
        EnvFilter::builder().parse(&config.log).context("AGORA_LOG must be such as warn or agora_http=debug")?;
    let ours = Targets::new().with_default(LevelFilter::INFO).with_target("agora", LevelFilter::TRACE);
    // A line that cannot be written is lost. To report that on the same standard error would end in a panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    let lines = match config.log_format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => {
            lines.with_ansi(false).json().flatten_event(true).with_current_span(false).with_span_list(false).boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(ours).with(lines).init();
    Ok(())
}
