//! `/docs` and `/api-docs`: the description of the interface, and a page to read it and try it out.
//!
//! The page is Swagger UI, whose parts are in the binary and sent from there. It loads nothing from elsewhere.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
};

use actix_web::{HttpRequest, HttpResponse, http::header, web};
use agora_domain::Error;
use bytes::Bytes;
use utoipa_swagger_ui::Config;

use crate::core::ApiError;
use crate::middleware::Precompressed;
use crate::request::PathText;
use crate::response::{Document, HandlerResult, NotFound, Page, PagePart, ToPage};

/// What the page may load: its own parts and, to try things out, answers of this service. The styles are those that
/// Swagger UI gives its elements, the images those in its style sheet.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                                       img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; \
                                       form-action 'none'; frame-ancestors 'none'";

/// The page may be kept, for as long as it may lag behind a new version of the service.
const CACHE_CONTROL: &str = "public, max-age=3600";

/// The addresses are relative to the page, wherever a proxy puts it. No validator elsewhere is asked.
static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    let config = Config::from("../api-docs/openapi.json").use_base_layout().validator_url("none");
    Arc::new(config.deep_linking(true).display_operation_id(true).filter(true).try_it_out_enabled(true))
});

/// The OpenAPI document, made and compressed when it is first asked for.
pub(crate) struct ApiDocument {
    make: fn() -> serde_json::Result<String>,
    made: OnceLock<Precompressed>,
}

impl ApiDocument {
    /// Creates a document that `make` makes.
    pub(crate) fn new(make: fn() -> serde_json::Result<String>) -> Self {
        Self { make, made: OnceLock::new() }
    }

    fn get(&self) -> Result<&Precompressed, Error> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let json = (self.make)().map_err(Error::internal)?;
        let compressed = Precompressed::new(json.into()).map_err(Error::internal)?;
        Ok(self.made.get_or_init(|| compressed))
    }
}

/// This document
///
/// The OpenAPI 3.1 document that describes every endpoint.
#[utoipa::path(get, path = "", operation_id = "getOpenApiDocument", tag = "Documentation", responses(Document))]
pub(crate) async fn document(document: web::Data<ApiDocument>, request: HttpRequest) -> HandlerResult {
    let document = document.get()?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL));
    Ok(document.answer(response, &request))
}

/// The interactive page, by its short name
#[utoipa::path(get, path = "", operation_id = "redirectToDocs", tag = "Documentation", responses(ToPage))]
pub(crate) async fn to_page() -> HandlerResult {
    // Relative, so that it holds wherever a proxy puts the service.
    Ok(HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "docs/"))
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY))
        .finish())
}

/// The interactive page
///
/// Swagger UI: reads this document and tries its endpoints out.
#[utoipa::path(get, path = "", operation_id = "getDocs", tag = "Documentation", responses(Page))]
pub(crate) async fn page(request: HttpRequest) -> HandlerResult {
    part("index.html", &request).await
}

/// A part of the interactive page
#[utoipa::path(get, path = "", operation_id = "getDocsFile", tag = "Documentation", responses(PagePart, NotFound))]
pub(crate) async fn file(PathText(name): PathText, request: HttpRequest) -> HandlerResult {
    part(&name, &request).await
}

/// A part of the page, once it was asked for.
struct Part {
    content_type: String,
    bytes: Precompressed,
}

/// The parts that were asked for. There are few.
static PARTS: Mutex<BTreeMap<String, Arc<Part>>> = Mutex::new(BTreeMap::new());

fn parts() -> MutexGuard<'static, BTreeMap<String, Arc<Part>>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn part(name: &str, request: &HttpRequest) -> HandlerResult {
    let known = parts().get(name).cloned();
    let part = match known {
        Some(part) => part,
        None => {
            let found = utoipa_swagger_ui::serve(name, Arc::clone(&CONFIG));
            let found = found.map_err(|error| Error::internal(error.to_string()))?.ok_or(ApiError::UnknownRoute)?;
            let is_text = found.content_type.starts_with("text/");
            let content_type =
                if is_text { format!("{}; charset=utf-8", found.content_type) } else { found.content_type };
            let bytes = web::block(move || Precompressed::new(Bytes::from(found.bytes.into_owned()))).await;
            let bytes = bytes.map_err(Error::internal)?.map_err(Error::internal)?;
            let part = Arc::new(Part { content_type, bytes });
            parts().insert(name.to_owned(), Arc::clone(&part));
            part
        }
    };
    let mut response = HttpResponse::Ok();
    response
        .insert_header((header::CONTENT_TYPE, part.content_type.as_str()))
        .insert_header((header::CACHE_CONTROL, CACHE_CONTROL))
        .insert_header((header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY));
    Ok(part.bytes.answer(response, request))
}
