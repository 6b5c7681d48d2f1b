//! The OpenAPI document: the committed file is current, covers every endpoint, and is consistent.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs, panic};

use agora_http::routes::Access;
use agora_http::{openapi, routes};
use reqwest::Version;
use reqwest::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use serde_json::{Value, json};

#[path = "../../../tests/support/client.rs"]
mod client;
mod collection;
#[path = "../../../tests/support/contract.rs"]
mod contract;

use client::Response;
use contract::{DOCUMENT, pointers, resolve, violations};

/// Returns every operation in the document, with its method and path.
fn operations() -> Vec<(String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let of_path = |(path, item): (&'static String, &'static Value)| {
        let operations = item.as_object().unwrap().iter();
        operations.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
    };
    paths.flat_map(of_path).collect()
}

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    expect_committed("docs/openapi.json", openapi::document().to_pretty_json().unwrap() + "\n");
}

#[test]
fn the_committed_collection_has_every_operation_of_the_document() {
    let collection = collection::collection();
    assert_eq!(collection.matches("\n### ").count(), operations().len());
    expect_committed("examples/http/agora.http", collection);
}

/// Checks that a file in the repository has the current content. If `AGORA_RENEW_OPENAPI` is set, writes it first.
#[track_caller]
fn expect_committed(path: &str, current: String) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if env::var_os("AGORA_RENEW_OPENAPI").is_some() {
        fs::write(&file, &current).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(current.lines()).position(|(committed, current)| committed != current);
    assert!(
        committed == current,
        "{path} is stale from line {}: renew it with `just openapi`, or with\n\
         AGORA_RENEW_OPENAPI=1 cargo test --package agora-http --test openapi",
        differs.unwrap_or_default() + 1,
    );
}

#[test]
fn the_document_has_every_endpoint_of_the_route_table_and_no_other() {
    let routed: BTreeSet<_> = routes::endpoints().iter().map(|it| format!("{} {}", it.method, it.path)).collect();
    let described: BTreeSet<_> = operations().into_iter().map(|(name, _)| name).collect();
    assert_eq!(described, routed);
}

#[test]
fn every_operation_says_who_may_call_it() {
    for endpoint in routes::endpoints() {
        let operation = &DOCUMENT["paths"][endpoint.path][endpoint.method.as_str().to_ascii_lowercase()];
        let expected = match endpoint.access {
            Access::Public => json!([]),
            Access::MemberOrTicket => json!([{ "bearerAuth": [] }, { "ticket": [] }]),
            _ => json!([{ "bearerAuth": [] }]),
        };
        assert_eq!(operation["security"], expected, "{} {}", endpoint.method, endpoint.path);
    }
}

#[test]
fn an_operation_that_takes_forms_is_marked_in_the_route_table() {
    let endpoints = routes::endpoints();
    for (name, operation) in operations() {
        let documented = operation["requestBody"]["content"]["multipart/form-data"].is_object();
        let endpoint = endpoints.iter().find(|it| format!("{} {}", it.method, it.path) == name).unwrap();
        assert_eq!(endpoint.takes_form, documented, "{name}");
    }
}

#[test]
fn every_operation_has_a_unique_id_and_a_description() {
    let tags: BTreeSet<_> =
        DOCUMENT["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone().to_string()).collect();
    let mut names = BTreeSet::new();
    for (name, operation) in operations() {
        let id = operation["operationId"].as_str().unwrap();
        assert!(
            id.chars().all(|c| c.is_ascii_alphanumeric()) && id.starts_with(|c: char| c.is_ascii_lowercase()),
            "{id}"
        );
        assert!(names.insert(id), "{id} twice");
        assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{name} has no summary");
        assert!(tags.contains(&operation["tags"][0].to_string()), "{name} has no tag");
        let answers = operation["responses"].as_object().unwrap();
        assert!(answers.keys().any(|status| ["2", "3"].contains(&&status[..1])), "{name} never succeeds");
        for (status, answer) in answers {
            assert!(!resolve(answer)["description"].as_str().unwrap_or_default().is_empty(), "{name} {status}");
            assert!(resolve(answer)["headers"]["x-request-id"].is_object(), "{name} {status}");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            assert!(!parameter["description"].as_str().unwrap_or_default().is_empty(), "{name} {parameter}");
        }
    }
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let referred: BTreeSet<_> = pointers(&DOCUMENT).into_iter().map(|(_, target)| target).collect();
    for target in &referred {
        assert!(DOCUMENT.pointer(target.trim_start_matches('#')).is_some(), "{target}");
    }
    for kind in ["schemas", "responses", "headers"] {
        for name in DOCUMENT["components"][kind].as_object().unwrap().keys() {
            let target = format!("#/components/{kind}/{name}");
            // This response is for methods that a path lacks, so no operation refers to it.
            assert!(referred.contains(&target) || name == "MethodNotAllowed", "{target} is not used");
        }
    }
}

/// Checks the examples in a part of the document, recursively: those of schemas, and those of request and response bodies.
fn check_examples(part: &Value, path: &str, checked: &mut usize) {
    let Some(fields) = part.as_object() else {
        part.as_array().into_iter().flatten().for_each(|item| check_examples(item, path, checked));
        return;
    };
    let (schema, examples): (&Value, Vec<&Value>) = match (&part["schema"], &part["examples"], part.get("example")) {
        (schema @ Value::Object(_), Value::Object(named), None) => {
            (schema, named.values().map(|it| &it["value"]).collect())
        }
        (schema @ Value::Object(_), _, Some(example)) => (schema, vec![example]),
        (_, Value::Array(examples), _) => (part, examples.iter().collect()),
        _ => (part, Vec::new()),
    };
    for example in examples {
        let violations = violations(schema, example);
        assert!(violations.is_empty(), "{path}: {violations:?}");
        *checked += 1;
    }
    fields.iter().for_each(|(name, field)| check_examples(field, &format!("{path}/{name}"), checked));
}

#[test]
fn every_example_is_valid() {
    let mut checked = 0;
    check_examples(&DOCUMENT, "", &mut checked);
    assert!(checked > 50, "{checked} examples");
}

#[test]
fn the_document_has_no_merge_conflict_markers() {
    let text = DOCUMENT.to_string();
    assert!(["<<<<<<<", "=======", ">>>>>>>"].into_iter().all(|mark| !text.contains(mark)));
}

#[test]
fn every_body_has_an_example() {
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let answers = operation["responses"].as_object().unwrap().values();
            let bodies = answers.map(resolve).chain([&operation["requestBody"]]);
            for content in bodies.filter_map(|body| body["content"].get("application/json")) {
                let has_one = content["example"].is_object() || content["examples"].is_object();
                // The OpenAPI document is its own example.
                assert!(has_one || path.ends_with("openapi.json"), "{method} {path}: {content}");
            }
        }
    }
}

