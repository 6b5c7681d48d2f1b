//! Counters of requests by route, method and status, and histograms of their duration.

use std::time::Duration;

use actix_web::http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The upper bounds of the buckets of durations, in seconds.
const DURATION_BUCKETS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

const METHODS: [&str; 5] = ["GET", "HEAD", "POST", "PUT", "DELETE"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: &'static str,
}

type Durations = Family<RouteLabels, Histogram, fn() -> Histogram>;

/// The counters and histograms of requests.
pub(crate) struct Requests {
    counts: Family<ResponseLabels, Counter>,
    durations: Durations,
    abandoned: Counter,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counts = Family::<ResponseLabels, Counter>::default();
        let durations: Durations = Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS));
        let abandoned = Counter::default();
        registry.register("agora_http_requests", "Requests that were answered", counts.clone());
        registry.register(
            "agora_http_abandoned_requests",
            "Requests whose clients went away before they were answered",
            abandoned.clone(),
        );
        registry.register_with_unit(
            "agora_http_request_duration",
            "The time from the head of a request to that of its answer",
            Unit::Seconds,
            durations.clone(),
        );
        Self { counts, durations, abandoned }
    }

    /// Counts a request that was not answered, since its client disconnected.
    pub(crate) fn count_abandoned(&self) {
        self.abandoned.inc();
    }

    /// Counts a request that was answered with `status` after `time`. `path` is that of the endpoint, or `None` if there is no
    /// such endpoint. Methods that no endpoint has are counted together, since clients can invent any number of them.
    pub(crate) fn count(&self, path: Option<&'static str>, method: &Method, status: StatusCode, time: Duration) {
        let route = path.unwrap_or("-");
        let method = METHODS.into_iter().find(|it| *it == method.as_str()).unwrap_or("other");
        self.durations.get_or_create(&RouteLabels { method, route }).observe(time.as_secs_f64());
        self.counts.get_or_create(&ResponseLabels { method, route, status: status.as_u16() }).inc();
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_status_with_unknown_ones_grouped() {
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry);
        let brew = Method::from_bytes(b"BREW").unwrap();
        let time = Duration::from_millis(3);
        for (route, method, status) in [
            (Some("/media/{key}"), &Method::GET, 200),
            (Some("/media/{key}"), &Method::GET, 200),
            (Some("/media/{key}"), &Method::HEAD, 404),
            (None, &Method::GET, 404),
            (None, &brew, 418),
        ] {
            requests.count(route, method, StatusCode::from_u16(status).unwrap(), time);
        }
        let mut page = String::new();
        text::encode(&mut page, &registry).unwrap();
        for line in [
            r#"agora_http_requests_total{method="GET",route="/media/{key}",status="200"} 2"#,
            r#"agora_http_requests_total{method="HEAD",route="/media/{key}",status="404"} 1"#,
            r#"agora_http_requests_total{method="GET",route="-",status="404"} 1"#,
            r#"agora_http_requests_total{method="other",route="-",status="418"} 1"#,
            r#"agora_http_request_duration_seconds_bucket{le="0.0025",method="GET",route="/media/{key}"} 0"#,
            r#"agora_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/media/{key}"} 2"#,
            r#"agora_http_request_duration_seconds_count{method="GET",route="/media/{key}"} 2"#,
        ] {
            assert!(page.lines().any(|it| it == line), "{line} is missing:\n{page}");
        }
    }
}
