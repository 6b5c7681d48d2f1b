//! `/app`: a client for people, in the browser.
//!
//! It is made of the files in `web/dist/app`, which are in the binary, and knows the service by the interface alone.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::media::ImageKey;
use bytes::Bytes;
use include_dir::{Dir, include_dir};

use crate::core::{ApiError, State};
use crate::endpoints::static_files::StaticFiles;
use crate::request::PathText;
use crate::response::{AppPart, HandlerResult, NotFound, Page, ToPage};

static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../web/dist/app");

/// The page itself.
const PAGE: &str = "index.html";

/// The page is asked for each time, so that it never names parts of another version of the service.
const PAGE_CACHE_CONTROL: &str = "no-cache";

/// The name of a part changes with what is in it.
const PART_CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

/// The client, unless the operator does without it.
pub(crate) struct App {
    is_on: bool,
    files: StaticFiles,
}

impl App {
    pub(crate) fn new(is_on: bool) -> Self {
        Self { is_on, files: StaticFiles::default() }
    }

    fn expect_on(&self) -> Result<(), ApiError> {
        if self.is_on { Ok(()) } else { Err(ApiError::UnknownRoute) }
    }

    async fn file(&self, name: &str, state: &State, request: &HttpRequest) -> HandlerResult {
        self.expect_on()?;
        let make = || {
            let file = FILES.get_file(name).ok_or(ApiError::UnknownRoute)?;
            let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
                Some("css") => "text/css; charset=utf-8",
                Some("html") => "text/html; charset=utf-8",
                Some("js") => "text/javascript; charset=utf-8",
                Some("svg") => "image/svg+xml",
                _ => "application/octet-stream",
            };
            Ok((content_type.to_owned(), Bytes::from_static(file.contents())))
        };
        let cache_control = if name == PAGE { PAGE_CACHE_CONTROL } else { PART_CACHE_CONTROL };
        Ok(self.files.get(name, make).await?.answer(cache_control, Some(&policy(state)), request))
    }
}

/// Returns what the page may load: its own parts, answers of this service, and images from where the service says that they are, which
/// may be another name of its own, or a store of its own.
fn policy(state: &State) -> String {
    let images = ImageKey::parse("00000000000000000000000000000000.png").map(|key| state.image_url(&key));
    // The scheme, nothing, the host: the rest is where on the host they are.
    let host = images.unwrap_or_default().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: {host}; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// The client in the browser, by its short name
#[utoipa::path(get, path = "", operation_id = "redirectToApp", tag = "Pages", responses(ToPage, NotFound))]
pub(crate) async fn to_page(app: Data<App>) -> HandlerResult {
    app.expect_on()?;
    // Relative, so that it holds wherever a proxy puts the service.
    Ok(HttpResponse::PermanentRedirect()
        .insert_header((header::LOCATION, "app/"))
        .insert_header((header::CACHE_CONTROL, PAGE_CACHE_CONTROL))
        .finish())
}

/// The client in the browser
///
/// What a member can do, for people, unless the operator does without it.
#[utoipa::path(get, path = "", operation_id = "getApp", tag = "Pages", responses(Page, NotFound))]
pub(crate) async fn page(app: Data<App>, state: Data<State>, request: HttpRequest) -> HandlerResult {
    app.file(PAGE, &state, &request).await
}

/// A part of the client in the browser
#[utoipa::path(get, path = "", operation_id = "getAppFile", tag = "Pages", responses(AppPart, NotFound))]
pub(crate) async fn file(
    app: Data<App>,
    state: Data<State>,
    PathText(name): PathText,
    request: HttpRequest,
) -> HandlerResult {
    app.file(&name, &state, &request).await
}
