//! `agora health`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{Finished, Home, run};

/// Starts a server that responds with these statuses, one after the other, and then stops. Returns its address.
fn responding(statuses: &'static [u16]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            let count = stream.read(&mut head).unwrap();
            let is_check = String::from_utf8_lossy(&head[..count]).starts_with("GET /health/ready HTTP/1.1\r\n");
            let status = if is_check { *status } else { 404 };
            write!(stream, "HTTP/1.1 {status} Whatever\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    address
}

fn health(home: &Home, listen: SocketAddr, arguments: &[&str]) -> Finished {
    let mut command = home.agora(&[&["health"], arguments].concat());
    command.env("AGORA_LISTEN", listen.to_string());
    run(command, "")
}

#[test]
fn the_exit_code_shows_whether_the_service_is_ready() {
    let home = Home::new();
    assert_eq!(health(&home, responding(&[200]), &[]).expect_success().stdout, "ready\n");
    health(&home, responding(&[503]), &[]).expect_refusal(&["/health/ready responded with status 503"]);
    health(&home, responding(&[]), &[]).expect_refusal(&["does not respond"]);
    assert!(!home.data_dir().exists(), "the command creates no data directory");
}

#[test]
fn wait_polls_until_the_service_is_ready() {
    let home = Home::new();
    health(&home, responding(&[503, 503, 200]), &["--wait", "60"]).expect_success();
}

#[test]
fn a_slow_response_does_not_extend_the_timeout() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Until the client closes the connection.
        while stream.write_all(b"H").is_ok() {
            thread::sleep(Duration::from_millis(500));
        }
    });
    let begun = Instant::now();
    health(&home, address, &["--wait", "1"]).expect_refusal(&["does not respond"]);
    // At this pace, the longest first line that the client accepts would take two minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn a_url_can_be_given() {
    let home = Home::new();
    let service = home.start();
    let check = |path: &str| run(home.agora(&["health", &format!("http://{}{path}", service.address)]), "");
    check("/api/products/findAll?size=1").expect_success();
    check("/api/users/me").expect_refusal(&["responded with status 401"]);
    service.stop();
}