#[test]
fn the_contract_check_rejects_responses_that_the_document_does_not_describe() {
    type Part<'a> = Option<(HeaderName, &'a str)>;
    let id: Part<'_> = Some((HeaderName::from_static("x-request-id"), "1"));
    let json: Part<'_> = Some((CONTENT_TYPE, "application/json"));
    let list = r#"{"message": "No products found", "products": []}"#;
    let failure = r#"{"success": false, "status": 404, "code": "route_not_found", "message": "Route not found"}"#;
    let close: Part<'_> = Some((CONNECTION, "close"));
    let malformed =
        r#"{"success":false,"status":400,"code":"malformed_request","message":"The head of the request is malformed"}"#;
    let is_accepted = |method: &str, path: &str, status, parts: &[Part<'_>], body: &str| {
        // The headers that every response has, and the tag that every page of the catalog has.
        let everywhere = [X_CONTENT_TYPE_OPTIONS, REFERRER_POLICY, CONTENT_SECURITY_POLICY, CACHE_CONTROL];
        let tag = (status == 200).then_some((ETAG, "\"1\""));
        let parts = parts.iter().flatten().cloned().chain(everywhere.map(|name| (name, "as it is"))).chain(tag);
        let headers: HeaderMap = parts.map(|(name, value)| (name, HeaderValue::from_str(value).unwrap())).collect();
        let response = Response { version: Version::HTTP_11, status, headers, body: body.into() };
        panic::catch_unwind(|| contract::check_answer(method, path, &response)).is_ok()
    };
    let path = "/api/products/findAll";
    for (method, path, status, parts, body) in [
        ("GET", path, 200, vec![id.clone(), json.clone()], list),
        ("HEAD", path, 200, vec![id.clone(), json.clone()], ""),
        ("GET", "/nothing", 404, vec![id.clone(), json.clone()], failure),
        ("nonsense", "", 400, vec![id.clone(), json.clone(), close.clone()], malformed),
    ] {
        assert!(is_accepted(method, path, status, &parts, body), "{method} {path} {status} {parts:?} {body}");
    }
    for (method, path, status, parts, body) in [
        ("GET", path, 400, vec![], ""),
        ("nonsense", "", 400, vec![json.clone(), close.clone()], malformed),
        ("nonsense", "", 400, vec![id.clone(), json.clone()], malformed),
        ("nonsense", "", 400, vec![id.clone(), close], malformed),
        ("GET", path, 204, vec![id.clone()], ""),
        ("GET", path, 200, vec![json.clone()], list),
        ("GET", path, 200, vec![id.clone()], list),
        ("GET", path, 200, vec![id.clone(), Some((CONTENT_TYPE, "text/html"))], list),
        ("GET", path, 200, vec![id.clone(), json.clone(), Some((CONTENT_RANGE, "bytes */1"))], list),
        ("GET", path, 200, vec![id.clone(), json.clone()], "[]"),
        ("GET", path, 200, vec![id.clone(), json.clone()], r#"{"message": "success"}"#),
        ("GET", path, 200, vec![id.clone(), json.clone()], r#"{"message": "a", "products": [], "more": 1}"#),
        ("GET", path, 200, vec![id.clone(), json.clone()], r#"{"message": "a", "products": [{"id": "5"}]}"#),
        ("GET", path, 503, vec![id.clone(), json.clone()], failure),
        ("POST", path, 200, vec![id.clone(), json.clone()], list),
        ("GET", "/nothing", 200, vec![id.clone(), json.clone()], list),
        ("GET", "/nothing", 404, vec![id, json], list),
    ] {
        assert!(!is_accepted(method, path, status, &parts, body), "{method} {path} {status} {parts:?} {body}");
    }
}

/// Returns the words in backticks in the code column of the table in `docs/api.md` that has this header.
fn documented(header: &str) -> BTreeSet<String> {
    let manual = include_str!("../../../docs/api.md");
    let (_, table) = manual.split_once(header).expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let column = header.split('|').position(|it| it.trim().starts_with("code")).expect("the column");
    let cells = rows.filter_map(|row| row.split('|').nth(column));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn words(schema: &Value) -> BTreeSet<String> {
    schema["enum"].as_array().expect("an enumeration").iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_error_code_is_in_the_manual_and_in_the_document() {
    let schemas = &DOCUMENT["components"]["schemas"];
    assert_eq!(documented("| status | code | when |"), words(&schemas["ErrorCode"]));
    let of_fields = &schemas["Failure"]["properties"]["codes"]["additionalProperties"]["items"];
    assert_eq!(documented("| code of a field | when |"), words(of_fields));
}
