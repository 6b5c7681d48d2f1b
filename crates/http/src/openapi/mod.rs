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
        (name = "Users", description = "The caller's account, and the administration of accounts."),
        (name = "People", description = "Profiles of users: by id, by name, in the directory and in follow lists."),
        (name = "Posts", description = "Posts, feeds, likes and bookmarks."),
        (name = "Comments", description = "Comments on posts, replies to comments, and likes of comments."),
        (name = "Safety", description = "Blocks, mutes and reports."),
        (name = "Administration", description = "Moderation, sessions, mails, backups, the configuration and the audit log."),
        (name = "Notifications", description = "Notifications about actions of other users."),
        (name = "Live updates", description = "A stream of server-sent events."),
        (name = "Follows", description = "Following and unfollowing users, and follow lists."),
        (name = "Products", description = "The product catalog."),
        (name = "Search", description = "Full-text search for posts, users and products."),
        (name = "Images", description = "The images of posts and profiles."),
        (name = "Health", description = "Liveness and readiness of the service, for probes."),
        (name = "Pages", description = "The web client and the console for administrators."),
        (name = "Documentation", description = "This document, and Swagger UI to read it and try it out."),
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
        .description(Some("The token that `POST /api/auth/login` returns. `POST /api/auth/refresh` renews it."));
    components.add_security_scheme(SECURITY, SecurityScheme::Http(bearer.build()));
    let ticket =
        ApiKeyValue::with_description(TICKET, "A ticket from `POST /api/events/ticket`: valid once, for 30 seconds.");
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
