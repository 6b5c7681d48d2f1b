//! nginx with the configuration `deploy/nginx/agora.conf`, in front of the real binary.

use std::net::SocketAddr;

use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Method, Version};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::client::{Client, PASSWORD, Response, User, text};
use crate::nginx::{FROM, HOST, addresses, client, nginx};
use crate::picture::{expect_picture, picture};
use crate::process::{Home, Process, Service};
use crate::sse::EventStream;

/// A service behind nginx, and its clients.
struct Proxied {
    service: Service,
    _nginx: Process,
    client: Client,
    http: SocketAddr,
    https: SocketAddr,
}

impl Proxied {
    async fn start(home: &Home) -> Self {
        let url = format!("https://{HOST}");
        let service = home.start_with(&[("AGORA_PUBLIC_URL", &url), ("AGORA_TRUSTED_PROXIES", "127.0.0.1")]);
        let (http, https) = addresses();
        let nginx = nginx(home, &[&service.address], http, https).await;
        Self { service, _nginx: nginx, client: client(https, |builder| builder), http, https }
    }

    async fn upload(&self, user: &User, image: &[u8]) -> Response {
        self.client.send(self.client.posting(user, "Hello", Some(image))).await
    }

    /// Tries to log in to an account that does not exist, and returns the status.
    async fn fail_to_log_in(&self, n: u32, from: &str, forwarded: Option<&str>) -> u16 {
        let body = json!({ "identifier": format!("nobody-{n}"), "password": PASSWORD });
        let mut request = self.client.request(Method::POST, "/api/auth/login").json(&body).header(FROM, from);
        if let Some(forwarded) = forwarded {
            request = request.header("X-Forwarded-For", forwarded);
        }
        self.client.send(request).await.status
    }
}

