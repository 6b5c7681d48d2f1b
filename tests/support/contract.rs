//! Checks every accepted request, and every response that a test receives, against the OpenAPI document.

#![allow(dead_code, reason = "each test uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use agora_http::{openapi, routes};
use jsonschema::{Draft, Validator};
use reqwest::Method;
use reqwest::header::{CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value, json};

use crate::client::Response;

/// The aliases that requests may use instead of the preferred spelling, if the schema has both.
const ALIASES: [(&str, &str); 5] = [
    ("username", "name"),
    ("identifier", "email"),
    ("identifier", "username"),
    ("text", "content"),
    ("commentId", "id"),
];

/// The OpenAPI document.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(openapi::document()).unwrap());

/// The schemas of request bodies.
static REQUESTS: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(DOCUMENT["components"]["schemas"].clone()));

/// The schemas of response bodies, which are stricter: they allow no properties that the document does not describe.
static ANSWERS: LazyLock<Schemas> = LazyLock::new(|| {
    let mut schemas = DOCUMENT["components"]["schemas"].clone();
    let parts: BTreeSet<_> = pointers(&schemas).into_iter().filter(|(path, _)| path.contains("/allOf/")).collect();
    for (name, schema) in schemas.as_object_mut().unwrap() {
        let is_part = parts.iter().any(|(_, target)| target.ends_with(&format!("/{name}")));
        if !is_part && (schema.get("properties").is_some() || schema.get("allOf").is_some()) {
            schema["unevaluatedProperties"] = json!(false);
        }
    }
    Schemas::new(schemas)
});

/// The names of all response headers that the document describes.
static HEADERS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let pointers = pointers(&DOCUMENT).into_iter();
    pointers.filter_map(|(path, _)| path.split_once("/headers/").map(|(_, name)| name.to_owned())).collect()
});

/// The schemas of the document, each compiled when it is first needed.
struct Schemas {
    all: Value,
    compiled: BTreeMap<String, OnceLock<Validator>>,
}

impl Schemas {
    fn new(all: Value) -> Self {
        let compiled = all.as_object().unwrap().keys().map(|name| (name.clone(), OnceLock::new())).collect();
        Self { all, compiled }
    }

    /// Returns how a value violates the schema of this name.
    fn violations(&self, name: &str, value: &Value) -> Vec<String> {
        let validator = self.compiled[name].get_or_init(|| {
            let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
            compile(schema, &self.all)
        });
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
    }
}

fn compile(mut schema: Value, schemas: &Value) -> Validator {
    schema["components"] = json!({ "schemas": schemas });
    let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
    options.should_ignore_unknown_formats(true).build(&schema).unwrap()
}

/// Returns how a value violates a schema of the document.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let validator = compile(schema.clone(), &DOCUMENT["components"]["schemas"]);
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Returns the location and the target of every reference in a part of the document.
pub(crate) fn pointers(part: &Value) -> Vec<(String, String)> {
    fn walk(part: &Value, path: &str, found: &mut Vec<(String, String)>) {
        match part {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(target) if name == "$ref" => found.push((path.to_owned(), target.clone())),
                        value => walk(value, &format!("{path}/{name}"), found),
                    }
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, item)| walk(item, &format!("{path}/{i}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(part, "", &mut found);
    found
}

/// Returns the target if this part of the document is a reference, otherwise the part itself.
pub(crate) fn resolve(part: &Value) -> &Value {
    match part["$ref"].as_str() {
        Some(target) => DOCUMENT.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("no {target}")),
        None => part,
    }
}

/// Returns the operations of the documented path that matches, by method. If two match, the one with the longer literal prefix
/// wins.
fn path_item(path: &str) -> Option<&'static Value> {
    let segments: Vec<_> = path.split('/').collect();
    let leads_to = |template: &str| {
        let parts: Vec<_> = template.split('/').collect();
        let is_part = |(part, segment): (&&str, &&str)| part == segment || part.starts_with('{') && !segment.is_empty();
        parts.len() == segments.len() && parts.iter().zip(&segments).all(is_part)
    };
    let spelled_out = |path: &str| path.split('/').map(|part| part.starts_with('{')).collect::<Vec<_>>();
    let endpoints = routes::endpoints().into_iter().filter(|endpoint| leads_to(endpoint.path));
    let endpoint = endpoints.min_by_key(|endpoint| spelled_out(endpoint.path))?;
    Some(&DOCUMENT["paths"][endpoint.path])
}

fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let method = if method == "HEAD" { "get".to_owned() } else { method.to_ascii_lowercase() };
    path_item(path)?.get(method)
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn schema_name(content: &Value) -> Option<&str> {
    content["schema"]["$ref"].as_str()?.rsplit('/').next()
}

/// The messages about a head that cannot be parsed.
const HEAD_ERRORS: [&str; 2] = ["\"The head of the request is malformed\"", "\"The head of a request must be below"];

