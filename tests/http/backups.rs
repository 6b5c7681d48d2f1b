//! `/api/admin/backup`: downloading a backup. Its content and restoring it are tested in `transfer`.

use reqwest::Method;
use serde_json::json;

use crate::support::Server;

const BACKUP: &str = "/api/admin/backup";

#[tokio::test(flavor = "multi_thread")]
async fn a_downloaded_backup_is_an_archive_and_is_in_the_audit_log() {
    let server = Server::start().await;
    let root = server.root().await;
    let archive = server.call(&root, Method::POST, BACKUP).await.expect(200);
    assert_eq!(archive.header("content-type"), Some("application/x-tar"));
    assert_eq!(archive.header("cache-control"), Some("no-store"));
    assert_eq!(archive.header("x-accel-buffering"), Some("no"));
    assert_eq!(archive.header("content-disposition"), Some("attachment; filename=\"agora-backup.tar\""));
    assert!(archive.body.starts_with(b"agora-backup.json") && archive.body.len() % 512 == 0);
    let entries = server.get(&root, "/api/admin/audit?action=backup_downloaded").await.expect(200).data();
    assert_eq!(entries[0]["actor"]["username"], "root");
    assert_eq!((&entries[0]["targetType"], &entries[0]["targetId"]), (&json!("SERVICE"), &json!(null)));
    assert_eq!(entries[1], json!(null));
}
