//! Templates of requests, which are rendered once and sent repeatedly, each time with another number.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agora_domain::accounts::{TokenClaims, TokenIssuer as _};
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, UserId};
use agora_http::routes::{Endpoint, IdempotencySupport};
use agora_security::JwtIssuer;
use serde::{Deserialize, Serialize};

use crate::client::{FORM, JSON};
use crate::names::{Changing, Names, digits, id, split_at_changing};
use crate::worst_cases::{Body, By, WorstCase};

/// The number of concurrent clients.
pub(crate) const CLIENTS: usize = 16;
/// The values of `Accept-Encoding`, which alternate between clients.
const ENCODINGS: [&str; 3] = ["identity", "zstd", "gzip"];

/// The tokens and identifiers that requests to the network contain.
#[derive(Serialize, Deserialize)]
pub(crate) struct KnownIds {
    pub(crate) names: Names,
    /// Tokens of `mallory` and of `root`.
    pub(crate) mallory: String,
    pub(crate) root: String,
    /// The secret that signs tokens.
    pub(crate) secret: String,
    /// The identifiers of products.
    pub(crate) products: Vec<String>,
}

impl KnownIds {
    /// Returns the value of a changing placeholder in the request with this number.
    fn changing(&self, changing: Changing, number: u64) -> String {
        match changing {
            Changing::Number => digits(number),
            Changing::Product => self.products[number as usize % self.products.len()].clone(),
            Changing::Token => {
                let user = UserId::new(id("user", 2).parse().unwrap());
                let session = SessionId::new(id("session", number).parse().unwrap());
                let issuer = JwtIssuer::new(self.secret.as_bytes(), Duration::from_secs(3600));
                issuer.issue(TokenClaims { user, session }, now()).unwrap()
            }
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "tokens are made beside the service, whose clock is the system's")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}

/// A part of a request.
enum Piece {
    Bytes(Arc<[u8]>),
    Changing(Changing),
}

/// A request without its number.
pub(crate) struct Template(Vec<Piece>);

impl Template {
    /// Returns the requests of one client to an endpoint, which it sends in rotation.
    pub(crate) fn all(case: &WorstCase, endpoint: &Endpoint, known: &KnownIds, client: usize) -> Vec<Self> {
        let asks_for_head = case.method == "GET" && client >= CLIENTS - CLIENTS / 4;
        let method = if asks_for_head { "HEAD" } else { case.method };
        let key = if endpoint.idempotency != IdempotencySupport::None && client % 2 == 1 {
            "Idempotency-Key: {n}\r\n"
        } else {
            ""
        };
        let token = match case.by {
            By::Nobody => String::new(),
            By::Member => format!("Authorization: Bearer {}\r\n", known.mallory),
            By::Admin => format!("Authorization: Bearer {}\r\n", known.root),
            By::Session => "Authorization: Bearer {token n}\r\n".to_owned(),
        };
        let encoding = ENCODINGS[client % ENCODINGS.len()];
        let headers = format!(
            "Host: agora\r\nX-Forwarded-For: 198.51.100.{client}\r\nAccept-Encoding: {encoding}\r\n{token}{key}"
        );
        let template = |(parameter, query, body): &(&str, &str, Body)| {
            let target = encoded(&known.names.fill_in(&format!("{}{query}", place(case.path, parameter))));
            Self::new(&format!("{method} {target} HTTP/1.1\r\n{headers}"), *body, known)
        };
        case.asks.iter().map(template).collect()
    }

    fn new(head: &str, body: Body, known: &KnownIds) -> Self {
        let (content_type, body) = match body {
            Body::None => ("", Vec::new()),
            Body::Json(text) => (JSON, pieces(&known.names.fill_in(text))),
            Body::Form((text_name, text), (image_name, picture)) => {
                let part = "--b\r\nContent-Disposition: form-data; name=";
                let text = known.names.fill_in(text);
                let before = format!(
                    "{part}\"{text_name}\"\r\n\r\n{text}\r\n{part}\"{image_name}\"; filename=\"image\"\r\n\r\n"
                );
                let image = Piece::Bytes(picture.file());
                let parts = pieces(&before).into_iter().chain([image]).chain(pieces("\r\n--b--\r\n"));
                (FORM, parts.collect())
            }
        };
        let length: usize = body.iter().map(|piece| piece.of(0, known).len()).sum();
        let head = pieces(&format!("{head}{content_type}Content-Length: {length}\r\n\r\n"));
        Self(head.into_iter().chain(body).collect())
    }

    /// Renders the request with this number.
    pub(crate) fn numbered(&self, number: u64, known: &KnownIds) -> Vec<u8> {
        self.0.iter().fold(Vec::new(), |mut request, piece| {
            request.extend_from_slice(&piece.of(number, known));
            request
        })
    }
}

impl Piece {
    fn of(&self, number: u64, known: &KnownIds) -> Arc<[u8]> {
        match self {
            Self::Bytes(bytes) => Arc::clone(bytes),
            Self::Changing(changing) => known.changing(*changing, number).into_bytes().into(),
        }
    }
}

fn pieces(text: &str) -> Vec<Piece> {
    let piece = |(text, changing): (String, Option<Changing>)| {
        [Piece::Bytes(text.into_bytes().into())].into_iter().chain(changing.map(Piece::Changing))
    };
    split_at_changing(text).into_iter().flat_map(piece).collect()
}

/// Replaces the parameter in a path.
pub(crate) fn place(path: &str, parameter: &str) -> String {
    let (before, rest) = path.split_once('{').unwrap_or((path, ""));
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    format!("{before}{parameter}{after}")
}

/// Percent-encodes the characters of a target beyond ASCII.
fn encoded(target: &str) -> String {
    let letter = |byte: u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    target.bytes().map(letter).collect()
}
