//! Requests that are made once and sent again and again, each time with another number in them.

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

/// How many clients ask at once.
pub(crate) const CLIENTS: usize = 16;
/// What clients take, each client another one.
const ENCODINGS: [&str; 3] = ["identity", "zstd", "gzip"];

/// What has to be known of the network to ask for what is in it.
#[derive(Serialize, Deserialize)]
pub(crate) struct KnownIds {
    pub(crate) names: Names,
    /// Tokens of `mallory` and of `root`.
    pub(crate) mallory: String,
    pub(crate) root: String,
    /// What tokens are signed with.
    pub(crate) secret: String,
    /// The identifiers of products.
    pub(crate) products: Vec<String>,
}

impl KnownIds {
    /// What a word stands for in the request of a number.
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

/// A request that lacks its number.
pub(crate) struct Template(Vec<Piece>);

impl Template {
    /// What one of the clients asks of an endpoint, in turns.
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

    /// The request of this number.
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

/// A path with its parameter.
pub(crate) fn place(path: &str, parameter: &str) -> String {
    let (before, rest) = path.split_once('{').unwrap_or((path, ""));
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    format!("{before}{parameter}{after}")
}

/// A target whose letters beyond ASCII are percent-encoded.
fn encoded(target: &str) -> String {
    let letter = |byte: u8| if byte.is_ascii() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    target.bytes().map(letter).collect()
}
