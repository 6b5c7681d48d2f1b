//! Health checks: liveness for the supervisor that restarts the service, readiness for the load balancer in front of it.
//!
//! The dependencies are probed at most once a second, and once for all requests that arrive at the same time. The cause of a
//! failure is logged when the failure begins, and never sent to clients.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::HttpResponse;
use actix_web::http::{StatusCode, header};
use actix_web::web::Data;
use agora_domain::health::{Probe, Probes};
use futures_util::future::join3;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::core::{ErrorCode, RETRY_AFTER, State, schema};
use crate::response::{Done, HandlerResult, answers, envelope};

/// The timeout of each probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an outcome is cached.
const CACHE_LIFETIME: Duration = Duration::from_secs(1);

/// The result of the health check of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[schema(as = HealthCheck)]
pub(crate) struct Check {
    #[schema(schema_with = schema::check_status)]
    status: &'static str,
    #[schema(schema_with = schema::milliseconds)]
    milliseconds: f64,
}

/// The results of the health checks of all dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, ToSchema)]
#[schema(as = HealthChecks)]
pub(crate) struct Checks {
    /// Whether the database answers.
    database: Check,
    /// Whether the image store answers.
    images: Check,
    /// Whether the database has the schema that this version needs, or a newer one.
    migrations: Check,
}

impl Check {
    const OK: &str = "ok";
    const FAILED: &str = "failed";

    async fn of(probe: &dyn Probe) -> (Self, Option<String>) {
        let begun = Instant::now();
        let failure = match timeout(PROBE_TIMEOUT, probe.probe()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.cause()),
            Err(_) => Some(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
        };
        let hundredths = (begun.elapsed().as_secs_f64() * 100_000.0).round();
        let status = if failure.is_some() { Self::FAILED } else { Self::OK };
        (Self { status, milliseconds: hundredths / 100.0 }, failure)
    }

    fn is_ok(&self) -> bool {
        self.status == Self::OK
    }
}

impl Checks {
    /// The outcome that is assumed before the first probes.
    const ASSUMED: Self = Self::all_of(Check::OK);
    /// The outcome if the probes could not be run.
    const UNKNOWN: Self = Self::all_of(Check::FAILED);

    const fn all_of(status: &'static str) -> Self {
        let check = Check { status, milliseconds: 0.0 };
        Self { database: check, images: check, migrations: check }
    }

    /// Runs all probes, and logs each outcome that differs from `before`.
    async fn run(Probes { database, images, migrations }: &Probes, before: Self) -> Self {
        let outcomes = join3(Check::of(&**database), Check::of(&**images), Check::of(&**migrations)).await;
        let ((database, one), (images, two), (migrations, three)) = outcomes;
        let checks = Self { database, images, migrations };
        for (((check, is), (_, was)), cause) in checks.all().into_iter().zip(before.all()).zip([one, two, three]) {
            match (was.is_ok(), cause) {
                (true, Some(cause)) => tracing::warn!(check, cause, "not ready"),
                (false, None) => tracing::info!(check, milliseconds = is.milliseconds, "ready again"),
                _ => {}
            }
        }
        checks
    }

    fn all(&self) -> [(&'static str, Check); 3] {
        [("database", self.database), ("images", self.images), ("migrations", self.migrations)]
    }

    fn all_ok(&self) -> bool {
        self.all().iter().all(|(_, check)| check.is_ok())
    }
}

/// Checks whether the dependencies of the service respond, and caches the outcome.
pub(crate) struct Readiness {
    probes: Probes,
    /// The time and outcome of the last checks.
    last: Arc<Mutex<(Option<Instant>, Checks)>>,
}

impl Readiness {
    pub(crate) fn new(probes: Probes) -> Self {
        Self { probes, last: Arc::new(Mutex::new((None, Checks::ASSUMED))) }
    }

    /// Returns the outcome of all checks, made now or within the last second.
    async fn checks(&self) -> Checks {
        let mut last = Arc::clone(&self.last).lock_owned().await;
        if last.0.is_some_and(|at| at.elapsed() < CACHE_LIFETIME) {
            return last.1;
        }
        let probes = self.probes.clone();
        // Runs to its end even if this request is dropped: clients may give up sooner than a probe does.
        let running = tokio::spawn(async move {
            let checks = Checks::run(&probes, last.1).await;
            *last = (Some(Instant::now()), checks);
            checks
        });
        running.await.unwrap_or_else(|error| {
            tracing::error!(%error, "could not check the health of dependencies");
            Checks::UNKNOWN
        })
    }
}

/// Check liveness
///
/// Whether the process answers. Dependencies are not checked, so that a supervisor does not restart the service because a
/// database is unreachable.
#[utoipa::path(get, path = "", operation_id = "getLiveness", tag = "Health",
    responses((status = 200, description = "The process answers.", body = Done)))]
