//! Generates `examples/http/agora.http`: every operation of the document as a request to send by hand.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;
use uuid::Uuid;

use super::contract::{DOCUMENT, resolve};

const HEAD: &str = "\
# Every endpoint as a request, for VS Code's REST Client, the HTTP client of JetBrains' IDEs, and httpyac.
# Made from docs/openapi.json by `just openapi`.
#
# Register, log in, and put the token from the answer here, as well as the ids that a request needs. An upload sends the
# file `picture.png` in the directory of this file.
@service = http://127.0.0.1:8080
@token = TOKEN
";

/// The body for operations that accept only a form: an image.
const FORM: &str = "\
Content-Type: multipart/form-data; boundary=part

--part
Content-Disposition: form-data; name=\"image\"; filename=\"picture.png\"
Content-Type: image/png

< ./picture.png
--part--
";

/// A placeholder for ids.
const SOME_ID: &str = "00000000-0000-0000-0000-000000000000";

/// Returns the collection, with the operations grouped by tag.
pub(super) fn collection() -> String {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let operations: Vec<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        })
        .collect();
    let named = operations.iter().flat_map(|(.., operation)| parameters(operation, "path"));
    let in_paths = named.map(|it| (it["name"].as_str().unwrap(), example(it)));
    let in_bodies = operations.iter().filter_map(|(.., operation)| body(operation)?.get("example")).flat_map(ids);
    let variables: BTreeMap<_, _> = in_bodies.map(|name| (name, SOME_ID)).chain(in_paths).collect();
    let mut written = HEAD.to_owned();
    for (name, value) in variables {
        writeln!(written, "@{name} = {value}").unwrap();
    }
    for tag in DOCUMENT["tags"].as_array().unwrap() {
        for (path, method, operation) in operations.iter().filter(|(.., operation)| operation["tags"][0] == tag["name"])
        {
            write_request(&mut written, tag["name"].as_str().unwrap(), path, method, operation);
        }
    }
    written
}

fn write_request(written: &mut String, tag: &str, path: &str, method: &str, operation: &Value) {
    let path = path.replace('{', "{{").replace('}', "}}");
    let summary = operation["summary"].as_str().unwrap();
    write!(written, "\n### {tag}: {summary}\n{} {{{{service}}}}{path}", method.to_uppercase()).unwrap();
    for (place, parameter) in
        parameters(operation, "query").filter(|parameter| parameter["required"] == true).enumerate()
    {
        let example = example(parameter);
        let sign = if place == 0 { '?' } else { '&' };
        write!(written, "{sign}{}={}", parameter["name"].as_str().unwrap(), example.replace(' ', "%20")).unwrap();
    }
    written.push('\n');
    if operation["security"].as_array().is_some_and(|any| any.iter().any(|it| it.get("bearerAuth").is_some())) {
        written.push_str("Authorization: Bearer {{token}}\n");
    }
    if let Some(example) = body(operation).and_then(|content| content.get("example")) {
        let mut body = example.clone();
        for name in ids(example) {
            body[name] = format!("{{{{{name}}}}}").into();
        }
        let body = serde_json::to_string_pretty(&body).unwrap();
        writeln!(written, "Content-Type: application/json\n\n{body}").unwrap();
    } else if operation.get("requestBody").is_some() {
        written.push_str(FORM);
    }
}

/// Returns the JSON content of an operation's request body.
fn body(operation: &Value) -> Option<&Value> {
    resolve(operation.get("requestBody")?)["content"].get("application/json")
}

/// Returns the fields of a body whose values are UUIDs.
fn ids(body: &Value) -> impl Iterator<Item = &str> {
    let fields = body.as_object().into_iter().flatten();
    let named = fields.filter(|(_, value)| value.as_str().is_some_and(|text| Uuid::parse_str(text).is_ok()));
    named.map(|(name, _)| name.as_str())
}

fn parameters<'a>(operation: &'a Value, place: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    all.map(resolve).filter(move |parameter| parameter["in"] == place)
}

/// Returns a value for a parameter: its first example or enum value, or else a placeholder, since some programs accept no empty
/// value.
fn example(parameter: &Value) -> &str {
    let schema = resolve(&parameter["schema"]);
    let schema = schema.get("items").map_or(schema, resolve);
    let named = schema["examples"].get(0).or_else(|| schema["enum"].get(0)).and_then(Value::as_str);
    named.unwrap_or(if schema["format"] == "uuid" { SOME_ID } else { "example" })
}
