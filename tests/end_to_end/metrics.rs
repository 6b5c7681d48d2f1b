//! The metrics, and that dashboard, alerts and documentation name the same ones.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::client::{Client, JSON, eventually, registration, request_bytes, text};
use crate::picture::picture;
use crate::process::{HANG, Home, Service};

const DASHBOARD: &str = include_str!("../../deploy/grafana/agora.json");
const RULES: &str = include_str!("../../deploy/prometheus/agora.rules.yml");
const MANUAL: &str = include_str!("../../docs/operations.md");

/// Starts a service; returns it and the URL of its metrics.
fn start(home: &Home, variables: &[(&str, &str)]) -> (Service, String) {
    let mut all = vec![("AGORA_METRICS_LISTEN", "127.0.0.1:0")];
    all.extend(variables);
    let mut service = home.start_with(&all);
    let address = service.line("Metrics: ");
    (service, address)
}

/// Returns the page of metrics.
async fn scrape(address: &str) -> String {
    let client = Client::new(address);
    let response = client.fetch("").await.expect(200);
    assert!(response.header(CONTENT_TYPE).unwrap().starts_with("application/openmetrics-text"));
    let page = response.text();
    assert!(page.ends_with("# EOF\n"), "{page}");
    page
}

/// Returns the value of a sample, given its name and labels as on the page.
#[track_caller]
fn sample(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}:\n{page}")).parse().unwrap()
}

/// Returns the names of all samples.
fn names(page: &str) -> BTreeSet<String> {
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    samples.map(|line| line.split(['{', ' ']).next().unwrap().to_owned()).collect()
}

/// Returns the documented name of the metric that a sample belongs to.
fn metric(name: &str) -> String {
    let parts = ["_bucket", "_sum", "_count"];
    let of_histogram = parts.iter().find_map(|part| name.strip_suffix(part)).filter(|it| it.ends_with("_seconds"));
    of_histogram.unwrap_or(name).to_owned()
}

/// Returns every metric that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("agora_") || word.starts_with("process_")).map(str::to_owned).collect()
}

