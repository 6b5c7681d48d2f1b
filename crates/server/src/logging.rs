//! The log on standard error, and its filters.

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

/// The most verbose level of libraries whose messages do not help an operator or repeat our own, unless `AGORA_LOG` names them.
const QUIET: [(&str, LevelFilter); 3] =
    [("actix_http", LevelFilter::OFF), ("actix_server", LevelFilter::WARN), ("object_store", LevelFilter::WARN)];

/// Starts to log to standard error what `AGORA_LOG` selects. Libraries never log below `info`, whatever it selects: the
/// PostgreSQL driver, for example, would log every parameter of a query. Spans that are made for traces go only to `traces`.
pub(crate) fn start(config: &Config, traces: Option<impl Layer<Registry> + Send + Sync>) -> Result<()> {
    let filter: Targets = config.log.parse().context("AGORA_LOG must be a filter such as warn or agora_http=debug")?;
    // Targets that are not named still log errors.
    let default = filter.default_level().unwrap_or(LevelFilter::ERROR);
    let (filter, bounds) = (filter.with_default(default), bounds(&config.log));
    let logged = filter_fn(|metadata| !is_traced(metadata));
    match traces {
        // Filters of the whole registry, so that spans and events that they reject are not even created.
        None => registry().with(filter).with(bounds).with(logged).with(lines(config)).init(),
        Some(traces) => {
            let lines = lines(config).with_filter(filter.and(bounds).and(logged));
            registry().with(traces.with_filter(filter_fn(is_traced))).with(lines).init();
        }
    }
    Ok(())
}

/// Returns whether this is a span made for traces: one with the field `otel.kind`.
fn is_traced(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.fields().field("otel.kind").is_some()
}

/// Returns the layer that writes log lines.
fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(config: &Config) -> Box<dyn Layer<S> + Send + Sync> {
    // A line that cannot be written is lost. Reporting that on the same standard error would panic.
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    match config.log_format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        // The current span suffices: it is that of the request, with its id.
        LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).with_span_list(false).boxed(),
    }
}

/// Returns the most verbose level of each library, whatever `AGORA_LOG` selects; `directives` is its value.
fn bounds(directives: &str) -> Targets {
    let is_named = |library: &str| {
        directives.split(',').any(|directive| {
            directive
                .trim()
                .strip_prefix(library)
                .is_some_and(|rest| rest.starts_with(['=', ':', '[']) || rest.is_empty())
        })
    };
    let defaults = Targets::new().with_default(LevelFilter::INFO).with_target("agora", LevelFilter::TRACE);
    QUIET
        .into_iter()
        .filter(|(library, _)| !is_named(library))
        .fold(defaults, |bounds, (library, level)| bounds.with_target(library, level))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn libraries_are_quiet_unless_the_filter_names_them() {
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
