//! Completes the description of each operation with what follows from the route table and from the kind of the operation, such
//! as the headers and failures that all operations of a kind share.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use actix_web::http::Method;
use serde_json::Value;
use utoipa::openapi::encoding::EncodingBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{OpenApi, Ref, RefOr, Required, ResponseBuilder};

use crate::core::{Access, IdempotencySupport};
use crate::openapi::{SECURITY, TICKET_SECURITY, examples};
use crate::request::parameters;
use crate::response::{ResponseHeader, failures, files};
use crate::routes;
use crate::routes::Endpoint;

/// The operations that create something that has a version and can be edited.
const CREATE_EDITABLE: [&str; 2] = ["createPost", "createProduct"];

/// The operations whose body is optional, besides those that accept a form.
const WITHOUT_BODY: [&str; 1] = ["muteUser"];

/// The form fields that hold an image.
const IMAGE_FIELDS: [&str; 2] = ["image", "profilePicture"];

/// Adds every endpoint to a document without paths.
pub(crate) fn complete(document: &mut OpenApi) {
    let endpoints = routes::endpoints().into_iter();
    let mut described: Vec<_> = endpoints.map(|endpoint| ((endpoint.describe)(), endpoint)).collect();
    let components = document.components.get_or_insert_default();
    for (handler, _) in &mut described {
        components.schemas.append(&mut handler.components.get_or_insert_default().schemas);
    }
    let schemas = serde_json::to_value(&components.schemas).unwrap_or_default();
    let mut preferred = BTreeMap::<_, &str>::new();
    for (handler, endpoint) in described {
        let Some(mut operation) = handler.paths.paths.into_values().find_map(|item| item.get) else { continue };
        let id = operation.operation_id.clone().unwrap_or_default();
        match preferred.entry(id) {
            Entry::Occupied(path) => mark_alias(&mut operation, path.get()),
            Entry::Vacant(entry) => drop(entry.insert(endpoint.path)),
        }
        complete_operation(&endpoint, &mut operation);
        describe_body(&endpoint, &mut operation, &schemas);
        examples::add(&mut operation, &schemas);
        let item = document.paths.paths.entry(endpoint.path.to_owned()).or_default();
        let slot = match endpoint.method {
            Method::POST => &mut item.post,
            Method::PUT => &mut item.put,
            Method::DELETE => &mut item.delete,
            _ => &mut item.get,
        };
        *slot = Some(operation);
    }
}

fn mark_alias(operation: &mut Operation, preferred: &str) {
    if let Some(id) = &mut operation.operation_id {
        id.push_str("Alias");
    }
    operation.description = Some(format!("An alias of `{preferred}`, which is the preferred path."));
}

fn complete_operation(endpoint: &Endpoint, operation: &mut Operation) {
    operation.security = Some(match endpoint.access {
        Access::Public => Vec::new(),
        Access::MemberOrTicket => {
            [SECURITY, TICKET_SECURITY].map(|name| SecurityRequirement::new(name, <[&str; 0]>::default())).to_vec()
        }
        _ => vec![SecurityRequirement::new(SECURITY, <[&str; 0]>::default())],
    });
    let description = operation.description.take().unwrap_or_default();
    operation.description =
        Some(format!("{}\n\n{}", description.trim(), access_note(endpoint.access)).trim_start().to_owned());
    add_parameters(endpoint, operation);
    add_failures(endpoint, operation);
    add_headers(endpoint, operation);
}

/// Returns whether an operation has a parameter of this name.
fn has_parameter(operation: &Operation, name: &str) -> bool {
    operation.parameters.iter().flatten().any(|it| matches!(it, RefOr::T(it) if it.name == name))
}

fn add_parameters(endpoint: &Endpoint, operation: &mut Operation) {
    let names = endpoint.path.split(['{', '}']).skip(1).step_by(2);
    let mut all: Vec<_> = names.map(|name| RefOr::T(parameters::in_path(name))).collect();
    all.extend(operation.parameters.take().unwrap_or_default());
    if endpoint.idempotency != IdempotencySupport::None {
        all.push(RefOr::T(parameters::idempotency_key()));
    }
    operation.parameters = (!all.is_empty()).then_some(all);
}

