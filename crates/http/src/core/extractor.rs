//! Access to the app data that all requests share, and a macro that makes extractors of functions over the request head.

use actix_web::HttpRequest;
use actix_web::web::Data;
use agora_domain::Error;

use crate::core::ApiError;

/// Returns the app data of this type, which all requests share.
///
/// # Errors
/// [`Error::Internal`] when none was registered.
pub(crate) fn shared<T: 'static>(request: &HttpRequest) -> Result<&Data<T>, ApiError> {
    request.app_data::<Data<T>>().ok_or_else(|| Error::internal("a part of the service is missing").into())
}

/// Implements `FromRequest` for a type by a function that reads it from the request, without its body.
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
