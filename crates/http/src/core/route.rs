//! The table of endpoint paths, and the one that a request matched.

use std::borrow::Cow;

use actix_web::{HttpMessage, HttpRequest};
use matchit::InsertError;
use percent_encoding::percent_decode_str;

/// The path that a request matched, with the position of its parameter. It is kept in the request's extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchedRoute {
    /// The index of the path in the table.
    pub(crate) number: usize,
    /// The path, with its parameter in braces.
    pub(crate) path: &'static str,
    /// Where the value of the parameter begins in the path of the request, and where it ends.
    begin: usize,
    end: usize,
}

impl MatchedRoute {
    /// Returns the route that the path of a request matched, if it matched one.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// Returns the name of the path's parameter and its decoded value; both empty if the path has none.
    pub(crate) fn parameter(request: &HttpRequest) -> (&'static str, Cow<'_, str>) {
        let Some(route) = Self::of(request) else { return Default::default() };
        let value = normalized_path(request).get(route.begin..route.end).unwrap_or_default();
        (parameter_name(route.path).unwrap_or_default(), percent_decode_str(value).decode_utf8_lossy())
    }
}

/// Returns the path of the request as actix-web matches it: percent-decoded, except for characters that delimit parts of a
/// path.
fn normalized_path(request: &HttpRequest) -> &str {
    request.match_info().as_str()
}

/// Returns the name of the parameter in a path.
fn parameter_name(path: &str) -> Option<&str> {
    Some(path.split_once('{')?.1.split_once('}')?.0)
}

/// The table of all paths. If two match a request, the one with the longer literal prefix wins.
pub(crate) struct Paths(matchit::Router<(usize, &'static str)>);

impl Paths {
    /// Creates a table of these paths.
    ///
    /// # Errors
    /// When two paths are the same, or one is invalid.
    pub(crate) fn new(paths: impl IntoIterator<Item = &'static str>) -> Result<Self, InsertError> {
        let mut table = matchit::Router::new();
        for (number, path) in paths.into_iter().enumerate() {
            table.insert(path, (number, path))?;
        }
        Ok(Self(table))
    }

    /// Finds the path that a request matches, and stores it in the request's extensions.
    pub(crate) fn find(&self, request: &HttpRequest) -> Option<MatchedRoute> {
        let found = self.0.at(normalized_path(request)).ok()?;
        let &(number, path) = found.value;
        let begin = path.find('{').unwrap_or_default();
        let end = begin + found.params.iter().next().map_or(0, |(_, value)| value.len());
        let route = MatchedRoute { number, path, begin, end };
        request.extensions_mut().insert(route);
        Some(route)
    }
}
