//! The description of the interface as an OpenAPI 3.1 document.
//!
//! The `#[utoipa::path]` of each handler declares what is specific to it: its name, its request body and its responses. Its doc
//! comment is the description that clients read. The attribute also requires a method and a path; these are always `get` and
//! an empty path, since the route table declares both. `complete` adds them, and everything else that follows from the route
//! table or from the kind of the endpoint: who may call it, its path parameter, and the failures and headers that all endpoints
//! of its kind share. Each parameter, header, failure and schema is described once, in the module of that name.

mod complete;
mod examples;

use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::core::{ErrorCode, FailureBody};
use crate::request::TICKET;
use crate::response::{
    AdminAuthorBody, AuthorBody, EntityBody, LikerBody, MiniBody, PublicAuthorBody, RelationshipBody, UserSummaryBody,
    failures, headers,
};

/// The name of the security scheme for bearer tokens.
const SECURITY: &str = "bearerAuth";

/// The name of the security scheme for tickets, which open a stream of events.
const TICKET_SECURITY: &str = "ticket";

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Agora",
        description = include_str!("description.md"),
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(
        FailureBody, ErrorCode, AuthorBody<'static>, PublicAuthorBody<'static>, AdminAuthorBody<'static>,
        UserSummaryBody<'static>, LikerBody<'static>, MiniBody<'static>, RelationshipBody, EntityBody
    )),
    servers((url = "/", description = "The service that serves this document.")),
    tags(
        (name = "Authentication", description = "Registration, login and tokens."),
        (name = "Users", description = "The own account, and the administration of all."),
        (name = "People", description = "What users see of each other, and how they find each other."),
        (name = "Posts", description = "Posts and likes."),
        (name = "Comments", description = "Comments on posts, replies and likes."),
        (name = "Safety", description = "Whom users keep apart from themselves, whom they do not want to hear, and what they report."),
        (name = "Administration", description = "What administrators take down and decide, and what they did."),
        (name = "Notifications", description = "What users are told of the acts of others."),
        (name = "Live updates", description = "What happens, told while it does."),
        (name = "Follows", description = "Who follows whom."),
        (name = "Products", description = "The catalog."),
        (name = "Search", description = "What is found by its words."),
        (name = "Images", description = "The images of posts and profiles."),
        (name = "Health", description = "Health of the service, for probes."),
        (name = "Pages", description = "What people open in a browser."),
        (name = "Documentation", description = "This document, and a page to read it and try it out."),
    ),
)]
/// The document without its paths.
struct BaseDocument;

/// Returns the document: every endpoint of [`crate::routes`], with its requests and responses.
pub fn document() -> OpenApi {
    let mut document = BaseDocument::openapi();
    let components = document.components.get_or_insert_default();
    components.responses.extend(failures::components());
    components.headers.extend(headers::components());
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .description(Some("The token that login answers with; renewed by `POST /api/auth/refresh`."));
    components.add_security_scheme(SECURITY, SecurityScheme::Http(bearer.build()));
    let ticket = ApiKeyValue::with_description(TICKET, "From `POST /api/events/ticket`: for 30 seconds, once.");
    components.add_security_scheme(TICKET_SECURITY, SecurityScheme::ApiKey(ApiKey::Query(ticket)));
    complete::complete(&mut document);
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_of_a_failure_has_the_same_status() {
        for failure in failures::all() {
            assert!(!failure.examples.is_empty(), "{}", failure.name);
            for (name, error) in &failure.examples {
                assert_eq!(error.status().as_str(), failure.status(), "{} {name}", failure.name);
            }
        }
    }
}