/// Adds the failures that every operation of the kind can end with, except those that the operation describes itself.
fn add_failures(endpoint: &Endpoint, operation: &mut Operation) {
    let has_body = operation.request_body.is_some();
    let idempotency = endpoint.idempotency != IdempotencySupport::None;
    let standard = [
        ("BadRequest", true),
        ("Unauthorized", endpoint.access != Access::Public),
        ("Forbidden", !matches!(endpoint.access, Access::Public | Access::Account)),
        // Anything that reads or writes stored data may run into a conflict that no rule foresaw.
        ("Conflict", endpoint.path.starts_with("/api/")),
        ("PreconditionFailed", has_parameter(operation, parameters::IF_MATCH)),
        ("RequestTimeout", has_body || idempotency),
        ("PayloadTooLarge", has_body || idempotency),
        ("KeyReused", idempotency),
        ("UnsupportedMediaType", has_body),
        ("TooManyRequests", true),
        ("InternalServerError", true),
        ("ServiceUnavailable", true),
    ];
    for failure in failures::all().iter().filter(|failure| standard.contains(&(failure.name, true))) {
        let responses = &mut operation.responses.responses;
        responses.entry(failure.status()).or_insert_with(|| failures::reference(failure.name));
    }
}

/// Adds the headers that every response of the kind has. A response that refers to a component has its headers there.
fn add_headers(endpoint: &Endpoint, operation: &mut Operation) {
    let is_list = has_parameter(operation, "cursor");
    let is_tagged = has_parameter(operation, parameters::IF_NONE_MATCH) && endpoint.path.starts_with("/api/");
    let is_edit = has_parameter(operation, parameters::IF_MATCH);
    let makes_editable = operation.operation_id.as_deref().is_some_and(|id| CREATE_EDITABLE.contains(&id));
    if is_tagged {
        let unchanged = ResponseBuilder::new().description("Not modified: the client's copy is still valid.");
        operation.responses.responses.insert("304".to_owned(), RefOr::T(unchanged.build()));
    }
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(response) = response else { continue };
        ResponseHeader::add_everywhere(response);
        if is_list && status == "200" {
            ResponseHeader::LINK.add_to(response);
        }
        if is_tagged && ["200", "304"].contains(&status.as_str()) {
            ResponseHeader::ETAG.add_to(response);
        }
        if is_edit && status == "200" || makes_editable && status == "201" {
            ResponseHeader::VERSION_TAG.add_to(response);
        }
        if endpoint.idempotency != IdempotencySupport::None && ["200", "201"].contains(&status.as_str()) {
            ResponseHeader::REPLAYED.add_to(response);
        }
        if status == "503" {
            ResponseHeader::RETRY_AFTER.add_to(response);
        }
        if response.content.contains_key("application/json") {
            ResponseHeader::CONTENT_ENCODING.add_to(response);
        }
    }
}

fn access_note(access: Access) -> &'static str {
    match access {
        Access::Public => "Public: no token is required.",
        Access::Account => "For any account with a valid token, even one without a role.",
        Access::MemberOrTicket => "For accounts with the role USER or ADMIN, by token or by ticket.",
        Access::Member => "For accounts with the role USER or ADMIN.",
        Access::Admin => "For accounts with the role ADMIN.",
    }
}

/// Declares which bodies are optional, and the media types of images in forms. A change that accepts a form also accepts no body
/// at all.
fn describe_body(endpoint: &Endpoint, operation: &mut Operation, schemas: &Value) {
    let Some(RefOr::T(body)) = &mut operation.request_body else { return };
    if operation.operation_id.as_deref().is_some_and(|id| WITHOUT_BODY.contains(&id)) {
        body.required = Some(Required::False);
    }
    let Some(RefOr::T(form)) = body.content.get_mut("multipart/form-data") else { return };
    if endpoint.method == Method::PUT {
        body.required = Some(Required::False);
    }
    let Some(RefOr::Ref(Ref { ref_location, .. })) = &form.schema else { return };
    let name = ref_location.rsplit('/').next().unwrap_or_default();
    for field in IMAGE_FIELDS.into_iter().filter(|field| schemas[name]["properties"].get(field).is_some()) {
        let encoding = EncodingBuilder::new().content_type(Some(files::media_types().join(", "))).build();
        form.encoding.insert(field.to_owned(), encoding);
    }
}
