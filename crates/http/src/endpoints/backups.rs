//! `/api/admin/backup`: the download of a backup.

use actix_web::http::header;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use agora_domain::accounts::Admin;
use futures_util::StreamExt;

use crate::core::{RequestContext, State};
use crate::request::Auth;
use crate::response::{BackupArchive, HandlerResult, UNBUFFERED};

/// Download a backup
///
/// The archive that `agora backup` writes and `agora restore` reads, made while it is sent. It contains rows, images and password
/// hashes, but no signing secret. Each node makes one at a time, and answers 503 meanwhile. An answer that breaks off is no
/// backup, and `agora restore` rejects it.
#[utoipa::path(get, path = "", operation_id = "downloadBackup", tag = "Administration", responses(BackupArchive))]
pub(crate) async fn download(state: Data<State>, admin: Auth<Admin>, request: HttpRequest) -> HandlerResult {
    let request_id = RequestContext::of(&request)?.id();
    let bytes = state.services.backups.begin(&admin).await?;
    // The head of the response has been sent by now, so a failure can only cut the body off.
    let parts = bytes.map(move |part| {
        part.map_err(|error| {
            tracing::error!(%request_id, cause = error.cause(), "could not complete a backup");
            Box::new(error) as Box<dyn std::error::Error>
        })
    });
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/x-tar"))
        .insert_header((header::CONTENT_DISPOSITION, "attachment; filename=\"agora-backup.tar\""))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header(UNBUFFERED)
        .streaming(parts))
}
