//! Several servers, of which one takes writes.

use tokio::task::spawn_blocking;

use super::private_postgres::Server;
use super::tests::write;
use super::*;

/// Returns options with timeouts long enough to wait until a server has been switched to take writes.
fn options_that_wait() -> Options {
    let timeout = Duration::from_secs(15);
    Options { connect_timeout: timeout, wait_timeout: timeout, ..Options::default() }
}

/// Sets whether a server is read-only, `on` or `off`, and waits until the setting is in effect.
fn set_read_only(server: &Server, value: &str) {
    let sql = format!("ALTER SYSTEM SET default_transaction_read_only = {value}; SELECT pg_reload_conf();");
    server.session("postgres").run(&sql);
    while server.session("postgres").run("SHOW default_transaction_read_only;").trim() != value {}
}

/// Writes until this server has a row, since backends of another server may still use the setting that it had before.
async fn write_until(database: &Postgres, server: &Server) {
    loop {
        write(database, "INSERT INTO marks VALUES (1)").await.unwrap();
        if server.session("agora").run("SELECT count(*) FROM marks;").trim() != "0" {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_of_two_servers_takes_writes_is_used() {
    let [one, two] =
        spawn_blocking(|| [5432, 5433].map(|port| Server::start(port, |_| "-c listen_addresses=".to_owned())))
            .await
            .unwrap();
    for server in [&one, &two] {
        let url = server.database("agora");
        Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap().close();
        server.session("agora").run("CREATE TABLE marks (n integer);");
    }
    let url = format!("postgres://agora@{},{}/agora", one.host(), two.host());
    set_read_only(&one, "on");
    let database = Postgres::open(Opening::Serve, &url, &options_that_wait()).await.unwrap();
    write(&database, "INSERT INTO marks VALUES (1)").await.unwrap();
    assert_eq!(two.session("agora").run("SELECT count(*) FROM marks;").trim(), "1");

    // The connections to the other server find that out by themselves.
    set_read_only(&one, "off");
    set_read_only(&two, "on");
    write_until(&database, &one).await;

    set_read_only(&one, "on");
    let refused = loop {
        if let Err(error) = write(&database, "INSERT INTO marks VALUES (1)").await {
            break error;
        }
    };
    assert!(matches!(refused, Error::Unavailable(_)), "{refused:?}");
    // A write that waits meanwhile succeeds.
    let written = write(&database, "INSERT INTO marks VALUES (1)");
    let (written, ()) = tokio::join!(written, async { set_read_only(&two, "off") });
    written.unwrap();
    database.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_target_session_attrs_in_the_url_a_server_that_takes_writes_is_awaited() {
    let server = spawn_blocking(|| Server::start(5432, |_| "-c listen_addresses=".to_owned())).await.unwrap();
    let url = format!("{}?target_session_attrs=read-write", server.database("agora"));
    let database = Postgres::open(Opening::Serve, &url, &options_that_wait()).await.unwrap();
    write(&database, "CREATE TABLE marks (n integer)").await.unwrap();
    set_read_only(&server, "on");
    let written = write(&database, "INSERT INTO marks VALUES (1)");
    let (written, ()) = tokio::join!(written, async { set_read_only(&server, "off") });
    written.unwrap();
    database.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_beyond_the_limit_of_a_replica_run_on_the_primary_and_keep_the_epoch() {
    let server = spawn_blocking(|| Server::start(5432, |_| "-c listen_addresses=".to_owned())).await.unwrap();
    let url = server.database("agora");
    let options = Options { wait_timeout: Duration::from_millis(50), ..Options::default() };
    let primary = Arc::new(Postgres::open(Opening::Serve, &url, &Options::default()).await.unwrap());
    let replica = Postgres::replica(Arc::clone(&primary), &url, &options).unwrap();
    let permits = replica.searches.permits.available_permits();
    let busy = Arc::clone(&replica.searches.permits).acquire_many_owned(u32::try_from(permits).unwrap()).await.unwrap();
    let before = replica.connector.epoch();
    assert_eq!(replica.search(|_| Box::pin(async { Ok(7) })).await.unwrap(), 7);
    assert_eq!(replica.connector.epoch(), before);
    drop(busy);
    primary.close();
}
