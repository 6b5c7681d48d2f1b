//! The extractors of handlers over the head of a request.

use std::ops::Deref;

use actix_web::http::header;
use actix_web::{HttpMessage, HttpRequest};
use agora_domain::accounts::{Admin, Authenticated, Caller, Member, UserAgent};
use agora_domain::entities::Hashtag;
use agora_domain::limits::Requester;
use uuid::Uuid;

use crate::core::{ApiError, Client, MatchedRoute, State, extractor, shared};

/// The authenticated caller: a [`Caller`], or a [`Member`] or an [`Admin`] if the endpoint requires the role.
pub(crate) struct Auth<C>(C);

impl<C> Deref for Auth<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

fn caller(request: &HttpRequest) -> Result<Caller, ApiError> {
    request.extensions().get::<Caller>().copied().ok_or(ApiError::NoToken)
}

/// The authenticated caller, with the time until which the token is valid.
pub(crate) struct AuthenticatedUntil(pub(crate) Authenticated);

extractor!(AuthenticatedUntil, |request| {
    request.extensions().get::<Authenticated>().copied().map(Self).ok_or(ApiError::NoToken)
});

extractor!(Auth<Caller>, |request| caller(request).map(Self));
extractor!(Auth<Member>, |request| Ok(Self(caller(request)?.member()?)));
extractor!(Auth<Admin>, |request| Ok(Self(caller(request)?.admin()?)));

/// The origin of the request: the account, if the caller is authenticated, and the client's address.
pub(crate) struct RequestedBy(pub(crate) Requester);

extractor!(RequestedBy, |request| {
    let account = request.extensions().get::<Caller>().map(|caller| caller.user);
    let Client(address) = Client::of(shared::<State>(request)?, request);
    Ok(Self(Requester { account, address }))
});

/// The identifier in the path, which is its only parameter.
pub(crate) struct PathId<T>(pub(crate) T);

extractor!(PathId<T> where T: From<Uuid>, |request| {
    let (name, value) = MatchedRoute::parameter(request);
    let id = parse_uuid(&value).ok_or_else(|| ApiError::Malformed(format!("{name} must be a UUID")))?;
    Ok(Self(id.into()))
});

/// The `User-Agent` of the client, if it sent one.
pub(crate) struct ClientUserAgent(pub(crate) Option<UserAgent>);

extractor!(ClientUserAgent, |request| {
    let header = request.headers().get(header::USER_AGENT);
    Ok(Self(header.and_then(|value| UserAgent::of(&String::from_utf8_lossy(value.as_bytes())))))
});

/// The hashtag in the path, which is its only parameter.
pub(crate) struct PathTag(pub(crate) Hashtag);

extractor!(PathTag, |request| {
    let (_, value) = MatchedRoute::parameter(request);
    Ok(Self(Hashtag::parse(&value).map_err(|violation| ApiError::Malformed(violation.to_string()))?))
});

/// The text in the path, which is its only parameter.
pub(crate) struct PathText(pub(crate) String);

extractor!(PathText, |request| Ok(Self(MatchedRoute::parameter(request).1.into_owned())));

/// Parses a UUID in the notation of the contract: 36 characters with hyphens, in any letter case.
pub(crate) fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}
