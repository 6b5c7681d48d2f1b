//! Traces over OTLP, and request ids from a proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use reqwest::Method;

use crate::client::eventually;
use crate::picture::picture;
use crate::process::{Home, Service};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// An OTLP collector, with the traces that it has received.
struct Receiver {
    url: String,
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Vec<_>>>::default();
        let sink = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let sink = Arc::clone(&sink);
                thread::spawn(move || while receive(stream.as_ref().unwrap(), &sink).is_some() {});
            }
        });
        Self { url, received }
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().unwrap();
        let resources = received.iter().flat_map(|request| &request.resource_spans);
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
    }

    fn find(&self, name: &str, kind: SpanKind) -> Option<Span> {
        self.spans().into_iter().find(|span| span.name == name && span.kind() == kind)
    }

    async fn span(&self, name: &str, kind: SpanKind) -> Span {
        eventually(name, async || self.find(name, kind)).await
    }

    /// Returns an attribute of the resource, which describes the service.
    fn resource(&self, name: &str) -> Option<String> {
        let received = self.received.lock().unwrap();
        let resource = received.first()?.resource_spans.first()?.resource.clone()?;
        text(resource.attributes, name)
    }
}

/// Receives one request; returns `None` at the end of the connection.
fn receive(mut stream: &TcpStream, sink: &Mutex<Vec<ExportTraceServiceRequest>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    assert_eq!(head[0], "post /v1/traces http/1.1");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    sink.lock().unwrap().push(ExportTraceServiceRequest::decode(&*body).unwrap());
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n").ok()
}

fn text(attributes: Vec<opentelemetry_proto::tonic::common::v1::KeyValue>, name: &str) -> Option<String> {
    let value = attributes.into_iter().find(|attribute| attribute.key == name)?.value?.value?;
    Some(match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    text(span.attributes.clone(), name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn start(home: &Home, receiver: &Receiver, further: &[(&str, &str)]) -> Service {
    let mut variables = vec![("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url.as_str())];
    variables.extend(further);
    home.start_with(&variables)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_traced_with_its_use_case_and_database_calls() {
    let (home, receiver) = (Home::new(), Receiver::start());
    let further = [
        ("OTEL_BSP_SCHEDULE_DELAY", "50"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
    ];
    let service = start(&home, &receiver, &further);
    let author = service.api.user("author").await;
    let posting = service.api.posting(&author, "a post with a picture", Some(&picture()));
    let posting = posting.header("traceparent", format!("00-{TRACE}-{PARENT}-01")).header("x-request-id", "proxy:7");
    let answer = service.api.send(posting).await.expect(201);
    assert_eq!(answer.header("x-request-id").unwrap(), "proxy:7");

    let request = receiver.span("POST /api/posts/create", SpanKind::Server).await;
    assert_eq!((hex(&request.trace_id), hex(&request.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    for (name, expected) in [
        ("http.request.method", "POST"),
        ("http.route", "/api/posts/create"),
        ("http.response.status_code", "201"),
        ("request.id", "proxy:7"),
    ] {
        assert_eq!(attribute(&request, name).as_deref(), Some(expected), "{name}");
    }
    let use_case = receiver.span("posts.create", SpanKind::Internal).await;
    let statement = receiver.span("posts.create", SpanKind::Client).await;
    let store = receiver.span("object_store.put", SpanKind::Client).await;
    assert_eq!(use_case.parent_span_id, request.span_id);
    for of_use_case in [&statement, &store] {
        assert_eq!(of_use_case.parent_span_id, use_case.span_id, "{}", of_use_case.name);
        assert_eq!(hex(&of_use_case.trace_id), TRACE);
    }
    assert_eq!(receiver.resource("service.name").as_deref(), Some("agora"));
    assert_eq!(receiver.resource("deployment.environment.name").as_deref(), Some("test"));

    // A write, which runs to its end even if the client disconnects, is traced, too.
    let path = format!("/api/posts/delete/{}", crate::client::text(&answer.json()["data"]["id"]));
    service.api.call(&author, Method::DELETE, &path).await.expect(200);
    let use_case = receiver.span("posts.delete", SpanKind::Internal).await;
    let statement = receiver.span("posts.delete", SpanKind::Client).await;
    assert_eq!(statement.parent_span_id, use_case.span_id);

    // A request without a trace of its client begins a new trace, which contains no ids or query of the client.
    service.api.get(&author, "/api/posts/by-id/01900000-0000-7000-8000-000000000000").await.expect(404);
    let missing = receiver.span("GET /api/posts/by-id/{postId}", SpanKind::Server).await;
    assert!(missing.parent_span_id.is_empty() && hex(&missing.trace_id) != TRACE);
    service.api.fetch("/health/ready").await.expect(200);
    service.api.fetch("/no/such/path/secret").await.expect(404);
    receiver.span("GET", SpanKind::Server).await;
    // Names that a client makes up do not appear in names of spans.
    let brewing = Method::from_bytes(b"SECRET-METHOD").unwrap();
    service.api.send(service.api.request(brewing, "/api/products/findAll")).await.expect(405);
    let brewed = receiver.span("HTTP /api/products/findAll", SpanKind::Server).await;
    assert_eq!(attribute(&brewed, "http.request.method").as_deref(), Some("_OTHER"));
    let exported = format!("{:?}", receiver.spans());
    assert!(
        !exported.to_lowercase().contains("secret") && !exported.contains("health") && !exported.contains("01900000"),
        "{exported}"
    );
    let log = service.stop().stderr;
    assert!(!log.contains("otel"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn remaining_traces_are_sent_on_shutdown() {
    let (home, receiver) = (Home::new(), Receiver::start());
    let service = start(&home, &receiver, &[("OTEL_BSP_SCHEDULE_DELAY", "600000"), ("OTEL_SERVICE_NAME", "other")]);
    let given = service.api.request(Method::GET, "/api/products/findAll").header("x-request-id", "not-from-a-proxy");
    let answer = service.api.send(given).await.expect(200);
    assert_ne!(answer.header("x-request-id").unwrap(), "not-from-a-proxy");
    assert!(receiver.spans().is_empty());
    service.stop();
    assert!(receiver.find("GET /api/products/findAll", SpanKind::Server).is_some());
    assert_eq!(receiver.resource("service.name").as_deref(), Some("other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_served_while_the_collector_is_unreachable() {
    let home = Home::new();
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("http://{away}");
    let further = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_BSP_SCHEDULE_DELAY", "10")];
    let service = home.start_with(&further);
    for _ in 0..20 {
        service.api.fetch("/api/products/findAll").await.expect(200);
    }
    eventually("the error is logged", async || service.log().contains("opentelemetry").then_some(())).await;
    service.api.fetch("/api/products/findAll").await.expect(200);
    service.stop();
}
