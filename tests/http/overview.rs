//! `/api/admin/overview`: totals and requests.

use serde_json::{Value, json};

use crate::client::list;
use crate::support::Server;

const OVERVIEW: &str = "/api/admin/overview";

/// Returns the sum of a count over all minutes.
fn sum(overview: &Value, count: &str) -> u64 {
    list(&overview["minutes"]).iter().map(|minute| minute[count].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_counted_once_a_minute_and_requests_immediately() {
    let server = Server::start().await;
    let (root, author) = (server.root().await, server.user("author").await);
    server.publish(&author, "text", "PRIVATE").await;
    server.get(&author, OVERVIEW).await.expect(403);
    let first = server.get(&root, OVERVIEW).await.expect(200).data();
    for (count, expected) in [
        ("accounts", 2),
        ("posts", 1),
        ("comments", 0),
        ("products", 0),
        ("openSessions", 2),
        ("openReports", 0),
        ("waitingMails", 0),
        ("deadMails", 0),
    ] {
        assert_eq!(first[count], json!(expected), "{count} of {first}");
    }
    assert!(first["databaseBytes"].as_u64().unwrap() > 0, "{first}");
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(list(&first["minutes"]).len(), 60);
    let minutes: Vec<_> = list(&first["minutes"]).iter().map(|minute| minute["at"].as_str().unwrap()).collect();
    assert!(minutes.is_sorted() && minutes[59].ends_with(":00.000+00:00"), "{minutes:?}");

    server.publish(&author, "another", "PRIVATE").await;
    server.get(&author, "/api/posts/by-id/018f0000-0000-7000-8000-000000000000").await.expect(404);
    let second = server.get(&root, OVERVIEW).await.expect(200).data();
    for remembered in ["countedAt", "posts"] {
        assert_eq!(second[remembered], first[remembered]);
    }
    // These are the first overview, the new post, and the request that was answered 404.
    assert_eq!(sum(&second, "requests"), sum(&first, "requests") + 3);
    assert_eq!(sum(&second, "clientErrors"), sum(&first, "clientErrors") + 1);
    assert_eq!(sum(&second, "serverErrors"), 0);
}
