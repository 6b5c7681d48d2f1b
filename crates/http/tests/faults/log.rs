//! What is logged of failures.

use std::io;
use std::sync::Once;

use super::departures::SlowRegistrations;
use super::*;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Writes into [`LOG`].
struct Logger;

impl io::Write for Logger {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what is logged from now on into [`LOG`].
fn capture_log() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing_subscriber::fmt().with_writer(|| Logger).with_ansi(false).init());
}

/// Returns the lines of the log that contain a text.
fn logged(text: &str) -> Vec<String> {
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_of_identical_503_failures_is_logged_with_its_request_id() {
    capture_log();
    const FULL: &str = "the line is full";
    const AWAY: &str = "the database is away";
    const DEFECT: &str = "a defect that shows each time";
    let mut ports = Ports::default();
    let listed = AtomicU64::new(0);
    ports.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
    ports.products.expect_list().returning(move |_, _| {
        Err(match listed.fetch_add(1, Ordering::Relaxed) {
            10..20 => Error::unavailable(AWAY),
            20.. => Error::internal(DEFECT),
            _ => Error::unavailable(FULL),
        })
    });
    let api = ports.start();
    let mut ids = Vec::new();
    for n in 0..23 {
        let (status, message) = if n < 20 { (503, UNAVAILABLE) } else { (500, INTERNAL) };
        ids.push(expect_failure(get(&api, LISTING).await, status, message));
    }
    // The other failures are summed up in another line, at most every ten seconds.
    for (cause, first) in [(FULL, &ids[0]), (AWAY, &ids[10])] {
        let by_themselves: Vec<_> = logged(cause).into_iter().filter(|line| line.contains("request_id")).collect();
        let [line] = &by_themselves[..] else { panic!("{by_themselves:?}") };
        assert!(line.contains(&**first) && line.contains("ERROR"), "{line}");
    }
    let defects = logged(DEFECT);
    assert!(defects.len() == 3 && ids[20..].iter().zip(&defects).all(|(id, line)| line.contains(&**id)), "{defects:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_failures_of_disconnected_clients_are_not_logged_one_by_one() {
    capture_log();
    const FULL: &str = "the line of those that have gone is full";
    let mut slow = SlowRegistrations::start(LoadLimits::default(), || Err(Error::unavailable(FULL)));
    for _ in 0..3 {
        slow.begin_and_disconnect().await;
        slow.finish().await;
    }
    let lines = logged(FULL);
    assert!(
        matches!(&lines[..], [line, ..] if line.contains("after its client had disconnected") && line.contains("request_id=")),
        "{lines:?}"
    );
    assert!(lines.iter().skip(1).all(|line| line.contains("identical failures")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_rehash_is_logged_and_does_not_affect_the_login() {
    const CAUSE: &str = "too many are being renewed";
    capture_log();
    let (hasher, mut calls) = SteppedHasher::new(|| Err(Error::unavailable(CAUSE)));
    hasher.permits.add_permits(1);
    let api = log_in(Ports { passwords: hasher, ..Ports::default() }).await;
    calls.recv().await.unwrap();
    // The only worker thread answers this, so it has processed what happened before.
    expect_failure(get(&api, "/nothing").await, 404, "Route not found");
    let lines = logged(CAUSE);
    assert!(matches!(&lines[..], [line] if line.contains("could not renew a password hash")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cause_of_a_failure_is_logged_with_the_request_id() {
    const CAUSE: &str = "hunter2, for the log alone";
    capture_log();
    let api = Ports::with_failing_listing(|| Error::internal(CAUSE));
    let id = expect_failure(get(&api, LISTING).await, 500, INTERNAL);
    let lines = logged(CAUSE);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains("ERROR") && line.contains(LISTING) && line.contains(&id), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_probe_is_logged_once_however_often_readiness_is_requested() {
    capture_log();
    let mut images = MockProbe::new();
    images.expect_probe().returning(|| Err(Error::unavailable("the bucket is gone")));
    let api = Ports { images, ..Ports::default() }.start();
    for _ in 0..10 {
        assert_eq!(get(&api, "/health/ready").await.status, 503);
    }
    let lines = logged("the bucket is gone");
    assert!(matches!(&lines[..], [line] if line.contains("WARN") && line.contains("images")), "{lines:?}");
    assert!(logged("/health/ready").is_empty());
}
