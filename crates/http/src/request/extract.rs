//! What handlers take from a request's head.

use std::{
    future::{Ready, ready},
    marker::PhantomData,
};

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev::Payload};
use agora_domain::{
    accounts::{Admin, Caller, Member},
    limits::Requester,
};
use uuid::Uuid;

use crate::core::{ApiError, Client, Target};

/// The caller as one who may call the endpoint: [`Caller`], [`Member`] or [`Admin`].
pub(crate) struct Auth<C>(pub(crate) C);

/// What a caller can be.
pub(crate) trait Standing: Sized {
    /// The caller as this, if they are.
    fn of(caller: Caller) -> agora_domain::Result<Self>;
}

impl Standing for Caller {
    fn of(caller: Caller) -> agora_domain::Result<Self> {
        Ok(caller)
    }
}

impl Standing for Member {
    fn of(caller: Caller) -> agora_domain::Result<Self> {
        caller.member()
    }
}

impl Standing for Admin {
    fn of(caller: Caller) -> agora_domain::Result<Self> {
        caller.admin()
    }
}

impl<C: Standing> FromRequest for Auth<C> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let caller = request.extensions().get::<Caller>().copied();
        ready(match caller {
            Some(caller) => C::of(caller).map(Auth).map_err(ApiError::from),
            None => Err(ApiError::NoToken),
        })
    }
}

/// Who asks: the account, if there is one, and the client's address.
pub(crate) struct RequestedBy(pub(crate) Requester);

impl FromRequest for RequestedBy {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let account = request.extensions().get::<Caller>().map(|caller| caller.user);
        let client = Client::from_request(request, payload).into_inner();
        ready(client.map(|Client(address)| Self(Requester { account, address })))
    }
}

/// The identifier in the path: its one parameter.
pub(crate) struct PathId<T>(pub(crate) Uuid, PhantomData<T>);

impl<T: From<Uuid>> PathId<T> {
    pub(crate) fn get(&self) -> T {
        self.0.into()
    }
}

impl<T> FromRequest for PathId<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let (name, value) = Target::parameter(request);
        ready(match parse_uuid(&value) {
            Some(id) => Ok(Self(id, PhantomData)),
            None => Err(ApiError::Malformed(format!("{name} must be a UUID"))),
        })
    }
}

/// The text in the path: its one parameter.
pub(crate) struct PathText(pub(crate) String);

impl FromRequest for PathText {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(Target::parameter(request).1.into_owned())))
    }
}

/// A UUID in the notation of the contract: 36 characters with hyphens, in any letter case.
pub(crate) fn parse_uuid(text: &str) -> Option<Uuid> {
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}
