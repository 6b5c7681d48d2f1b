//! What the log is told of failures.

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

/// Has what is logged from now on written into [`LOG`].
fn keep_log() {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| tracing_subscriber::fmt().with_writer(|| Logger).with_ansi(false).init());
}

/// The lines of the log with a text.
fn logged(text: &str) -> Vec<String> {
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_requests_that_fail_alike_with_503_the_first_is_in_the_log_by_itself() {
    keep_log();
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
    // Every ten seconds at most, another line tells of the others.
    for (cause, first) in [(FULL, &ids[0]), (AWAY, &ids[10])] {
        let by_themselves: Vec<_> = logged(cause).into_iter().filter(|line| line.contains("request_id")).collect();
        let [line] = &by_themselves[..] else { panic!("{by_themselves:?}") };
        assert!(line.contains(&**first) && line.contains("ERROR"), "{line}");
    }
    let defects = logged(DEFECT);
    assert!(defects.len() == 3 && ids[20..].iter().zip(&defects).all(|(id, line)| line.contains(&**id)), "{defects:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_fail_alike_after_their_clients_have_gone_are_not_each_in_the_log() {
    keep_log();
    const FULL: &str = "the line of those that have gone is full";
    let mut slow = SlowRegistrations::start(LoadLimits::default(), || Err(Error::unavailable(FULL)));
    for _ in 0..3 {
        slow.begin_and_leave().await;
        slow.end().await;
    }
    let lines = logged(FULL);
    assert!(
        matches!(&lines[..], [line, ..] if line.contains("after its client had gone") && line.contains("request_id=")),
        "{lines:?}"
    );
    assert!(lines.iter().skip(1).all(|line| line.contains("identical failures")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_that_could_not_be_renewed_is_in_the_log_and_the_login_is_not_the_worse_for_it() {
    const CAUSE: &str = "too many are being renewed";
    keep_log();
    let (hasher, mut was_asked) = SteppedHasher::new(|| Err(Error::unavailable(CAUSE)));
    hasher.let_go.add_permits(1);
    let api = log_in(Ports { passwords: hasher, ..Ports::default() }).await;
    was_asked.recv().await.unwrap();
    // Answered by the one thread that serves: what came before has been seen to.
    expect_failure(get(&api, "/nothing").await, 404, "Route not found");
    let lines = logged(CAUSE);
    assert!(matches!(&lines[..], [line] if line.contains("could not renew a password hash")), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_tells_the_cause_under_the_id_of_the_request() {
    const CAUSE: &str = "hunter2, for the log alone";
    keep_log();
    let api = Ports::with_failing_listing(|| Error::internal(CAUSE));
    let id = expect_failure(get(&api, LISTING).await, 500, INTERNAL);
    let lines = logged(CAUSE);
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains("ERROR") && line.contains(LISTING) && line.contains(&id), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_over_and_over_is_told_once_when_it_begins_to_fail() {
    keep_log();
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
