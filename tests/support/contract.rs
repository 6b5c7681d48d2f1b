//! What the OpenAPI document promises, held against every request that is accepted and every answer that a test sees.

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

/// The spellings that requests may use instead of the one that the document asks for, where both are fields of it.
const ALIASES: [(&str, &str); 5] = [
    ("username", "name"),
    ("identifier", "email"),
    ("identifier", "username"),
    ("text", "content"),
    ("commentId", "id"),
];

/// The document.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(openapi::document()).unwrap());

/// What requests must be.
static REQUESTS: LazyLock<Schemas> = LazyLock::new(|| Schemas::new(DOCUMENT["components"]["schemas"].clone()));

/// What answers must be: what the document says, and nothing that it does not say.
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

/// The names of all headers of responses that the document knows.
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

    /// What is wrong with a value that should be as the schema of this name says.
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

/// What is wrong with a value that should be as a schema of the document says.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let validator = compile(schema.clone(), &DOCUMENT["components"]["schemas"]);
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Every reference in a part of the document: where it is and what it refers to.
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

/// The part of the document that this one is, or refers to.
pub(crate) fn resolve(part: &Value) -> &Value {
    match part["$ref"].as_str() {
        Some(target) => DOCUMENT.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("no {target}")),
        None => part,
    }
}

/// The operations of the path that leads to the endpoint, by method. Of two paths, the one that spells out more of its
/// beginning.
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

/// What is said of a head that cannot be read.
const NO_REQUEST: [&str; 2] = ["\"The head of the request is malformed\"", "\"The head of a request must be below"];

impl Response {
    /// Returns the body as it was before it was compressed, if it was.
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

/// Checks that a response is one that the document describes, and so is the request if it was accepted.
pub(crate) fn check(method: &Method, path: &str, sent: &[u8], response: &Response) {
    check_answer(method.as_str(), path, response);
    if (200..300).contains(&response.status) {
        check_request(method.as_str(), path, sent);
    }
}

/// Checks that an answer is one that the document describes.
#[track_caller]
pub(crate) fn check_answer(method: &str, path: &str, response: &Response) {
    let (status, headers, body) = (response.status, &response.headers, &*response.decoded());
    let case = format!("{method} {path:.200} answered {status}: {:.2000}", String::from_utf8_lossy(body));
    // What never becomes a request of an operation ends its connection, and has the form of every failure.
    if NO_REQUEST.iter().any(|message| String::from_utf8_lossy(body).contains(message)) {
        assert!(headers.get(CONNECTION).is_some_and(|value| value == "close"), "the connection stays, {case}");
        check_headers(&DOCUMENT["components"]["responses"]["NotFound"], headers, &case);
        check_body(&DOCUMENT["components"]["responses"]["NotFound"], headers, Some(body), &case);
        return;
    }
    // An unknown path and a method that a path has not are no operations of the document. What they are answered with
    // is in it all the same.
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

/// Checks that the JSON body of a request that was accepted is one that the document describes.
#[track_caller]
fn check_request(method: &str, path: &str, body: &[u8]) {
    let Some(operation) = operation(method, path) else { return };
    let content = &operation["requestBody"]["content"]["application/json"];
    let Some(name) = schema_name(content) else { return };
    // What is nested too deep to be read here is in fields that mean nothing.
    let Ok(mut fields) = serde_json::from_slice::<Map<String, Value>>(body) else { return };
    // Requests are read more liberally than they should be written: null is like absent, texts are trimmed, and where
    // the preferred spelling should be, another one may be.
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
            // A blank one is like none.
            fields.retain(|field, value| ![preferred, alias].contains(&field.as_str()) || *value != json!(""));
            if let (false, Some(text)) = (fields.contains_key(preferred), fields.get(alias).cloned()) {
                fields.insert(preferred.to_owned(), text);
            }
        }
    }
    // Beside the comment, its post is not looked at.
    if fields.contains_key("commentId") {
        fields.remove("postId");
    }
    let violations = REQUESTS.violations(name, &Value::Object(fields));
    let body = String::from_utf8_lossy(body);
    assert!(violations.is_empty(), "{violations:#?}, {method} {path} was accepted: {body:.1000}");
}
