//! Examples of whole bodies, assembled from the examples of their fields, which are declared with the field types.

use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Operation;

const JSON: &str = "application/json";

/// Adds an example to each JSON body of an operation's request and responses that has none. `schemas` are the schemas of the
/// document by name.
pub(crate) fn add(operation: &mut Operation, schemas: &Value) {
    let requests = operation.request_body.iter_mut().filter_map(|body| match body {
        RefOr::T(body) => body.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    });
    let responses = operation.responses.responses.values_mut().filter_map(|response| match response {
        RefOr::T(response) => response.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    });
    for content in requests.chain(responses) {
        let RefOr::T(content) = content else { continue };
        if content.example.is_none() && content.examples.is_empty() {
            let schema = serde_json::to_value(&content.schema).unwrap_or_default();
            content.example = Some(example(&schema, schemas));
        }
    }
}

fn example(schema: &Value, schemas: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return example(&schemas[reference.rsplit('/').next().unwrap_or_default()], schemas);
    }
    let declared = [&schema["examples"][0], &schema["example"], &schema["default"], &schema["enum"][0]];
    if let Some(declared) = declared.into_iter().find(|it| !it.is_null()) {
        return declared.clone();
    }
    let parts = |of: &str| schema[of].as_array().into_iter().flatten().map(|part| example(part, schemas));
    let fields: Map<_, _> = parts("allOf").filter_map(|part| part.as_object().cloned()).flatten().collect();
    // For a nullable value, takes the example of the alternative that is not null.
    if let Some(one) = parts("oneOf").chain(parts("anyOf")).find(|it| !it.is_null()) {
        return one;
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    let properties = properties.map(|(name, field)| (name.clone(), example(field, schemas)));
    let fields: Map<_, _> = fields.into_iter().chain(properties).collect();
    match schema["type"].as_str().or(schema["type"][0].as_str()) {
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("string") if schema["format"] == "uuid" => json!("0198a9d0-6d5c-7c3b-b1a3-9cfa2b8a61d4"),
        Some("string") => json!("text"),
        Some("array") => json!([example(&schema["items"], schemas)]),
        Some("object") => Value::Object(fields),
        _ if !fields.is_empty() => Value::Object(fields),
        _ => Value::Null,
    }
}
