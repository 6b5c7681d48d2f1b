//! Routes a request to its endpoint and calls it.
//!
//! actix-web's router tries the regular expressions of all paths in turn; a tree of the paths (`matchit`) finds each in the
//! same time. The path is looked up before anything else, so that the endpoint of a rejected request is known as well.

use std::future::ready;
use std::rc::Rc;

use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::{ResponseError, Route};
use futures_util::future::LocalBoxFuture;
use matchit::InsertError;

use crate::core::{ApiError, MatchedRoute, Paths};
use crate::routes::{Endpoint, endpoints};

/// Creates the table of the paths of all endpoints.
///
/// # Errors
/// If two paths conflict.
pub(crate) fn paths() -> Result<Paths, InsertError> {
    Paths::new(by_path().into_iter().map(|(path, _)| path))
}

/// Returns all endpoints, grouped by path.
fn by_path() -> Vec<(&'static str, Vec<Endpoint>)> {
    let mut paths: Vec<(&str, Vec<Endpoint>)> = Vec::new();
    for endpoint in endpoints() {
        match paths.iter_mut().find(|(path, _)| *path == endpoint.path) {
            Some((_, endpoints)) => endpoints.push(endpoint),
            None => paths.push((endpoint.path, vec![endpoint])),
        }
    }
    paths
}

/// The endpoints of one path. Each worker has its own.
struct Methods {
    services: Vec<(Method, <Route as ServiceFactory<ServiceRequest>>::Service)>,
    /// The value of `Allow`.
    allowed: String,
}

type Response = LocalBoxFuture<'static, Result<ServiceResponse, actix_web::Error>>;

/// Calls the endpoint of a request. An unknown path is answered 404, a method that the path lacks 405.
pub(crate) fn dispatch()
-> impl ServiceFactory<ServiceRequest, Config = (), Response = ServiceResponse, Error = actix_web::Error, InitError = ()>
{
    fn_factory(|| async {
        let mut paths = Vec::new();
        for (_, endpoints) in by_path() {
            let mut services = Vec::with_capacity(endpoints.len());
            for endpoint in endpoints {
                services.push((endpoint.method.clone(), endpoint.route().new_service(()).await?));
            }
            paths.push(Methods::new(services));
        }
        let paths = Rc::new(paths);
        Ok(fn_service(move |request: ServiceRequest| {
            match MatchedRoute::of(request.request()).and_then(|route| paths.get(route.number)) {
                Some(methods) => methods.call(request),
                None => respond_with_error(request, &ApiError::UnknownRoute),
            }
        }))
    })
}

impl Methods {
    fn new(services: Vec<(Method, <Route as ServiceFactory<ServiceRequest>>::Service)>) -> Self {
        let with_head = |method: &Method| if method == Method::GET { "GET, HEAD" } else { method.as_str() }.to_owned();
        let allowed: Vec<_> = services.iter().map(|(method, _)| with_head(method)).collect();
        Self { allowed: allowed.join(", "), services }
    }

    fn call(&self, request: ServiceRequest) -> Response {
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        match self.services.iter().find(|(it, _)| it == method) {
            Some((_, service)) => service.call(request),
            None => respond_with_error(request, &ApiError::MethodNotAllowed(self.allowed.clone())),
        }
    }
}

fn respond_with_error(request: ServiceRequest, error: &ApiError) -> Response {
    let response = error.error_response();
    Box::pin(ready(Ok(request.into_response(response))))
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    #[test]
    fn literal_segments_win_over_parameters_and_parameters_are_percent_decoded() {
        let paths = paths().unwrap();
        for (address, expected) in [
            ("/api/posts/all", Some(("/api/posts/all", "", ""))),
            ("/api/posts/following/all", Some(("/api/posts/following/all", "", ""))),
            ("/api/posts/someone/all", Some(("/api/posts/{userId}/all", "userId", "someone"))),
            ("/api/posts/create/all", Some(("/api/posts/{userId}/all", "userId", "create"))),
            ("/api/posts/some%20one/likes", Some(("/api/posts/{postId}/likes", "postId", "some one"))),
            ("/%61pi/posts/by-id/1", Some(("/api/posts/by-id/{postId}", "postId", "1"))),
            ("/api/follow/follow", Some(("/api/follow/{followedId}", "followedId", "follow"))),
            ("/api/products/category/a%2Fb%2525", Some(("/api/products/category/{category}", "category", "a/b%25"))),
            ("/api/products/category/%ff", Some(("/api/products/category/{category}", "category", "\u{fffd}"))),
            ("/docs", Some(("/docs", "", ""))),
            ("/docs/", Some(("/docs/", "", ""))),
            ("/api/posts/by-id/", None),
            ("/api/posts/by-id/1/", None),
            ("/api/posts//all", None),
            ("//api/posts/all", None),
            ("/api/posts/all/", None),
            ("/", None),
            ("*", None),
        ] {
            let request = TestRequest::with_uri(address).to_http_request();
            assert_eq!(paths.find(&request).map(|route| route.path), expected.map(|(path, ..)| path), "{address}");
            let (name, value) = MatchedRoute::parameter(&request);
            let (_, expected_name, expected_value) = expected.unwrap_or_default();
            assert_eq!((name, &*value), (expected_name, expected_value), "{address}");
        }
    }
}
