//! How many requests there were of each endpoint, how they were answered, and how long that took.

use std::{array, collections::HashMap, sync::OnceLock, time::Duration};

use actix_web::http::{Method, StatusCode};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::{Registry, Unit},
};

/// The upper bounds of the times that are told apart, in seconds.
const TIMES: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The statuses that the service answers with.
const STATUSES: [u16; 21] =
    [200, 201, 206, 304, 307, 308, 400, 401, 403, 404, 405, 408, 409, 412, 413, 415, 416, 422, 429, 500, 503];

const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", OTHER];

/// What any other method counts as, of which clients could make up as many as they like.
const OTHER: &str = "other";

/// What a request counts as whose path no endpoint has.
const NO_ROUTE: &str = "-";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    method: &'static str,
    route: &'static str,
}

type Times = Family<Asked, Histogram, fn() -> Histogram>;

/// Counts requests.
pub(crate) struct Requests {
    counts: Family<Answered, Counter>,
    times: Times,
    abandoned: Counter,
    routes: HashMap<&'static str, ByMethod>,
    unknown: ByMethod,
}

/// What is counted of one path. Most methods of most paths are never called.
struct ByMethod {
    route: &'static str,
    methods: [OnceLock<Box<Series>>; METHODS.len()],
}

/// What is counted of one endpoint, once it was called.
struct Series {
    times: Histogram,
    /// In the order of `STATUSES`, each once it was answered.
    counts: [OnceLock<Counter>; STATUSES.len()],
}

impl ByMethod {
    fn new(route: &'static str) -> Self {
        Self { route, methods: array::from_fn(|_| OnceLock::new()) }
    }
}

impl Requests {
    pub(super) fn register(registry: &mut Registry, paths: impl IntoIterator<Item = &'static str>) -> Self {
        let counts = Family::<Answered, Counter>::default();
        let times: Times = Family::new_with_constructor(|| Histogram::new(TIMES));
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
            times.clone(),
        );
        let routes = paths.into_iter().map(|path| (path, ByMethod::new(path)));
        Self { counts, times, abandoned, routes: routes.collect(), unknown: ByMethod::new(NO_ROUTE) }
    }

    /// Counts a request that was not answered, since nobody waited for that any more.
    pub(crate) fn count_abandoned(&self) {
        self.abandoned.inc();
    }

    /// Counts a request to a route by its name, or to none, that was answered like this after so long.
    pub(crate) fn count(&self, route: Option<&str>, method: &Method, status: StatusCode, time: Duration) {
        let by_method = route.and_then(|route| self.routes.get(route)).unwrap_or(&self.unknown);
        let at = METHODS.iter().position(|it| *it == method.as_str()).unwrap_or(METHODS.len() - 1);
        let (Some(series), Some(method)) = (by_method.methods.get(at), METHODS.get(at)) else { return };
        let (route, status) = (by_method.route, status.as_u16());
        let series = series.get_or_init(|| {
            let times = self.times.get_or_create_owned(&Asked { method, route });
            Box::new(Series { times, counts: array::from_fn(|_| OnceLock::new()) })
        });
        series.times.observe(time.as_secs_f64());
        let answered = Answered { method, route, status };
        let known = STATUSES.iter().position(|it| *it == status).and_then(|at| series.counts.get(at));
        match known {
            Some(count) => _ = count.get_or_init(|| self.counts.get_or_create_owned(&answered)).inc(),
            None => _ = self.counts.get_or_create(&answered).inc(),
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;

    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_status_of_which_there_are_only_so_many() {
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry, ["/media/{key}"]);
        let brew = Method::from_bytes(b"BREW").unwrap();
        let time = Duration::from_millis(3);
        for (route, method, status) in [
            (Some("/media/{key}"), &Method::GET, 200),
            (Some("/media/{key}"), &Method::GET, 200),
            (Some("/media/{key}"), &Method::HEAD, 404),
            (Some("/made/up"), &Method::GET, 404),
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
