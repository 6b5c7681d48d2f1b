//! Bodies that cannot be read: too large, of another type, malformed.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::support::{Response, Server, User};

const JSON: &str = "application/json";

/// Returns requests to endpoints that accept JSON and need nothing but the body.
fn json_endpoints(server: &Server, user: &User) -> Vec<RequestBuilder> {
    let endpoints = [
        (Method::POST, "/api/auth/register"),
        (Method::POST, "/api/auth/login"),
        (Method::PUT, "/api/users/me"),
        (Method::PUT, "/api/users/me/password"),
        (Method::POST, "/api/posts/create"),
        (Method::POST, "/api/comments/create"),
        (Method::PUT, "/api/comments/update"),
    ];
    endpoints.into_iter().map(|(method, path)| server.request(method, path).bearer_auth(&user.token)).collect()
}

/// Sends a raw body to create a post.
async fn create(server: &Server, user: &User, content_type: Option<&str>, body: impl Into<reqwest::Body>) -> Response {
    let mut request = server.request(Method::POST, "/api/posts/create").bearer_auth(&user.token).body(body);
    if let Some(content_type) = content_type {
        request = request.header(CONTENT_TYPE, content_type);
    }
    server.send(request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_json_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for body in [
        "",
        " \n",
        "null",
        "5",
        "\"text\"",
        "[]",
        "[{\"text\":\"a\"}]",
        "{",
        "}",
        "{\"text\":\"a\"",
        "{\"text\":\"a",
        "{\"text\":\"a\",}",
        "{\"text\" \"a\"}",
        "{text:\"a\"}",
        "{'text':'a'}",
        "{\"text\":\"a\"} b",
        "{\"text\":\"a\"}{}",
        "{\"text\":\"a\nb\"}",
        "{\"text\":\"a\0b\"}",
        "{\"text\":\"\\x41\"}",
        "{\"text\":undefined}",
        "{\"text\":NaN}",
        "{\"text\":01}",
        "text=a&visibility=PUBLIC",
        &nested(30_000),
        &"{\"a\":".repeat(10_000),
    ] {
        for request in json_endpoints(&server, &alice) {
            let answer = server.send(request.header(CONTENT_TYPE, JSON).body(body.to_owned())).await;
            assert!(answer.expect_failure(400).json()["data"].is_null(), "{body:.40}");
        }
    }
    for bytes in
        [b"{\"text\":\"\xff\"}".as_slice(), b"{\"text\":\"a\",\"unknown\":\"\xc3\x28\"}", b"\xff\xfe{\0}\0", b"\xef"]
    {
        create(&server, &alice, Some(JSON), bytes).await.expect_failure(400);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_field_is_malformed_json() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for (path, body) in [
        ("/api/posts/create", r#"{"text":"a","text":"b"}"#),
        ("/api/posts/create", r#"{"text":"a","te\u0078t":"b"}"#),
        ("/api/comments/create", r#"{"postId":"a","content":"a","content":"a"}"#),
        ("/api/auth/register", r#"{"username":"a","username":"b"}"#),
        ("/api/auth/login", r#"{"identifier":"a","password":"a","password":"b"}"#),
    ] {
        let request = server.request(Method::POST, path).bearer_auth(&alice.token);
        let answer = server.send(request.header(CONTENT_TYPE, JSON).body(body)).await.expect_failure(400);
        assert!(answer.json()["data"].is_null(), "{body}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_the_wrong_kind_is_a_validation_failure_of_its_field() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    for value in [
        "\"\\ud800\"",
        "\"a\\udc00\\ud800\"",
        "\"a\\u0000b\"",
        "1e999999",
        "-123456789012345678901234567890.5",
        "{\"a\":{}}",
        "true",
        &deep,
    ] {
        let body = format!("{{\"text\":{value}}}");
        create(&server, &alice, Some(JSON), body).await.expect_invalid(&["text"]);
    }
    let unused = format!("{{\"text\":\"a\",\"unknown\":{deep},\"n\":1e999999}}");
    create(&server, &alice, Some(JSON), unused).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_another_type_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let types =
        ["text/plain", "application/x-www-form-urlencoded", "text/json", "application/jsonp", "json", "*/*", ""];
    for content_type in types.map(Some).into_iter().chain([None]) {
        create(&server, &alice, content_type, "{\"text\":\"a\"}").await.expect_failure(415);
        for mut request in json_endpoints(&server, &alice) {
            if let Some(content_type) = content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
            server.send(request.body("{}")).await.expect_failure(415);
        }
    }
    for path in ["/api/auth/register", "/api/auth/login", "/api/comments/create"] {
        let form = reqwest::multipart::Form::new().text("content", "a");
        let request = server.request(Method::POST, path).bearer_auth(&alice.token);
        server.send(request.multipart(form)).await.expect_failure(415);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_type_is_recognized_in_any_letter_case_and_with_parameters() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for content_type in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json ;x=y"] {
        create(&server, &alice, Some(content_type), "{\"text\":\"a\"}").await.expect(201);
    }
    let form = "preamble\r\n--b=x\r\ncontent-disposition: FORM-DATA; name=text\r\n\r\na\r\n--b=x--\r\nepilogue";
    for content_type in
        ["Multipart/Form-Data; boundary=\"b=x\"", "multipart/form-data; charset=utf-8; boundary=\"b=x\""]
    {
        create(&server, &alice, Some(content_type), form).await.expect(201);
    }
}

/// Returns a JSON object of this many bytes.
fn object_of(bytes: usize) -> String {
    let (before, after) = ("{\"text\":\"a\",\"unknown\":\"", "\"}");
    format!("{before}{}{after}", "x".repeat(bytes - before.len() - after.len()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_body_has_at_most_64_kib() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    create(&server, &alice, Some(JSON), object_of(64 * 1024)).await.expect(201);
    create(&server, &alice, Some(JSON), object_of(64 * 1024 + 1)).await.expect_failure(413);
    for request in json_endpoints(&server, &alice) {
        server.send(request.header(CONTENT_TYPE, JSON).body(object_of(64 * 1024 + 1))).await.expect_failure(413);
    }
    let long_text = "a".repeat(64 * 1024 + 1);
    let form = reqwest::multipart::Form::new().text("text", long_text);
    server.call_form(&alice, Method::POST, "/api/posts/create", form).await.expect_failure(413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_sends_a_whole_too_large_body_receives_the_refusal() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let body = object_of(20 * 1024 * 1024);
    let send = |path: &str, token: &str, content_type: &str, chunked: bool| {
        let length = body.len();
        let (framing, body) = match chunked {
            true => ("Transfer-Encoding: chunked".to_owned(), format!("{length:x}\r\n{body}\r\n0\r\n\r\n")),
            false => (format!("Content-Length: {length}"), body.clone()),
        };
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}");
        server.send_raw(format!("{head}\r\nContent-Type: {content_type}\r\n{framing}\r\n\r\n{body}").as_bytes())
    };
    for chunked in [false, true] {
        for (path, token, content_type, status) in [
            ("/api/posts/create", alice.token.as_str(), JSON, 413),
            ("/api/comments/create", &alice.token, JSON, 413),
            ("/api/auth/login", "", JSON, 413),
            ("/api/posts/create", &alice.token, "text/plain", 413),
            ("/api/posts/create", &alice.token, "multipart/form-data; boundary=x", 400),
            ("/api/posts/create", &alice.token, "multipart/form-data", 400),
            ("/api/posts/create", "forged", JSON, 401),
            ("/api/posts/like/5", &alice.token, JSON, 400),
            ("/api/posts/all", &alice.token, JSON, 405),
            ("/nothing", "", JSON, 404),
        ] {
            send(path, token, content_type, chunked).expect_failure(status);
        }
    }
    create(&server, &alice, Some(JSON), body).await.expect_failure(413);
    server.call_json(&alice, Method::POST, "/api/posts/create", json!({ "text": "still there" })).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_form_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let part = "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\na";
    let whole = format!("{part}\r\n--x--\r\n");
    create(&server, &alice, Some("multipart/form-data; boundary=x"), whole.clone()).await.expect(201);
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=y",
    ] {
        create(&server, &alice, Some(content_type), whole.clone()).await.expect_failure(400);
    }
    for body in [
        "a".to_owned(),
        "--x".to_owned(),
        "--x\r\n".to_owned(),
        part[..20].to_owned(),
        part.to_owned(),
        format!("{part}\r\n--"),
        format!("{part}\r\n--x"),
        format!("{part}\r\n{part}"),
        "--x\r\n\r\na\r\n--x--\r\n".to_owned(),
        "--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n".to_owned(),
        "--x\r\nContent-Disposition: attachment; name=\"text\"\r\n\r\na\r\n--x--\r\n".to_owned(),
        "--x\r\nnonsense\r\n\r\na\r\n--x--\r\n".to_owned(),
        "--x\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n\u{0}\r\n--x--\r\n".to_owned(),
    ] {
        create(&server, &alice, Some("multipart/form-data; boundary=x"), body).await.expect_failure(400);
    }
    let not_utf8 = b"--x\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n\xff\r\n--x--\r\n".as_slice();
    create(&server, &alice, Some("multipart/form-data; boundary=x"), not_utf8).await.expect_invalid(&["text"]);
    // A body that is too large is reported first.
    let large = format!("{part}{}\r\n--x\r\nnonsense", "a".repeat(70_000));
    create(&server, &alice, Some("multipart/form-data; boundary=x"), large).await.expect_failure(413);
    let posts = server.get(&alice, &format!("/api/posts/{}/all", alice.id)).await.expect(200).data();
    assert_eq!(posts.as_array().unwrap().len(), 1, "nothing of a refused form is stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_very_many_parts_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let parts = |count: usize| {
        (0..count).fold(reqwest::multipart::Form::new().text("text", "a"), |form, n| form.text(n.to_string(), "b"))
    };
    // One of the 64 is the text.
    server.call_form(&alice, Method::POST, "/api/posts/create", parts(63)).await.expect(201);
    for count in [64, 5_000] {
        server.call_form(&alice, Method::POST, "/api/posts/create", parts(count)).await.expect_failure(400);
    }
}
