//! Internals of this crate, exposed to the fuzz targets (`fuzz/`).

use agora_domain::media::{CleanImage, ImageProblem};
use bytes::Bytes;

use crate::clean::{clean as clean_as, format_of};
use crate::{Failure, ImageLimits};

/// Cleans an upload like [`Cleaner`](crate::Cleaner), but on the calling thread and without catching panics of a decoder.
///
/// # Errors
/// The reason why the upload is rejected.
pub fn clean(upload: &[u8], limits: &ImageLimits) -> Result<CleanImage, ImageProblem> {
    limits.check_bytes(upload.len())?;
    clean_as(format_of(upload)?, Bytes::copy_from_slice(upload), limits)
}

/// Returns the text of the failure of a request to which a server responded 403 with this body.
pub fn failure_of_response(body: &str) -> String {
    let source = format!("Server returned non-2xx status code: 403 Forbidden: {body}");
    Failure::from(object_store::Error::Generic { store: "S3", source: source.into() }).to_string()
}