/// Checks that a response has the error format of the service.
#[track_caller]
fn expect_error(answer: Response, status: u16, message: &str) {
    let body = answer.expect_error(status, message).json();
    let code = body["code"].as_str().unwrap_or_default().to_owned();
    let expected: &[&str] = match status {
        400 => &["malformed_request"],
        404 => &["route_not_found"],
        413 => &["payload_too_large"],
        414 => &["malformed_request"],
        _ => &["unavailable", "overloaded"],
    };
    assert!(expected.contains(&&*code), "{body}");
    assert_eq!(body, json!({ "success": false, "status": status, "code": code, "message": message }));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_get_the_same_responses_as_without_a_proxy() {
    let home = Home::new();
    let proxied = Proxied::start(&home).await;
    let answer = proxied.client.fetch("/api/products/findAll").await;
    assert_eq!((answer.status, answer.version), (200, Version::HTTP_2));
    assert_eq!(answer.header("strict-transport-security"), Some("max-age=31536000"));
    let ada = proxied.client.user("ada").await;
    let image = text(&proxied.upload(&ada, &picture()).await.expect(201).data()["image"]);
    let path = image.strip_prefix(&format!("https://{HOST}/media/")).unwrap();
    let answer = proxied.client.fetch(&format!("/media/{path}")).await;
    assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
    expect_picture(&answer.body);

    // Bodies that are too large are refused by the service, or by nginx if they are larger still, in the same format.
    let mebibytes = |n: usize| vec![b'a'; n << 20];
    expect_error(proxied.upload(&ada, &mebibytes(6)).await, 413, "image must be at most 5 MiB");
    expect_error(proxied.upload(&ada, &mebibytes(9)).await, 413, "The body must be at most 8 MiB");
    let old = client(proxied.https, |builder| builder.http1_only());
    let long = format!("/api/posts/by-id/{}", "a".repeat(40_000));
    expect_error(old.fetch(&long).await, 414, "The address is too long");

    let plain = Client::new(&format!("http://{}", proxied.http));
    let answer = plain.send(plain.request(Method::GET, "/docs?a=b").header("Host", HOST)).await.expect(308);
    assert_eq!(answer.header(LOCATION), Some(&*format!("https://{HOST}/docs?a=b")));

    let Proxied { service, client, _nginx, .. } = proxied;
    service.stop();
    let answer = client.fetch("/api/products/findAll").await;
    assert!(answer.header(RETRY_AFTER).is_some());
    expect_error(answer, 503, "The service is not available");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_forwarded_without_buffering() {
    let home = Home::new();
    let proxied = Proxied::start(&home).await;
    let ada = proxied.client.user("ada").await;
    let old = client(proxied.https, |builder| builder.http1_only());
    let mut streams =
        [EventStream::open(&proxied.client, &ada, "public").await, EventStream::open(&old, &ada, "public").await];
    for content in ["one", "two"] {
        let post = proxied.client.post(&ada, content, None).await;
        for stream in &mut streams {
            assert_eq!(stream.expect("public").await["postId"], post["id"]);
        }
    }
    proxied.service.stop();
    for stream in streams {
        assert_eq!(stream.reason().await, "shutting_down");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limits_count_the_real_client_address_despite_spoofed_headers() {
    let home = Home::new();
    let proxied = Proxied::start(&home).await;
    for n in 0..60 {
        assert_eq!(proxied.fail_to_log_in(n, "203.0.113.5", None).await, 401, "{n}");
    }
    assert_eq!(proxied.fail_to_log_in(60, "203.0.113.5", None).await, 429);
    assert_eq!(proxied.fail_to_log_in(61, "203.0.113.5", Some("198.51.100.7")).await, 429);
    assert_eq!(proxied.fail_to_log_in(62, "203.0.113.5", Some("127.0.0.1")).await, 429);
    assert_eq!(proxied.fail_to_log_in(63, "203.0.113.6", None).await, 401);
    assert_eq!(proxied.fail_to_log_in(64, "203.0.113.6", Some("203.0.113.5")).await, 401);
    proxied.service.stop();
}

/// Starts a server that reads each request and then closes the connection without a response, as a node that crashes. Sends the
/// methods of the requests to `methods`. Returns its address.
async fn crashing_node(methods: mpsc::UnboundedSender<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            // The body of each request is this word.
            while !request.ends_with(b"\r\n\r\nbody")
                && stream.read_buf(&mut request).await.is_ok_and(|count| count > 0)
            {}
            let request = String::from_utf8(request).unwrap();
            methods.send(request.split(' ').next().unwrap().to_owned()).unwrap();
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_node_received_is_retried_on_another_only_if_it_is_a_read() {
    let (methods, mut requests) = mpsc::unbounded_channel();
    let nodes = [crashing_node(methods.clone()).await, crashing_node(methods).await];
    for (method, path, key, times) in [
        (Method::GET, "/api/products/findAll", None, 2),
        (Method::POST, "/api/posts/create", None, 1),
        (Method::POST, "/api/posts/create", Some("key"), 1),
        (Method::PUT, "/api/users/me/password", None, 1),
        (Method::DELETE, "/api/posts/delete/1", None, 1),
    ] {
        // A new nginx each time, because it excludes a failed node for a while.
        let home = Home::new();
        let (http, https) = addresses();
        let _nginx = nginx(&home, &nodes.each_ref().map(String::as_str), http, https).await;
        let client = client(https, |builder| builder);
        let request = client.request(method.clone(), path);
        let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
        expect_error(client.send(request.body("body")).await, 503, "The service is not available");
        let sent: Vec<_> = std::iter::from_fn(|| requests.try_recv().ok()).collect();
        assert_eq!(sent, vec![method.to_string(); times], "{path} {key:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_sent_to_another_node_if_one_refuses_connections() {
    let home = Home::new();
    let service = home.start();
    // The listener is closed again.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let (http, https) = addresses();
    let _nginx = nginx(&home, &[&closed, &service.address], http, https).await;
    client(https, |builder| builder).register("ada").await.expect(201);
    service.stop();
}
