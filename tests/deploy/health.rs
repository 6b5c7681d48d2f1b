//! `agora health`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::{Finished, Home, run};

/// Answers requests with these statuses, one after the other, then is gone.
fn answering(statuses: &'static [u16]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            let count = stream.read(&mut head).unwrap();
            let asked = String::from_utf8_lossy(&head[..count]).starts_with("GET /health/ready HTTP/1.1\r\n");
            let status = if asked { *status } else { 404 };
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
fn the_exit_code_says_whether_the_service_is_ready() {
    let home = Home::new();
    assert_eq!(health(&home, answering(&[200]), &[]).expect_success().stdout, "well\n");
    health(&home, answering(&[503]), &[]).expect_refusal(&["/health/ready answers 503"]);
    health(&home, answering(&[]), &[]).expect_refusal(&["does not answer"]);
    assert!(!home.data_dir().exists(), "asking leaves nothing behind");
}

#[test]
fn a_service_that_starts_can_be_waited_for() {
    let home = Home::new();
    health(&home, answering(&[503, 503, 200]), &["--wait", "60"]).expect_success();
}

#[test]
fn an_answer_that_comes_byte_by_byte_has_no_more_time_than_another() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Until nobody reads any more.
        while stream.write_all(b"H").is_ok() {
            thread::sleep(Duration::from_millis(500));
        }
    });
    let begun = Instant::now();
    health(&home, address, &["--wait", "1"]).expect_refusal(&["does not answer"]);
    // Its first line has room for two minutes of that.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

#[test]
fn another_address_can_be_asked() {
    let home = Home::new();
    let service = home.start();
    let ask = |path: &str| run(home.agora(&["health", &format!("http://{}{path}", service.address)]), "");
    ask("/api/products/findAll?size=1").expect_success();
    ask("/api/users/me").expect_refusal(&["answers 401"]);
    service.stop();
}
