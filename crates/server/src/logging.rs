//! The log.

use std::io;
use std::io::IsTerminal;

use agora_config::{Config, LogFormat};
use anyhow::{Context, Result};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, registry};

/// What these libraries say is of no use to an operator, or said again by ours: it is logged only where they are named.
const QUIET: [(&str, LevelFilter); 3] =
    [("actix_http", LevelFilter::OFF), ("actix_server", LevelFilter::WARN), ("object_store", LevelFilter::WARN)];

/// Logs to the standard error what `AGORA_LOG` asks for. What libraries have to say below `info` is not to be had: the
/// PostgreSQL driver, for one, repeats every parameter of a query there. Spans that are made for traces go to `traces` alone.
pub(crate) fn start(config: &Config, traces: Option<impl Layer<Registry> + Send + Sync>) -> Result<()> {
    let filter: Targets = config.log.parse().context("AGORA_LOG must be such as warn or agora_http=debug")?;
    // What is not named says at least what went wrong.
    let default = filter.default_level().unwrap_or(LevelFilter::ERROR);
    let (filter, bounds) = (filter.with_default(default), bounds(&config.log));
    let logged = filter_fn(|metadata| !is_traced(metadata));
    match traces {
        // Each of the filters holds for all that there is: nothing else is even made.
        None => registry().with(filter).with(bounds).with(logged).with(lines(config)).init(),
        Some(traces) => {
            let lines = lines(config).with_filter(filter.and(bounds).and(logged));
            registry().with(traces.with_filter(filter_fn(is_traced))).with(lines).init();
        }
    }
    Ok(())
}

/// Returns whether it is a span that is made for traces: those say of which kind they are.
fn is_traced(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.fields().field("otel.kind").is_some()
}

fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(config: &Config) -> Box<dyn Layer<S> + Send + Sync> {
    // A line that cannot be written is lost. To report that on the same standard error would end in a panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        // The span is that of a request, with its id.
        LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).with_span_list(false).boxed(),
    }
}

/// Returns how much there is to be had of each library, whatever else is asked for.
fn bounds(asked: &str) -> Targets {
    let is_named = |library: &str| {
        asked.split(',').any(|directive| {
            directive
                .trim()
                .strip_prefix(library)
                .is_some_and(|rest| rest.starts_with(['=', ':', '[']) || rest.is_empty())
        })
    };
    let usual = Targets::new().with_default(LevelFilter::INFO).with_target("agora", LevelFilter::TRACE);
    QUIET
        .into_iter()
        .filter(|(library, _)| !is_named(library))
        .fold(usual, |bounds, (library, level)| bounds.with_target(library, level))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn libraries_are_quiet_unless_they_are_named() {
        for asked in ["info", "debug", "info,agora_http::access=debug", "info,actix_http_other=info,agora=debug"] {
            let bounds = bounds(asked);
            assert!(!bounds.would_enable("actix_http::h1", &Level::ERROR), "{asked}");
            for library in ["actix_server::worker", "object_store"] {
                assert!(bounds.would_enable(library, &Level::WARN), "{asked}");
                assert!(!bounds.would_enable(library, &Level::INFO), "{asked}");
            }
            assert!(bounds.would_enable("actix_web", &Level::INFO) && !bounds.would_enable("actix_web", &Level::DEBUG));
            assert!(bounds.would_enable("agora_http::access", &Level::TRACE));
        }
        let named = bounds("warn, actix_http=info,actix_server::worker=info,object_store");
        for library in ["actix_http", "actix_server::worker", "object_store::aws"] {
            assert!(named.would_enable(library, &Level::INFO), "{library}");
            assert!(!named.would_enable(library, &Level::DEBUG), "{library}");
        }
    }
}
