//! `/app` and `/console`: the web client and the console for administrators.
//!
//! They consist of the files in `web/dist`, which are embedded in the binary, and use nothing but the HTTP interface.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::media::{ImageKey, Rendition};
use bytes::Bytes;
use include_dir::{Dir, include_dir};

use crate::core::{ApiError, State};
use crate::endpoints::static_files::StaticFiles;
use crate::request::PathText;
use crate::response::{HandlerResult, NotFound, Page, PagePart, ToPage};

static APP: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../web/dist/app");
static CONSOLE: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../web/dist/console");

/// The name of the HTML page itself.
const INDEX: &str = "index.html";

/// The page is revalidated each time, so that it never refers to files of another version of the service.
const INDEX_CACHE_CONTROL: &str = "no-cache";

/// The other files never change, since their names change with their content.
const PART_CACHE_CONTROL: &str = "public, max-age=31536000, immutable";

/// The two web pages.
pub(crate) struct Pages {
    app: WebPage,
    console: WebPage,
}

impl Pages {
    /// Creates the pages. Each is served only if it is enabled.
    pub(crate) fn new(has_app: bool, has_console: bool) -> Self {
        let page = |name, dir, is_enabled| WebPage { name, dir, is_enabled, files: StaticFiles::default() };
        Self { app: page("app/", &APP, has_app), console: page("console/", &CONSOLE, has_console) }
    }
}

/// A page with its files.
struct WebPage {
    /// Its path, relative to the base URL of the service.
    name: &'static str,
    dir: &'static Dir<'static>,
    /// Whether the operator has enabled the page.
    is_enabled: bool,
    files: StaticFiles,
}

impl WebPage {
    fn require_enabled(&self) -> Result<(), ApiError> {
        if self.is_enabled { Ok(()) } else { Err(ApiError::UnknownRoute) }
    }

    /// Redirects from the path without a slash at the end to the page.
    fn redirect(&self) -> HandlerResult {
        self.require_enabled()?;
        // Relative, so that it holds under any path of a proxy.
        Ok(HttpResponse::PermanentRedirect()
            .insert_header((header::LOCATION, self.name))
            .insert_header((header::CACHE_CONTROL, INDEX_CACHE_CONTROL))
            .finish())
    }

    async fn file(&self, name: &str, state: &State, request: &HttpRequest) -> HandlerResult {
        self.require_enabled()?;
        let make = || {
            // Compared as text: as a path, `index.html/.` would name the same file, and each spelling would be cached.
            let mut files = self.dir.files();
            let file = files.find(|file| file.path().to_str() == Some(name)).ok_or(ApiError::UnknownRoute)?;
            let content_type = match name.rsplit_once('.').map(|(_, extension)| extension) {
                Some("css") => "text/css; charset=utf-8",
                Some("html") => "text/html; charset=utf-8",
                Some("js") => "text/javascript; charset=utf-8",
                Some("svg") => "image/svg+xml",
                _ => "application/octet-stream",
            };
            Ok((content_type.to_owned(), Bytes::from_static(file.contents())))
        };
        let cache_control = if name == INDEX { INDEX_CACHE_CONTROL } else { PART_CACHE_CONTROL };
        Ok(self.files.get(name, make).await?.answer(cache_control, Some(&policy(state)), request))
    }
}

/// Returns the content security policy of a page. It may load its own files, responses of this service, and images from the host
/// in their URLs, which may be another name of the service or an image store.
fn policy(state: &State) -> String {
    let images =
        ImageKey::parse("00000000000000000000000000000000.png").map(|key| state.image_url(&key, Rendition::Original));
    // The scheme, an empty part and the host; the rest is the path.
    let host = images.unwrap_or_default().splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: {host}; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// Redirect to the web client
#[utoipa::path(get, path = "", operation_id = "redirectToApp", tag = "Pages", responses(ToPage, NotFound))]
pub(crate) async fn to_app(pages: Data<Pages>) -> HandlerResult {
    pages.app.redirect()
}

/// Get the page of the web client
///
/// The client for members. 404 if the operator has switched it off.
#[utoipa::path(get, path = "", operation_id = "getApp", tag = "Pages", responses(Page, NotFound))]
pub(crate) async fn app(pages: Data<Pages>, state: Data<State>, request: HttpRequest) -> HandlerResult {
    pages.app.file(INDEX, &state, &request).await
}

/// Get a file of the web client
#[utoipa::path(get, path = "", operation_id = "getAppFile", tag = "Pages", responses(PagePart, NotFound))]
pub(crate) async fn app_file(
    pages: Data<Pages>,
    state: Data<State>,
    PathText(name): PathText,
    request: HttpRequest,
) -> HandlerResult {
    pages.app.file(&name, &state, &request).await
}

/// Redirect to the console
#[utoipa::path(get, path = "", operation_id = "redirectToConsole", tag = "Pages", responses(ToPage, NotFound))]
pub(crate) async fn to_console(pages: Data<Pages>) -> HandlerResult {
    pages.console.redirect()
}

/// Get the page of the console
///
/// The console for administrators. 404 if the operator has switched it off.
#[utoipa::path(get, path = "", operation_id = "getConsole", tag = "Pages", responses(Page, NotFound))]
pub(crate) async fn console(pages: Data<Pages>, state: Data<State>, request: HttpRequest) -> HandlerResult {
    pages.console.file(INDEX, &state, &request).await
}

/// Get a file of the console
#[utoipa::path(get, path = "", operation_id = "getConsoleFile", tag = "Pages", responses(PagePart, NotFound))]
pub(crate) async fn console_file(
    pages: Data<Pages>,
    state: Data<State>,
    PathText(name): PathText,
    request: HttpRequest,
) -> HandlerResult {
    pages.console.file(&name, &state, &request).await
}
