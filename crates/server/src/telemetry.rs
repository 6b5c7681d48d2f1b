//! Traces of requests, sent over OTLP where the variables of OpenTelemetry say so.

use std::env;

use actix_web::http::header::HeaderMap;
use agora_http::RemoteParent;
use anyhow::{Context, Result};
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_opentelemetry::{OpenTelemetryLayer, OpenTelemetrySpanExt};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// What says where traces are sent to. The libraries read the rest of the variables by themselves.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Where traces are sent to, until this is dropped.
#[derive(Debug)]
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Begins, if the environment asks for it. Nothing is connected yet.
    ///
    /// # Errors
    /// When the address is none, in words for an operator.
    pub(crate) fn begin() -> Result<Option<Self>> {
        let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let is_off = given("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
            || given("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if is_off || ENDPOINTS.iter().all(|name| given(name).is_none()) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().build();
        let exporter = exporter.with_context(|| format!("cannot send traces ({})", ENDPOINTS.join(", ")))?;
        let mut resource = Resource::builder();
        let attributes = given("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        if given("OTEL_SERVICE_NAME").is_none() && !attributes.contains("service.name=") {
            resource = resource.with_service_name("agora");
        }
        let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = resource.with_attribute(version).build();
        Ok(Some(Self(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build())))
    }

    /// Returns what takes the spans.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        // Which file and thread a span is from says nothing to whoever looks at requests.
        OpenTelemetryLayer::new(self.0.tracer("agora"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
    }

    /// Returns what makes a request part of the trace that its client sends in `traceparent`.
    pub(crate) fn remote_parent() -> Option<RemoteParent> {
        Some(|span, headers| {
            let parent = TraceContextPropagator::new().extract(&Headers(headers));
            if let Err(error) = span.set_parent(parent) {
                tracing::debug!(%error, "a trace could not be taken over");
            }
        })
    }
}

impl Drop for Telemetry {
    /// Sends what is left.
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last traces could not be sent");
        }
    }
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}
