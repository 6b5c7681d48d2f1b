//! The metrics of the connections to PostgreSQL.

use crate::picture::picture;
use crate::process::Home;

const MANUAL: &str = include_str!("../../docs/operations.md");

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_the_connections_of_each_lane_and_all_metrics_are_documented() {
    let home = Home::new();
    let mut service = home.start_with(&[("AGORA_METRICS_LISTEN", "127.0.0.1:0"), ("AGORA_DATABASE_CONNECTIONS", "12")]);
    let address = service.line("Metrics: ");
    let alice = service.api.user("alice").await;
    service.api.post(&alice, "A day at the sea", Some(&picture())).await;
    let page = reqwest::get(&address).await.unwrap().text().await.unwrap();
    let sample = |name: &str| -> f64 {
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}:\n{page}")).parse().unwrap()
    };
    let limits = ["shared", "list", "pool"].map(|lane| {
        let open = sample(&format!("agora_database_connections{{lane=\"{lane}\"}}"));
        let max = sample(&format!("agora_database_connections_max{{lane=\"{lane}\"}}"));
        assert!(open <= max, "{lane}: {open} of {max}");
        max
    });
    assert_eq!(limits.iter().sum::<f64>(), 12.0);
    assert!(sample("agora_database_connections{lane=\"pool\"}") >= 1.0);
    assert_eq!(sample("agora_database_failed_calls_total"), 0.0);
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let metric = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
        let is_documented = ["`", "{"].iter().any(|end| MANUAL.contains(&format!("| `{metric}{end}")));
        assert!(is_documented, "{name} is not in docs/operations.md");
    }
    service.stop();
}
