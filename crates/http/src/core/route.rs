//! Which path a request is for.

use std::borrow::Cow;

use actix_web::{HttpMessage, HttpRequest};
use matchit::InsertError;
use percent_encoding::percent_decode_str;

/// What a request is for: one of the paths, and the value of its parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// Which of the paths.
    pub(crate) number: usize,
    /// The path, its parameter in braces.
    pub(crate) path: &'static str,
    /// Where the value of the parameter is in the path of the request.
    begin: usize,
    end: usize,
}

impl Target {
    /// Returns the target of a request, if there is such an endpoint.
    pub(crate) fn of(request: &HttpRequest) -> Option<Self> {
        request.extensions().get::<Self>().copied()
    }

    /// Returns the name of the parameter of the path and the text that stands for it; both empty when there is none.
    pub(crate) fn parameter(request: &HttpRequest) -> (&'static str, Cow<'_, str>) {
        let Some(target) = Self::of(request) else { return Default::default() };
        let value = address(request).get(target.begin..target.end).unwrap_or_default();
        (parameter(target.path).unwrap_or_default(), percent_decode_str(value).decode_utf8_lossy())
    }
}

/// Returns the path of the request as paths are compared: decoded but for what is a character of the path itself.
fn address(request: &HttpRequest) -> &str {
    request.match_info().as_str()
}

/// Returns the name of the parameter in a path.
fn parameter(path: &str) -> Option<&str> {
    Some(path.split_once('{')?.1.split_once('}')?.0)
}

/// All paths. Where two could match one request, the one that spells out more of its beginning does.
pub(crate) struct Paths(matchit::Router<(usize, &'static str)>);

impl Paths {
    /// Creates the table of these paths.
    ///
    /// # Errors
    /// When two of them are the same, or one is none.
    pub(crate) fn new(paths: impl IntoIterator<Item = &'static str>) -> Result<Self, InsertError> {
        let mut table = matchit::Router::new();
        for (number, path) in paths.into_iter().enumerate() {
            table.insert(path, (number, path))?;
        }
        Ok(Self(table))
    }

    /// Leaves with the request what it is for.
    pub(crate) fn find(&self, request: &HttpRequest) -> Option<Target> {
        let found = self.0.at(address(request)).ok()?;
        let &(number, path) = found.value;
        let begin = path.find('{').unwrap_or_default();
        let end = begin + found.params.iter().next().map_or(0, |(_, value)| value.len());
        let target = Target { number, path, begin, end };
        request.extensions_mut().insert(target);
        Some(target)
    }
}
