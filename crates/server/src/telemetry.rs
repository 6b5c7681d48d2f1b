//! Traces of requests, exported over OTLP if the environment variables of OpenTelemetry configure it.

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

/// The variables with the address of the collector, one of which enables the export. The libraries read all variables themselves.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// The exporter of traces. Dropping it sends the remaining ones.
#[derive(Debug)]
pub(crate) struct Telemetry(SdkTracerProvider);

impl Telemetry {
    /// Creates the exporter if the environment configures one. It connects later.
    ///
    /// # Errors
    /// When the address is invalid, in words for an operator.
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

    /// Returns the layer that exports spans.
    pub(crate) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        // The source file and the thread of a span are of no use in traces of requests.
        OpenTelemetryLayer::new(self.0.tracer("agora"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
    }

    /// Returns the function that makes the span of a request a child of the trace in its header `traceparent`.
    pub(crate) fn remote_parent() -> Option<RemoteParent> {
        Some(|span, headers| {
            let parent = TraceContextPropagator::new().extract(&Headers(headers));
            if let Err(error) = span.set_parent(parent) {
                tracing::debug!(%error, "could not continue the trace of a request");
            }
        })
    }
}

impl Drop for Telemetry {
    /// Sends the remaining traces.
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "could not send the last traces");
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
