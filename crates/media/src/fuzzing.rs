//! What the fuzz targets (`fuzz/`) call, of what is otherwise this crate's own.

use agora_domain::media::{CleanImage, ImageProblem};
use bytes::Bytes;

use crate::clean::{clean as clean_as, format_of};
use crate::{Failure, ImageLimits};

/// Returns what [`Cleaner`](crate::Cleaner) makes of an upload, on the calling thread; a panic of a decoder is one.
///
/// # Errors
/// Why it is not stored.
pub fn clean(upload: &[u8], limits: &ImageLimits) -> Result<CleanImage, ImageProblem> {
    limits.check_bytes(upload.len())?;
    clean_as(format_of(upload)?, Bytes::copy_from_slice(upload), limits)
}

/// Returns what is told of a request that a server answered 403 with this body.
pub fn told_of_answer(body: &str) -> String {
    let source = format!("Server returned non-2xx status code: 403 Forbidden: {body}");
    Failure::from(object_store::Error::Generic { store: "S3", source: source.into() }).to_string()
}
