//! How handlers and middleware get at what is shared, and what handlers take from the head of a request.

use actix_web::HttpRequest;
use actix_web::web::Data;
use agora_domain::Error;

use crate::core::ApiError;

/// Returns what all requests share of this type.
///
/// # Errors
/// [`Error::Internal`] when the service was put together without it.
pub(crate) fn shared<T: 'static>(request: &HttpRequest) -> Result<&Data<T>, ApiError> {
    request.app_data::<Data<T>>().ok_or_else(|| Error::internal("a part of the service is missing").into())
}

/// Lets handlers take a value that a function reads from the head of the request.
macro_rules! extractor {
    ($type:ty $(where $parameter:ident $(: $bound:path)?)?, $read:expr) => {
        impl $(<$parameter $(: $bound)?>)? actix_web::FromRequest for $type {
            type Error = crate::core::ApiError;
            type Future = std::future::Ready<Result<Self, Self::Error>>;

            fn from_request(request: &actix_web::HttpRequest, _: &mut actix_web::dev::Payload) -> Self::Future {
                let read: fn(&actix_web::HttpRequest) -> Result<Self, Self::Error> = $read;
                std::future::ready(read(request))
            }
        }
    };
}
pub(crate) use extractor;
