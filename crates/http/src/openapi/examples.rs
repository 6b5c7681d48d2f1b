//! Whole bodies as examples, put together from the examples of their fields, which stand at the types themselves.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::openapi::{
    RefOr, Schema, Type,
    path::Operation,
    schema::{ArrayItems, Object, SchemaType},
};

/// The schemas of the document, by name.
pub(crate) type Schemas = BTreeMap<String, RefOr<Schema>>;

const JSON: &str = "application/json";

/// Gives the JSON that an operation takes and answers an example each, where it has none.
pub(crate) fn add(operation: &mut Operation, schemas: &Schemas) {
    let taken = operation.request_body.iter_mut().filter_map(|body| match body {
        RefOr::T(body) => body.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    });
    let answered = operation.responses.responses.values_mut().filter_map(|response| match response {
        RefOr::T(response) => response.content.get_mut(JSON),
        RefOr::Ref(_) => None,
    });
    for content in taken.chain(answered) {
        let RefOr::T(content) = content else { continue };
        if content.example.is_none() && content.examples.is_empty() {
            content.example = content.schema.as_ref().map(|schema| example(schema, schemas));
        }
    }
}

fn example(schema: &RefOr<Schema>, schemas: &Schemas) -> Value {
    let schema = match schema {
        RefOr::T(schema) => schema,
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
            return schemas.get(name).map_or(Value::Null, |schema| example(schema, schemas));
        }
    };
    match schema {
        Schema::Object(object) => of_object(object, schemas),
        Schema::Array(array) => match &array.items {
            ArrayItems::RefOrSchema(items) => json!([example(items, schemas)]),
            ArrayItems::False => json!([]),
        },
        Schema::AllOf(all) => {
            let parts = all.items.iter().filter_map(|part| match example(part, schemas) {
                Value::Object(fields) => Some(fields),
                _ => None,
            });
            Value::Object(parts.flatten().collect())
        }
        // What may be null is shown as what else it may be.
        Schema::OneOf(one) => one.items.iter().map(|it| example(it, schemas)).find(|it| !it.is_null()).into(),
        Schema::AnyOf(any) => any.items.iter().map(|it| example(it, schemas)).find(|it| !it.is_null()).into(),
        _ => Value::Null,
    }
}

fn of_object(object: &Object, schemas: &Schemas) -> Value {
    let told = object.examples.first().or(object.example.as_ref()).or(object.default.as_ref());
    if let Some(told) = told.or(object.enum_values.iter().flatten().next()) {
        return told.clone();
    }
    if !object.properties.is_empty() {
        let fields = object.properties.iter().map(|(name, field)| (name.clone(), example(field, schemas)));
        return Value::Object(fields.collect::<Map<_, _>>());
    }
    let types = match &object.schema_type {
        SchemaType::Type(one) => std::slice::from_ref(one),
        SchemaType::Array(some) => some,
        SchemaType::AnyValue => &[],
    };
    let is_uuid = serde_json::to_value(&object.format).is_ok_and(|format| format == "uuid");
    match types.first() {
        Some(Type::Boolean) => json!(true),
        Some(Type::Integer | Type::Number) => json!(1),
        Some(Type::String) if is_uuid => json!("0198a9d0-6d5c-7c3b-b1a3-9cfa2b8a61d4"),
        Some(Type::String) => json!("text"),
        Some(Type::Array) => json!([]),
        Some(Type::Object) => json!({}),
        Some(Type::Null) | None => Value::Null,
    }
}