pub(crate) async fn live() -> HandlerResult {
    envelope::done("The service is alive")
}

/// Check readiness
///
/// Whether the service can do its work. The database, the image store and the schema are checked, each for two seconds at most,
/// and at most once a second for all callers together. A load balancer should not send requests to a node that is not ready.
#[utoipa::path(get, path = "", operation_id = "getReadiness", tag = "Health",
    responses((status = 200, description = "The service is ready.", body = Ready),
        (status = 503, description = "The service is not ready, is shutting down, or is overloaded.", body = Unready)))]
pub(crate) async fn ready(state: Data<State>, readiness: Data<Readiness>) -> HandlerResult {
    if state.stopping.has_begun() {
        return unavailable("The service is shutting down", None);
    }
    let checks = readiness.checks().await;
    if checks.all_ok() {
        envelope::ok("The service is ready", checks)
    } else {
        unavailable("The service is not ready", Some(checks))
    }
}

answers! {
    /// The service is ready.
    Ready { Checks }
}

/// The service is not ready.
#[derive(Serialize, ToSchema)]
pub(crate) struct Unready {
    #[schema(schema_with = schema::failed)]
    success: bool,
    #[schema(schema_with = schema::unavailable_status)]
    status: u16,
    code: ErrorCode,
    /// A message for people that says what failed.
    #[schema(example = "The service is not ready")]
    message: &'static str,
    /// The results of the health checks; absent if the service is shutting down or overloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    data: Option<Checks>,
}

fn unavailable(message: &'static str, data: Option<Checks>) -> HandlerResult {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let code = ErrorCode::Unavailable;
    let answer = Unready { success: false, status: status.as_u16(), code, message, data };
    let mut response: HttpResponse = envelope::json(status, &answer)?;
    response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use agora_domain::health::MockProbe;
    use agora_domain::{Error, Result};
    use async_trait::async_trait;
    use futures_util::future::join_all;

    use super::*;

    /// Counts how often it runs, and succeeds or never finishes.
    #[derive(Default)]
    struct CountingProbe {
        runs: AtomicUsize,
        hangs: bool,
    }

    #[async_trait]
    impl Probe for CountingProbe {
        async fn probe(&self) -> Result<()> {
            self.runs.fetch_add(1, Ordering::Relaxed);
            if self.hangs {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            Ok(())
        }
    }

    fn healthy() -> Arc<dyn Probe> {
        let mut probe = MockProbe::new();
        probe.expect_probe().returning(|| Ok(()));
        Arc::new(probe)
    }

    #[tokio::test]
    async fn concurrent_requests_share_one_run_of_the_probes() {
        let counted = Arc::new(CountingProbe::default());
        let database = Arc::clone(&counted) as Arc<dyn Probe>;
        let readiness = Readiness::new(Probes { database, images: healthy(), migrations: healthy() });
        let all = join_all((0..1000).map(|_| readiness.checks())).await;
        assert!(all.iter().all(Checks::all_ok));
        assert_eq!(counted.runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn a_failed_probe_is_reported_by_name_without_its_cause() {
        let mut away = MockProbe::new();
        away.expect_probe().returning(|| Err(Error::unavailable("no route to 10.1.2.3")));
        let readiness = Readiness::new(Probes { database: Arc::new(away), images: healthy(), migrations: healthy() });
        let checks = readiness.checks().await;
        assert_eq!(checks.all().map(|(_, check)| check.status), ["failed", "ok", "ok"]);
        let sent = serde_json::to_string(&checks).unwrap();
        assert!(!sent.contains("10.1.2.3"), "{sent}");
    }

    /// A probe with a defect.
    struct PanickingProbe;

    #[async_trait]
    impl Probe for PanickingProbe {
        async fn probe(&self) -> Result<()> {
            panic!("a defect of a probe")
        }
    }

    #[tokio::test]
    async fn a_panicking_probe_counts_as_failed_each_time() {
        let readiness =
            Readiness::new(Probes { database: Arc::new(PanickingProbe), images: healthy(), migrations: healthy() });
        for _ in 0..2 {
            assert!(!readiness.checks().await.all_ok());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hanging_probe_fails_after_the_timeout_even_if_its_request_was_dropped() {
        let counted = Arc::new(CountingProbe { hangs: true, ..CountingProbe::default() });
        let images = Arc::clone(&counted) as Arc<dyn Probe>;
        let readiness = Readiness::new(Probes { database: healthy(), images, migrations: healthy() });
        timeout(PROBE_TIMEOUT / 4, readiness.checks()).await.unwrap_err();
        let begun = tokio::time::Instant::now();
        let checks = readiness.checks().await;
        assert_eq!(checks.all().map(|(_, check)| check.status), ["ok", "failed", "ok"]);
        assert!(begun.elapsed() < PROBE_TIMEOUT);
        assert_eq!(counted.runs.load(Ordering::Relaxed), 1);
    }
}
