//! `/docs` and `/api-docs`: the OpenAPI document, and a page to read it and try it out.
//!
//! The page is Swagger UI, whose files are embedded in the binary. It loads nothing from other hosts.

use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use agora_domain::Error;
use flate2::read::GzDecoder;
use utoipa_swagger_ui::Config;

use crate::core::ApiError;
use crate::endpoints::static_files::StaticFiles;
use crate::request::PathText;
use crate::response::{Document, HandlerResult, NotFound, Page, PagePart, ToPage};

/// The page may load its own files and call this service. Inline styles are those that Swagger UI sets on its elements; `data:`
/// images are those in its style sheet.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                                       img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; \
                                       form-action 'none'; frame-ancestors 'none'";

/// The media type of the document.
const JSON: &str = "application/json";

/// How long the page may be cached, and so may lag behind a new version of the service: an hour.
const CACHE_CONTROL: &str = "public, max-age=3600";

/// URLs are relative to the page, so that they hold under any path of a proxy. No external validator is called.
static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    let config = Config::from("../api-docs/openapi.json").use_base_layout().validator_url("none");
    Arc::new(config.deep_linking(true).display_operation_id(true).filter(true).try_it_out_enabled(true))
});

/// The OpenAPI document, compressed with gzip.
static DOCUMENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The OpenAPI document and the files of the page.
#[derive(Default)]
pub(crate) struct ApiDocs {
    files: StaticFiles,
}

impl ApiDocs {
    /// Responds with a file of the page.
    async fn part(&self, name: &str, request: &HttpRequest) -> HandlerResult {
        let make = || {
            let found = utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG));
            let found = found.map_err(|error| Error::internal(error.to_string()))?.ok_or(ApiError::UnknownRoute)?;
            let charset = if found.content_type.starts_with("text/") { "; charset=utf-8" } else { "" };
            Ok((found.content_type + charset, found.bytes.into_owned().into()))
        };
        Ok(self.files.get(name, make).await?.answer(CACHE_CONTROL, Some(CONTENT_SECURITY_POLICY), request))
    }
}

/// Get the OpenAPI document
///
/// The OpenAPI 3.1 document that describes every endpoint.
#[utoipa::path(get, path = "", operation_id = "getOpenApiDocument", tag = "Documentation", responses(Document))]
pub(crate) async fn document(docs: web::Data<ApiDocs>, request: HttpRequest) -> HandlerResult {
    let make = || {
        let mut document = Vec::new();
        GzDecoder::new(DOCUMENT).read_to_end(&mut document).map_err(Error::internal)?;
        Ok((JSON.to_owned(), document.into()))
    };
    // No file of the page has the empty name, since a path parameter is never empty.
    Ok(docs.files.get("", make).await?.answer(CACHE_CONTROL, None, &request))
}

/// Redirect to Swagger UI
#[utoipa::path(get, path = "", operation_id = "redirectToDocs", tag = "Documentation", responses(ToPage))]
pub(crate) async fn to_page() -> HandlerResult {
    // Relative, so that it holds under any path of a proxy.
    Ok(HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "docs/"))
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .finish())
}

/// Get the Swagger UI page
///
/// Shows this document, and sends requests to try the endpoints out.
#[utoipa::path(get, path = "", operation_id = "getDocs", tag = "Documentation", responses(Page))]
pub(crate) async fn page(docs: web::Data<ApiDocs>, request: HttpRequest) -> HandlerResult {
    docs.part("index.html", &request).await
}

/// Get a file of Swagger UI
#[utoipa::path(get, path = "", operation_id = "getDocsFile", tag = "Documentation", responses(PagePart, NotFound))]
pub(crate) async fn file(docs: web::Data<ApiDocs>, PathText(name): PathText, request: HttpRequest) -> HandlerResult {
    docs.part(&name, &request).await
}