impl Response {
    /// Returns the body, decompressed if necessary.
    #[track_caller]
    pub(crate) fn decoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.header(CONTENT_ENCODING) {
            _ if self.body.is_empty() => {}
            None => bytes.clone_from(&self.body),
            Some("gzip") => drop(flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut bytes).unwrap()),
            Some("zstd") => bytes = zstd::decode_all(&*self.body).unwrap(),
            Some(other) => panic!("{other}"),
        }
        bytes
    }
}

/// Checks that the document describes a response, and the request as well if it was accepted.
pub(crate) fn check(method: &Method, path: &str, sent: &[u8], response: &Response) {
    check_answer(method.as_str(), path, response);
    if (200..300).contains(&response.status) {
        check_request(method.as_str(), path, sent);
    }
}

/// Checks that the document describes a response.
#[track_caller]
pub(crate) fn check_answer(method: &str, path: &str, response: &Response) {
    let (status, headers, body) = (response.status, &response.headers, &*response.decoded());
    let case = format!("{method} {path:.200} answered {status}: {:.2000}", String::from_utf8_lossy(body));
    // The response to a malformed head belongs to no operation. It closes the connection, and has the form of every error.
    if HEAD_ERRORS.iter().any(|message| String::from_utf8_lossy(body).contains(message)) {
        assert!(headers.get(CONNECTION).is_some_and(|value| value == "close"), "the connection stays, {case}");
        check_headers(&DOCUMENT["components"]["responses"]["NotFound"], headers, &case);
        check_body(&DOCUMENT["components"]["responses"]["NotFound"], headers, Some(body), &case);
        return;
    }
    // Unknown paths and methods are not operations of the document, but it describes the responses to them.
    let missing = |name: &str, expected: u16| {
        assert_eq!(status, expected, "no operation of the document, {case}");
        &DOCUMENT["components"]["responses"][name]
    };
    let response = match (path_item(path), operation(method, path)) {
        (None, _) => missing("NotFound", 404),
        (Some(_), None) => missing("MethodNotAllowed", 405),
        (_, Some(operation)) => &operation["responses"][status.to_string()],
    };
    assert!(!response.is_null(), "the document has no such status, {case}");
    let response = resolve(response);
    check_headers(response, headers, &case);
    check_body(response, headers, (method != "HEAD").then_some(body), &case);
}

#[track_caller]
fn check_headers(response: &Value, headers: &HeaderMap, case: &str) {
    let described: BTreeMap<_, _> = response["headers"].as_object().expect("headers").iter().collect();
    for (name, header) in &described {
        let required = resolve(header)["required"] == json!(true);
        assert!(!required || headers.contains_key(name.as_str()), "without {name}, {case}");
    }
    for name in HEADERS.iter() {
        let is_described = described.contains_key(name);
        assert!(is_described || !headers.contains_key(name), "with {name}, which the document does not say, {case}");
    }
}

#[track_caller]
fn check_body(response: &Value, headers: &HeaderMap, body: Option<&[u8]>, case: &str) {
    let Some(contents) = response["content"].as_object() else {
        assert!(body.is_none_or(<[u8]>::is_empty), "the document has no body, {case}");
        return;
    };
    let content_type = headers.get(CONTENT_TYPE).map_or("", |value| essence(value.to_str().unwrap()));
    let content = contents.get(content_type).unwrap_or_else(|| panic!("{content_type} is not described, {case}"));
    if let (Some(name), Some(body)) = (schema_name(content), body) {
        let json: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}, {case}"));
        let violations = ANSWERS.violations(name, &json);
        assert!(violations.is_empty(), "{violations:#?}, {case}");
    }
}

/// Checks that the document describes the JSON body of an accepted request.
#[track_caller]
fn check_request(method: &str, path: &str, body: &[u8]) {
    let Some(operation) = operation(method, path) else { return };
    let content = &operation["requestBody"]["content"]["application/json"];
    let Some(name) = schema_name(content) else { return };
    // Values nested too deeply to be parsed here are in unknown fields, which are ignored.
    let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return };
    // Requests may be more liberal than the document: null counts as missing, texts are trimmed, and aliases are accepted for the
    // preferred spelling.
    fields.retain(|_, value| !value.is_null());
    for (field, value) in &mut fields {
        if let Value::String(text) = value
            && !field.to_lowercase().contains("password")
        {
            *text = text.trim().to_owned();
        }
    }
    let described = &DOCUMENT["components"]["schemas"][name]["properties"];
    for (preferred, alias) in ALIASES {
        if described[preferred].is_object() && described[alias].is_object() {
            // A blank value counts as missing.
            fields.retain(|field, value| ![preferred, alias].contains(&field.as_str()) || *value != json!(""));
            if let (false, Some(text)) = (fields.contains_key(preferred), fields.get(alias).cloned()) {
                fields.insert(preferred.to_owned(), text);
            }
        }
    }
    // `postId` is ignored beside `commentId`.
    if fields.contains_key("commentId") {
        fields.remove("postId");
    }
    let violations = REQUESTS.violations(name, &Value::Object(fields));
    let body = String::from_utf8_lossy(body);
    assert!(violations.is_empty(), "{violations:#?}, {method} {path} was accepted: {body:.1000}");
}