/// Collects the expressions of the dashboard.
fn expressions(part: &Value, found: &mut Vec<String>) {
    match part {
        Value::Object(fields) => {
            found.extend(["expr", "query"].iter().filter_map(|name| fields.get(*name)?.as_str()).map(str::to_owned));
            fields.values().for_each(|field| expressions(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

/// Returns the metrics in the table of the manual.
fn documented() -> BTreeSet<String> {
    let rows = MANUAL.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let names = rows.map(|(name, _)| name.split('{').next().unwrap().to_owned());
    names.filter(|name| !named(name).is_empty()).collect()
}

/// Sends requests of several kinds.
async fn use_all(service: &Service) {
    let api = &service.api;
    let alice = api.user("alice").await;
    let post = api.post(&alice, "A day at the sea", Some(&picture())).await;
    api.image(&post["image"]).await;
    api.view(&alice, &text(&post["id"])).await;
    api.login("alice", "a wrong guess").await.expect(401);
    api.fetch("/nothing?secret=hunter2").await.expect(404);
    api.fetch("/health/ready").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_alerts_and_manual_name_the_metrics_that_exist() {
    let home = Home::new();
    // No mail is sent, so no server needs to listen there.
    let mail = [("AGORA_SMTP_URL", "smtp://127.0.0.1:9?tls=none"), ("AGORA_MAIL_FROM", "agora@example.org")];
    let (service, address) = start(&home, &mail);
    use_all(&service).await;
    let page = scrape(&address).await;
    let shown = names(&page);
    let mut of_dashboard = Vec::new();
    expressions(&serde_json::from_str(DASHBOARD).unwrap(), &mut of_dashboard);
    assert!(of_dashboard.len() > 40, "{of_dashboard:?}");
    for text in of_dashboard.iter().map(String::as_str).chain([RULES]) {
        for name in named(text) {
            assert!(shown.contains(&name), "{name} is not shown:\n{text}\n{page}");
        }
    }
    let metrics: BTreeSet<_> = shown.iter().map(|name| metric(name)).collect();
    assert_eq!(metrics, documented(), "what is shown, and the table of the manual");
    let alerts = RULES.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    for alert in alerts {
        assert!(MANUAL.contains(&format!("| `{alert}` |")), "the manual does not say what to do about {alert}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_route_not_by_path() {
    let home = Home::new();
    let (service, address) = start(&home, &[]);
    use_all(&service).await;
    let page = scrape(&address).await;
    for (route, method, status, count) in [
        ("/api/auth/register", "POST", 201, 1.0),
        ("/api/auth/login", "POST", 200, 1.0),
        ("/api/auth/login", "POST", 401, 1.0),
        ("/api/posts/create", "POST", 201, 1.0),
        ("/api/posts/by-id/{postId}", "GET", 200, 1.0),
        ("/media/{key}", "GET", 200, 1.0),
        ("/health/ready", "GET", 200, 1.0),
        ("-", "GET", 404, 1.0),
    ] {
        let name = |name: &str, more: &str| format!("{name}{{method=\"{method}\",route=\"{route}\"{more}}}");
        let counted = sample(&page, &name("agora_http_requests_total", &format!(",status=\"{status}\"")));
        assert_eq!(counted, count, "{method} {route} {status}");
        assert!(sample(&page, &name("agora_http_request_duration_seconds_count", "")) >= count);
    }
    // Three hashes: of the registration, the login and the guess.
    assert_eq!(sample(&page, "agora_password_hashes_total"), 3.0);
    assert_eq!(sample(&page, "agora_sessions_cached"), 1.0);
    assert_eq!(sample(&page, "agora_database_failed_calls_total"), 0.0);
    assert!(sample(&page, "agora_database_call_duration_seconds_count{operation=\"accounts.insert\"}") >= 1.0);
    assert!(sample(&page, "agora_database_grouped_writes_total") >= 3.0);
    assert!(sample(&page, "process_resident_memory_bytes") > 1_000_000.0);
    for secret in ["hunter2", "/nothing", "alice", "A day at the sea"] {
        assert!(!page.contains(secret), "{secret} is shown:\n{page}");
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_served_only_at_their_own_address() {
    let home = Home::new();
    let (service, address) = start(&home, &[]);
    service.api.fetch("/metrics").await.expect(404);
    let client = Client::new(address.trim_end_matches("/metrics"));
    client.fetch("/api/products/findAll").await.expect(404);
    client.send(client.request(Method::POST, "/metrics")).await.expect(405);
    service.stop();
    // Without the setting, they are not served at all.
    let finished = home.start().stop();
    assert!(!finished.stdout.contains("Metrics"), "{finished:?}");

    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let mut command = home.agora(&[]);
    command.env("AGORA_METRICS_LISTEN", &taken);
    crate::process::run(command, "").expect_refusal(&["AGORA_METRICS_LISTEN", &taken, "in use"]);
}

/// Locks the database for writes, once the first sweep is over and the service writes nothing by itself any more.
async fn lock_database(home: &Home, metrics: &str) -> SqliteConnection {
    let swept = "agora_sweep_last_success_timestamp_seconds";
    eventually("a sweep is over", async || (sample(&scrape(metrics).await, swept) > 0.0).then_some(())).await;
    let mut other = SqliteConnection::establish(home.data_dir().join("agora.db").to_str().unwrap()).unwrap();
    other.batch_execute("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").unwrap();
    other
}

/// The metric of writes that run or wait for the lock.
const WRITING: &str = "agora_database_calls_running{lane=\"write\"}";

/// Waits until that metric has this value.
async fn until_writing(metrics: &str, count: f64) {
    eventually("a write waits", async || (sample(&scrape(metrics).await, WRITING) == count).then_some(())).await;
}

/// Makes a database call slow; returns the id of its request, and the log line about it.
async fn slow_call(variables: &[(&str, &str)]) -> (String, String) {
    let home = Home::new();
    let mut all = vec![("AGORA_SLOW_QUERY", "100ms")];
    all.extend(variables);
    let (service, address) = start(&home, &all);
    let mut other = lock_database(&home, &address).await;
    let api = service.api.clone();
    let registering = tokio::spawn(async move { api.register("alice").await });
    until_writing(&address, 1.0).await;
    // Longer than the shortest interval between two such lines, since the sweep may have been slow as well.
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(150) {
        assert!(sample(&scrape(&address).await, WRITING) > 0.0);
    }
    other.batch_execute("ROLLBACK").unwrap();
    let id = registering.await.unwrap().expect(201).header("x-request-id").unwrap().to_owned();
    until_writing(&address, 0.0).await;
    let finished = service.stop();
    assert!(!finished.stderr.contains("alice"), "{finished:?}");
    let is_it = |line: &&str| line.contains("slow database call") && line.contains("accounts.insert");
    let line = finished.stderr.lines().find(is_it).unwrap_or_else(|| panic!("{finished:?}"));
    (id, line.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_database_call_is_in_the_metrics_and_then_logged_with_its_request() {
    let (id, line) = slow_call(&[]).await;
    let (id, route) = (format!("request_id={id}"), "route=\"/api/auth/register\"");
    for part in ["WARN", "operation=\"accounts.insert\"", &id, route] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_line_in_json_has_the_id_of_its_request() {
    for level in ["info", "info,agora_http=debug"] {
        let (id, line) = slow_call(&[("AGORA_LOG_FORMAT", "json"), ("AGORA_LOG", level)]).await;
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&line["level"], &line["operation"]), (&json!("WARN"), &json!("accounts.insert")), "{line}");
        let (given, route) = (&line["span"]["request_id"], &line["span"]["route"]);
        assert_eq!((given, route), (&json!(id), &json!("/api/auth/register")), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_client_goes_away_is_counted_and_logged_as_abandoned() {
    let home = Home::new();
    let (service, address) = start(&home, &[("AGORA_LOG", "warn,agora_http::access=debug")]);
    let abandoned = "agora_http_abandoned_requests_total";
    let mut other = lock_database(&home, &address).await;
    let request = request_bytes("POST /api/auth/register", JSON, registration("alice").to_string());
    let mut client = TcpStream::connect(&service.address).await.unwrap();
    client.write_all(&request).await.unwrap();
    until_writing(&address, 1.0).await;
    assert_eq!(sample(&scrape(&address).await, abandoned), 0.0);
    // Closes the connection, not only the sending half.
    client.set_zero_linger().unwrap();
    drop(client);
    eventually("the request is counted", async || (sample(&scrape(&address).await, abandoned) == 1.0).then_some(()))
        .await;
    other.batch_execute("ROLLBACK").unwrap();
    let log = service.stop().stderr;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("agora_http::access")).collect();
    let [line] = lines[..] else { panic!("{log}") };
    for part in ["request_id=", "method=POST", "route=\"/api/auth/register\"", "abandoned=true", "client=127.0.0.1"] {
        assert!(line.contains(part), "{part} is missing: {line}");
    }
    assert!(!line.contains("status="), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_with_an_incomplete_request_do_not_block_the_metrics() {
    // More connections than are served concurrently.
    const CLIENTS: usize = 20;
    let home = Home::new();
    let (service, address) = start(&home, &[]);
    let listener = address.trim_start_matches("http://").trim_end_matches("/metrics");
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = TcpStream::connect(listener).await.unwrap();
        client.write_all(format!("HEAD /metrics HTTP/1.1\r\nHost: {listener}\r\n\r\n").as_bytes()).await.unwrap();
        let answer = timeout(HANG, client.read_u8()).await.expect("a response in spite of other connections");
        assert_eq!(answer.unwrap(), b'H');
        // This fails if the connection is already closed.
        let _ = client.write_all(b"HEAD /met").await;
        clients.push(client);
    }
    scrape(&address).await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn rejections_are_counted_by_the_exceeded_limit() {
    let home = Home::new();
    let (service, address) = start(
        &home,
        &[
            ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
            ("AGORA_REQUESTS_PER_ACCOUNT", "2"),
            ("AGORA_REQUESTS_PER_ADDRESS", "70"),
        ],
    );
    let api = &service.api;
    // `user` has already sent one request of the account, to `/api/users/me`.
    let alice = api.user("alice").await;
    api.get(&alice, "/api/users/me").await.expect(200);
    api.get(&alice, "/api/users/me").await.expect(429);
    for _ in 0..10 {
        api.login("alice", "a guess").await.expect(401);
    }
    api.login("alice", "a guess").await.expect(429);
    for (method, path, client, most) in [
        (Method::POST, "/api/auth/login", "198.51.100.1", 60..=60),
        (Method::POST, "/api/auth/register", "198.51.100.2", 60..=60),
        // Unused requests accumulate as time passes, so a few more than 70 may be served.
        (Method::GET, "/api/products/findAll", "198.51.100.3", 70..=1000),
    ] {
        let mut served = 0;
        while api.send(api.request(method.clone(), path).header("X-Forwarded-For", client)).await.status != 429 {
            served += 1;
        }
        assert!(most.contains(&served), "{path} {served}");
    }
    let page = scrape(&address).await;
    for limit in ["account", "password", "login", "registration", "address"] {
        assert_eq!(sample(&page, &format!("agora_http_refusals_total{{limit=\"{limit}\"}}")), 1.0, "{limit}");
    }
    service.stop();
}
