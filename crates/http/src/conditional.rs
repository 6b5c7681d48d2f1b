//! Tags of what is answered: `ETag`, `If-None-Match` and `If-Match`.
//!
//! The tag of a thing that can be edited begins with its version, which only an edit changes. What else an answer
//! shows, such as likes, makes up the rest. A cache compares whole tags, an edit the versions alone: a like that comes
//! in between does not make it stale.

use std::{
    future::{Ready, ready},
    hash::{DefaultHasher, Hasher},
};

use actix_web::{
    FromRequest, HttpRequest, HttpResponse,
    dev::Payload,
    http::{
        StatusCode,
        header::{self, HeaderName},
    },
};
use agora_domain::{clock::Timestamp, version::Versions};

use crate::{
    envelope::{Answer, Rendered},
    error::ApiError,
};

/// Who may keep an answer; each time, it is asked whether it still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// The client alone.
    Private,
    /// Anybody on the way.
    Public,
}

impl Cache {
    const fn control(self) -> &'static str {
        match self {
            Self::Private => "private, no-cache",
            Self::Public => "public, no-cache",
        }
    }
}

/// The tag of a version, without what else an answer shows: for edits.
pub(crate) fn version_tag(version: Timestamp) -> String {
    format!("\"{:x}\"", version.unix_millis())
}

/// The tag of an answer.
fn tag(version: Option<Timestamp>, body: &[u8]) -> String {
    let mut content = DefaultHasher::new();
    content.write(body);
    let content = content.finish();
    match version {
        Some(version) => format!("\"{:x}-{content:016x}\"", version.unix_millis()),
        None => format!("\"{content:016x}\""),
    }
}

/// The tags of a header, as they are without the mark of weak ones.
fn tags(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(|tag| tag.trim().trim_start_matches("W/"))
}

/// All values of a header as one list; nothing when it is not there.
fn list(request: &HttpRequest, name: HeaderName) -> Option<String> {
    let mut values = request.headers().get_all(name).map(|value| value.to_str().unwrap_or_default());
    let first = values.next()?.to_owned();
    Some(values.fold(first, |list, value| list + "," + value))
}

/// Whether the client has what this tag is of.
pub(crate) fn has(request: &HttpRequest, tag: &str) -> bool {
    let known = list(request, header::IF_NONE_MATCH);
    known.is_some_and(|known| tags(&known).any(|known| known == "*" || known == tag))
}

/// The request of a thing that the client may have already.
pub(crate) struct Conditional(HttpRequest);

impl Conditional {
    /// The answer with its tag, without its body if the client has it.
    pub(crate) fn answer(&self, cache: Cache, version: Option<Timestamp>, rendered: Rendered) -> Answer {
        let tag = tag(version, rendered.body());
        let caching = [(header::CACHE_CONTROL, cache.control()), (header::ETAG, tag.as_str())];
        let mut response = if has(&self.0, &tag) {
            HttpResponse::build(StatusCode::NOT_MODIFIED).finish()
        } else {
            rendered.into_response()
        };
        for (name, value) in caching {
            // What it is made of is visible ASCII.
            if let Ok(value) = header::HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }
}

impl FromRequest for Conditional {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.clone())))
    }
}

/// The versions that an edit is meant for: those of `If-Match`, or any.
pub(crate) struct IfMatch(pub(crate) Versions);

impl FromRequest for IfMatch {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(list(request, header::IF_MATCH).map_or(Versions::Any, |list| versions(&list)))))
    }
}

fn versions(list: &str) -> Versions {
    if list.trim() == "*" {
        return Versions::Any;
    }
    // What is no tag of this service is none of a version that there is.
    Versions::OneOf(tags(list).filter_map(version).collect())
}

fn version(tag: &str) -> Option<Timestamp> {
    let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
    let version = tag.split_once('-').map_or(tag, |(version, _)| version);
    i64::from_str_radix(version, 16).ok().map(Timestamp::from_unix_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_of_its_version_and_of_what_is_shown() {
        let at = |millis| Some(Timestamp::from_unix_millis(millis));
        let one = tag(at(1_752_539_094_124), b"body");
        assert_eq!(one, tag(at(1_752_539_094_124), b"body"));
        assert_ne!(one, tag(at(1_752_539_094_124), b"other"));
        assert_ne!(one, tag(at(1_752_539_094_125), b"body"));
        assert_eq!(version(&one), at(1_752_539_094_124));
        assert_eq!(version(&version_tag(Timestamp::from_unix_millis(5))), at(5));
    }

    #[test]
    fn an_edit_is_meant_for_the_versions_named() {
        let at = Timestamp::from_unix_millis;
        assert_eq!(versions("*"), Versions::Any);
        assert_eq!(versions("\"a-0f\", W/\"b\""), Versions::OneOf(vec![at(10), at(11)]));
        for none in ["", "a", "\"", "\"\"", "\"x-1\"", "\"a", "a\"", "\"10000000000000000\""] {
            assert_eq!(versions(none), Versions::OneOf(vec![]), "{none}");
        }
    }
}
