//! An attacker that uses new addresses and names all the time.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{future, slice};

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use uuid::Uuid;

use super::{answers, bodies};
use crate::client::{FORM, HANG, JSON, Response, User, form_bytes, request_bytes};

/// An attacker of one service.
pub(super) struct Attacker {
    /// The address of the service.
    pub(super) address: String,
    /// The attacker's account.
    pub(super) account: User,
    /// A post that the attacker may view.
    pub(super) post: String,
    /// The key of its large image.
    pub(super) image: String,
    /// The count of numbers that were used.
    pub(super) used: AtomicU64,
}

/// A request: its line without the version, its headers and its body.
type Request = (String, String, Vec<u8>);

impl Attacker {
    /// Returns a number that was not used before.
    fn new_number(&self) -> u64 {
        self.used.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns an id that does not exist.
    fn new_id(&self) -> Uuid {
        Uuid::from_u128(0x01a1_0000_0000_7000_8000 << 48 | u128::from(self.new_number()))
    }

    /// Returns a header with a client address that was not used before.
    fn new_client(&self) -> String {
        let address = Ipv4Addr::from_bits(0x0b00_0000 + self.new_number() as u32);
        format!("X-Forwarded-For: {address}\r\n")
    }

    /// Returns this many logins without a body.
    pub(super) fn flood(&self, logins: usize) -> Vec<Request> {
        let login = |_| ("POST /api/auth/login".to_owned(), JSON.to_owned(), Vec::new());
        (0..logins).map(login).collect()
    }

    /// Returns requests that are well-formed HTTP, but invalid in every other way.
    pub(super) fn invalid_requests(&self) -> Vec<Request> {
        let (me, post, image) = (self.account.authorization(), &self.post, &self.image);
        let request = |line: &str, more: &str| (line.to_owned(), more.to_owned(), Vec::new());
        let with = |line: &str, more: &str, body: Vec<u8>| (line.to_owned(), more.to_owned(), body);
        let login = |name: &str| json!({ "identifier": name, "password": "a guess" }).to_string().into_bytes();
        let [head, claims, code] = self.account.token.split('.').collect::<Vec<_>>()[..] else { panic!("no token") };
        let (new, id) = (self.new_number(), self.new_id());
        let (keyed, repeated) =
            (format!("{me}{JSON}Idempotency-Key: {id}\r\n"), format!("{me}Idempotency-Key: {new}\r\n"));
        vec![
            with("POST /api/auth/login", JSON, login(&format!("nobody-{new}"))),
            with("POST /api/auth/login", JSON, login(&self.account.name)),
            with(
                "POST /api/auth/register",
                JSON,
                b"{\"username\":\"x@y\",\"email\":\"z\",\"password\":\"1\"}".to_vec(),
            ),
            request("GET /api/users/me", &format!("Authorization: Bearer {head}.{claims}.{}\r\n", &code[1..])),
            request("GET /api/users/me", &format!("Authorization: Bearer eyJhbGciOiJub25lIn0.{claims}.\r\n")),
            request("GET /api/users/me", &format!("Authorization: Bearer {new}{}\r\n", "x.".repeat(4000))),
            request("GET /api/users/me", "Authorization: Basic YWxpY2U6\r\n"),
            request(&format!("GET /api/posts/by-id/{id}"), &me),
            request(&format!("GET /api/posts/by-id/{new}"), &me),
            request(&format!("DELETE /api/posts/delete/{id}"), &me),
            request(&format!("POST /api/follow/{id}"), &me),
            request("GET /api/users/all", &me),
            request(&format!("GET /api/posts/user/{}?cursor={id}&size=1", self.account.id), &me),
            request(&format!("GET /api/posts/following/all?createAt={new}&size=0"), &me),
            request(&format!("GET /api/posts/following/all?{}", "a=%ff&".repeat(1500)), &me),
            request(&format!("GET /api/products/findAll?q={new}%00&category={id}"), ""),
            request(&format!("GET /api/products/findAll?q={new}&size=100"), ""),
            with("POST /api/posts/create", &keyed, b"{\"text\": \"\"}".to_vec()),
            with("POST /api/posts/create", &keyed, b"{\"text\": \"another\"}".to_vec()),
            request(&format!("POST /api/posts/like/{post}"), &repeated),
            request(&format!("POST /api/posts/like/{post}"), &repeated),
            request(&format!("POST /api/posts/like/{post}"), &format!("{me}Idempotency-Key: {}\r\n", "k".repeat(5000))),
            request(&format!("PUT /api/posts/like/{post}"), &me),
            request(&format!("DELETE /api/posts/like/{post}"), &me),
            request(
                &format!("GET /api/posts/by-id/{post}"),
                &format!("{me}If-None-Match: \"{id}\", W/\"{new}\", *\r\n"),
            ),
            request(&format!("GET /media/{image}"), "Range: bytes=99999999-\r\n"),
            request(&format!("GET /media/{image}"), "Range: bytes=0-9,20-29,40-\r\nIf-None-Match: *\r\n"),
            request(&format!("GET /media/{image}"), &format!("Range: bytes={}-{}\r\n", new % 9999, 10_000)),
            request(&format!("HEAD /media/{image}"), "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
            request(&format!("GET /media/{id}.png"), ""),
            request("GET /media/../../etc/passwd", ""),
            request("GET /media/..%2f..%2fjwt-secret", ""),
            request("GET /media/%2e%2e/agora.db", ""),
            request("GET /docs/..%2f..%2fagora.db", ""),
            request(&format!("GET /{new}/{id}?{}", "x".repeat(9000)), ""),
            request("BREW /api/posts/create", &me),
            request("TRACE /api/users/me", &me),
            request("OPTIONS *", ""),
            request("OPTIONS /api/posts/create", "Origin: https://evil\r\nAccess-Control-Request-Method: POST\r\n"),
            request("DELETE /api/auth/login", ""),
            with("POST /api/posts/create", &format!("{me}Content-Type: text/plain\r\n"), b"text".to_vec()),
            with("POST /api/posts/create", &format!("{me}{FORM}"), b"no form at all".to_vec()),
            with(
                "POST /api/comments/create",
                &format!("{me}{JSON}"),
                json!({ "postId": id, "content": "x" }).to_string().into(),
            ),
        ]
    }

    /// Returns requests with invalid JSON.
    pub(super) fn invalid_json(&self) -> Vec<Request> {
        let more = format!("{}{JSON}", self.account.authorization());
        let request = |body| ("POST /api/posts/create".to_owned(), more.clone(), body);
        bodies::jsons().into_iter().map(request).collect()
    }

    /// Returns uploads of invalid images, some of which declare a huge size.
    pub(super) fn invalid_images(&self) -> Vec<Request> {
        let more = format!("{}{FORM}", self.account.authorization());
        let request = |image: Vec<u8>| ("POST /api/posts/create".to_owned(), more.clone(), form_bytes(&image));
        [(6320, 6320), (16_000, 16_000), (64, 64)]
            .into_iter()
            .flat_map(|(w, h)| bodies::images(w, h))
            .map(request)
            .collect()
    }

    /// Sends pipelined requests, each from a new address, and returns the responses.
    pub(super) async fn pipeline(&self, requests: &[Request]) -> Vec<Response> {
        let mut bytes = Vec::new();
        let mut lines = Vec::new();
        for (line, more, body) in requests {
            bytes.extend(request_bytes(line, &(self.new_client() + more), body));
            lines.push(line.clone());
        }
        let answers = self.exchange(&bytes, &lines).await;
        assert_eq!(answers.len(), lines.len(), "no response to {:?}", lines.get(answers.len()));
        answers
    }

    /// Sends each request over its own connection, and reads the response. Returns the number of requests.
    pub(super) async fn one_by_one(&self, requests: &[Request]) -> usize {
        for request in requests {
            self.pipeline(slice::from_ref(request)).await;
        }
        requests.len()
    }

    /// Sends bytes and reads responses concurrently, until all requests got one or the connection is closed.
    async fn exchange(&self, bytes: &[u8], requests: &[String]) -> Vec<Response> {
        let (mut from, mut to) = TcpStream::connect(&self.address).await.unwrap().into_split();
        let (mut received, mut answers) = (Vec::new(), Vec::new());
        let write = async {
            // The service may close the connection before all bytes are sent.
            let _ = to.write_all(bytes).await;
            future::pending().await
        };
        let read = async {
            while answers.len() < requests.len() && matches!(from.read_buf(&mut received).await, Ok(1..)) {
                answers::take(&mut received, requests, &mut answers);
            }
        };
        let both = async {
            tokio::select! {
                () = read => {}
                () = write => {}
            }
        };
        timeout(HANG, both).await.expect("a response, or the end of the connection");
        answers
    }

    /// Sends bytes, reads this many bytes of a response, and disconnects.
    pub(super) async fn begin(&self, bytes: &[u8], response_bytes: usize) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        if response_bytes > 0 {
            let mut beginning = vec![0; response_bytes];
            timeout(HANG, stream.read_exact(&mut beginning)).await.expect("a response").unwrap();
        }
    }

    /// Sends malformed HTTP.
    pub(super) async fn malformed(&self) {
        for text in [
            "\0\u{1}\u{2}\r\n\r\n".to_owned(),
            "GET\r\n\r\n".to_owned(),
            "GET / HTTP/9.9\r\n\r\n".to_owned(),
            "GET / HTTP/1.1\r\nHost : agora\r\n\r\n".to_owned(),
            "GET / HTTP/1.1\r\n folded: yes\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n".to_owned(),
            "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".to_owned(),
            format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(97)),
            format!("GET / HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(70_000)),
            format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000)),
            "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}".repeat(30) + "\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        ] {
            let line = text.lines().next().unwrap_or_default().chars().take(60).collect();
            self.exchange(text.as_bytes(), &[line]).await;
        }
        let chunks = format!(
            "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{}{JSON}Transfer-Encoding: chunked\r\n",
            self.account.authorization()
        );
        for end in ["\r\nzz\r\nab\r\n0\r\n\r\n", "\r\nffffffffffffffffff\r\n", "\r\n5;x=y\r\nab"] {
            self.exchange(format!("{chunks}{end}").as_bytes(), &["POST chunks".to_owned()]).await;
        }
    }

    /// Disconnects before or during requests and responses.
    pub(super) async fn disconnect(&self) {
        let me = self.account.authorization();
        let create = format!("POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{me}");
        self.begin(b"", 0).await;
        self.begin(b"GET /api/prod", 0).await;
        self.begin(format!("{create}{JSON}Content-Length: 60000\r\n\r\n{{\"text\":").as_bytes(), 0).await;
        self.begin(
            format!("{create}{FORM}Content-Length: 5000000\r\n\r\n--b\r\n{}", "x".repeat(100_000)).as_bytes(),
            0,
        )
        .await;
        self.begin(format!("{create}{JSON}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n").as_bytes(), 12).await;
        let id = self.new_id();
        let keyed = format!("{create}{JSON}Idempotency-Key: {id}\r\nContent-Length: 14\r\n\r\n{{\"text\": null}}");
        self.begin(keyed.as_bytes(), 0).await;
        let download = format!("GET /media/{} HTTP/1.1\r\nHost: agora\r\n\r\n", self.image);
        self.begin(download.as_bytes(), 1000).await;
        self.begin(download.repeat(3).as_bytes(), 0).await;
    }

    /// Sends bodies that exceed their limits.
    pub(super) async fn oversized(&self) -> usize {
        let (json, form) =
            (format!("{}{JSON}", self.account.authorization()), format!("{}{FORM}", self.account.authorization()));
        let line = || "POST /api/posts/create".to_owned();
        self.one_by_one(&[
            (line(), json, format!("{{\"text\": \"{}\"}}", "x".repeat(100_000)).into_bytes()),
            (line(), form.clone(), form_bytes(&vec![0; 6 << 20])),
            (line(), form, b"--b\r\n".repeat(400_000)),
        ])
        .await
    }

    /// Runs slow clients until the service closes their connections: a silent one, one with an unfinished head, and one that
    /// sends its body byte by byte.
    pub(super) async fn slow(&self) -> usize {
        let head = format!(
            "POST /api/posts/create HTTP/1.1\r\nHost: agora\r\n{}{JSON}Content-Length: 99\r\n\r\n",
            self.account.authorization()
        );
        let slow: [(&[u8], &[u16]); 3] = [(b"", &[]), (b"GET / HTTP/1.1\r\nHost: ", &[408]), (head.as_bytes(), &[408])];
        let slow = slow.map(async |(beginning, expected)| {
            let (mut from, mut to) = TcpStream::connect(&self.address).await.unwrap().into_split();
            to.write_all(beginning).await.unwrap();
            let send_slowly = async {
                while !beginning.is_empty() && to.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                future::pending::<()>().await;
            };
            let (mut received, mut answers) = (Vec::new(), Vec::new());
            tokio::select! {
                () = async {
                    while answers.is_empty() && matches!(from.read_buf(&mut received).await, Ok(1..)) {
                        answers::take(&mut received, &[], &mut answers);
                    }
                } => {}
                () = send_slowly => {}
            }
            assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), expected, "{answers:?}");
        });
        timeout(HANG, join_all(slow)).await.expect("all connections are closed").len()
    }
}
