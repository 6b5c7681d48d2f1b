//! Files that are embedded in the binary.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use agora_domain::Error;
use bytes::Bytes;

use crate::core::ApiError;
use crate::middleware::Precompressed;

/// A cache of files, each compressed when it is first requested. It has no limit, since there are few files.
#[derive(Default)]
pub(crate) struct StaticFiles {
    files: Mutex<BTreeMap<String, Arc<StaticFile>>>,
}

/// A file with its compressed forms.
pub(crate) struct StaticFile {
    pub(crate) content_type: String,
    bytes: Precompressed,
}

impl StaticFiles {
    /// Returns the file of this name. Calls `make` for its content type and bytes if the file is not cached yet.
    pub(crate) async fn get(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<(String, Bytes), ApiError>,
    ) -> Result<Arc<StaticFile>, ApiError> {
        let known = self.files().get(name).cloned();
        if let Some(file) = known {
            return Ok(file);
        }
        let (content_type, plain) = make()?;
        let bytes = web::block(move || Precompressed::new(plain)).await.map_err(Error::internal)?;
        let file = Arc::new(StaticFile { content_type, bytes: bytes.map_err(Error::internal)? });
        self.files().insert(name.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Arc<StaticFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StaticFile {
    /// Responds with the file, with this `Cache-Control` and, if it is part of a page, this `Content-Security-Policy`.
    pub(crate) fn answer(&self, cache_control: &str, policy: Option<&str>, request: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::Ok();
        response
            .insert_header((header::CONTENT_TYPE, self.content_type.as_str()))
            .insert_header((header::CACHE_CONTROL, cache_control));
        if let Some(policy) = policy {
            response.insert_header((header::CONTENT_SECURITY_POLICY, policy));
        }
        self.bytes.answer(response, request)
    }
}
