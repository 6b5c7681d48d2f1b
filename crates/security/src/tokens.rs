//! Access tokens as JSON web tokens.

use std::fmt;
use std::time::Duration;

use agora_domain::accounts::{Ticket, TokenClaims, TokenIssuer, VerifiedToken};
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, UserId};
use agora_domain::{Error, Result};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

const ALGORITHM: Algorithm = Algorithm::HS256;
const ISSUER: &str = "agora";

/// The issuer of tickets, which differs so that a ticket is not accepted as an access token.
const TICKET_ISSUER: &str = "agora/events";

/// A key that verifies tokens.
struct VerifyingKey {
    /// The key id (`kid`) in the header of tokens, which reveals nothing of the secret.
    id: String,
    key: DecodingKey,
}

impl VerifyingKey {
    fn new(secret: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(b"agora: name of a key").chain_update(secret).finalize();
        let id = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { id, key: DecodingKey::from_secret(secret) }
    }
}

/// How far `iat` may lie in the future, since the clocks of nodes differ. A generous leeway does no harm here, so it covers any
/// plausible error of a node's clock.
const IAT_LEEWAY_SECONDS: i64 = 60;

/// For how long a token is accepted after `exp`: no longer than nodes with synchronized clocks need.
const EXP_LEEWAY_SECONDS: i64 = 5;

/// Issues and verifies JSON web tokens signed with HS256. A token with any other algorithm is not valid.
pub struct JwtIssuer {
    signing_key: EncodingKey,
    /// The header of every token, with the id of the key.
    header: Header,
    own: VerifyingKey,
    /// A key of which tokens are accepted as well while the secret is being changed.
    accepted: Option<VerifyingKey>,
    validation: Validation,
    ticket_validation: Validation,
    lifetime_seconds: i64,
}

impl JwtIssuer {
    /// Creates an issuer with this secret, which all nodes share. The lifetime of tokens is rounded down to whole seconds.
    pub fn new(secret: &[u8], lifetime: Duration) -> Self {
        let validation = |issuer| {
            let mut validation = Validation::new(ALGORITHM);
            validation.set_issuer(&[issuer]);
            validation.set_required_spec_claims(&["iss", "sub", "exp"]);
            // The library would compare with the system's clock; `verify` compares with its argument `now`.
            validation.validate_exp = false;
            validation
        };
        let own = VerifyingKey::new(secret);
        Self {
            signing_key: EncodingKey::from_secret(secret),
            header: Header { kid: Some(own.id.clone()), ..Header::new(ALGORITHM) },
            own,
            accepted: None,
            validation: validation(ISSUER),
            ticket_validation: validation(TICKET_ISSUER),
            lifetime_seconds: i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX),
        }
    }

    /// Accepts tokens signed with another secret as well, while nodes change from one to the other. New tokens are still signed
    /// with the own secret.
    #[must_use]
    pub fn accepting(self, secret: &[u8]) -> Self {
        Self { accepted: Some(VerifyingKey::new(secret)), ..self }
    }

    /// Returns the claims of a token; `None` if its signature is not valid.
    fn claims<T: DeserializeOwned>(&self, token: &str, validation: &Validation) -> Option<T> {
        let check = |key: &VerifyingKey| jsonwebtoken::decode(token, &key.key, validation).ok();
        let Some(accepted) = &self.accepted else { return check(&self.own).map(|token| token.claims) };
        let named = jsonwebtoken::decode_header(token).ok()?.kid;
        // A token without a key id may be signed with either key.
        let mut keys = [&self.own, accepted].into_iter().filter(|key| named.as_ref().is_none_or(|id| *id == key.id));
        keys.find_map(check).map(|token| token.claims)
    }
}

impl fmt::Debug for JwtIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtIssuer").field("lifetime_seconds", &self.lifetime_seconds).finish_non_exhaustive()
    }
}

/// The claims in a token; all of them are required.
#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    sid: String,
    iat: i64,
    exp: i64,
}

impl Claims {
    /// Returns the verified token with these claims.
    fn token(&self) -> Result<VerifiedToken> {
        let user = UserId::new(Uuid::parse_str(&self.sub).map_err(|_| Error::InvalidToken)?);
        let session = SessionId::new(Uuid::parse_str(&self.sid).map_err(|_| Error::InvalidToken)?);
        let expires_at = Timestamp::from_unix_millis(self.exp.saturating_mul(1000));
        Ok(VerifiedToken { claims: TokenClaims { user, session }, expires_at })
    }
}

/// The claims in a ticket: those of the access token, with its expiration, and its own.
#[derive(Serialize, Deserialize)]
struct TicketClaims {
    #[serde(flatten)]
    token: Claims,
    jti: String,
    /// When the ticket expires, in milliseconds since 1970.
    until: i64,
}

impl TokenIssuer for JwtIssuer {
    fn issue(&self, TokenClaims { user, session }: TokenClaims, now: Timestamp) -> Result<String> {
        let iat = now.unix_seconds();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            sub: user.to_string(),
            sid: session.to_string(),
            iat,
            exp: iat.saturating_add(self.lifetime_seconds),
        };
        jsonwebtoken::encode(&self.header, &claims, &self.signing_key).map_err(Error::internal)
    }

    fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken> {
        let claims: Claims = self.claims(token, &self.validation).ok_or(Error::InvalidToken)?;
        let now = now.unix_seconds();
        if claims.iat > now.saturating_add(IAT_LEEWAY_SECONDS) {
            return Err(Error::InvalidToken);
        }
        let token = claims.token()?;
        let has_expired = claims.exp.saturating_add(EXP_LEEWAY_SECONDS) <= now;
        if has_expired { Err(Error::ExpiredToken) } else { Ok(token) }
    }

    fn issue_ticket(&self, Ticket { id, token, expires_at }: Ticket) -> Result<String> {
        let claims = TicketClaims {
            token: Claims {
                iss: TICKET_ISSUER.to_owned(),
                sub: token.claims.user.to_string(),
                sid: token.claims.session.to_string(),
                iat: 0,
                exp: token.expires_at.unix_seconds(),
            },
            jti: id.to_string(),
            until: expires_at.unix_millis(),
        };
        jsonwebtoken::encode(&self.header, &claims, &self.signing_key).map_err(Error::internal)
    }

    fn verify_ticket(&self, ticket: &str, now: Timestamp) -> Result<Ticket> {
        let claims: TicketClaims = self.claims(ticket, &self.ticket_validation).ok_or(Error::InvalidToken)?;
        let id = Uuid::parse_str(&claims.jti).map_err(|_| Error::InvalidToken)?;
        let expires_at = Timestamp::from_unix_millis(claims.until);
        if expires_at <= now {
            return Err(Error::InvalidToken);
        }
        Ok(Ticket { id: id.into(), token: claims.token.token()?, expires_at })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const SECRET: &[u8] = b"a secret of at least 32 bytes, as it should be";
    const NOW: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);
    const NOW_SECONDS: i64 = 1_752_539_094;
    const CLAIMS: TokenClaims =
        TokenClaims { user: UserId::new(Uuid::from_u128(1)), session: SessionId::new(Uuid::from_u128(2)) };

    /// `{"typ":"JWT","alg":"HS256"}`
    const HS256_HEADER: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9";

    impl JwtIssuer {
        fn valid_claims(&self, token: &str, now: Timestamp) -> Option<TokenClaims> {
            self.verify(token, now).ok().map(|token| token.claims)
        }
    }

    fn issuer() -> JwtIssuer {
        JwtIssuer::new(SECRET, Duration::from_secs(3600))
    }

    fn valid() -> String {
        issuer().issue(CLAIMS, NOW).unwrap()
    }

    fn at_second(second: i64) -> Timestamp {
        Timestamp::from_unix_millis(second * 1000)
    }

    #[derive(Serialize)]
    #[serde(untagged)]
    enum Value {
        Text(String),
        Number(i64),
    }
    use Value::{Number, Text};

    /// The claims of a valid token.
    fn claims() -> BTreeMap<&'static str, Value> {
        BTreeMap::from([
            ("iss", Text(ISSUER.to_owned())),
            ("sub", Text(CLAIMS.user.to_string())),
            ("sid", Text(CLAIMS.session.to_string())),
            ("iat", Number(NOW_SECONDS)),
            ("exp", Number(NOW_SECONDS + 3600)),
        ])
    }

    /// A token with these claims and a valid signature.
    fn signed(algorithm: Algorithm, claims: &BTreeMap<&'static str, Value>) -> String {
        jsonwebtoken::encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(SECRET)).unwrap()
    }

    /// The token with another header and a valid HS256 signature.
    fn with_header(header: &str, token: &str) -> String {
        let (_, rest) = token.split_once('.').unwrap();
        let (claims, _) = rest.split_once('.').unwrap();
        let message = format!("{header}.{claims}");
        let key = EncodingKey::from_secret(SECRET);
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, ALGORITHM).unwrap();
        format!("{message}.{signature}")
    }

    #[test]
    fn verifying_a_token_returns_the_claims_it_was_issued_with() {
        assert_eq!(issuer().valid_claims(&valid(), NOW), Some(CLAIMS));
    }

    #[test]
    fn the_header_has_the_algorithm_and_a_key_id_derived_from_the_secret() {
        let header = jsonwebtoken::decode_header(valid()).unwrap();
        assert_eq!((header.alg, header.typ.as_deref()), (ALGORITHM, Some("JWT")));
        let id = header.kid.unwrap();
        assert_eq!(id.len(), 16);
        assert_eq!(jsonwebtoken::decode_header(valid()).unwrap().kid, Some(id.clone()), "the same for the same secret");
        let other = JwtIssuer::new(b"another secret of at least 32 bytes, too", Duration::from_secs(3600));
        let other = jsonwebtoken::decode_header(other.issue(CLAIMS, NOW).unwrap()).unwrap();
        assert_ne!(other.kid, Some(id));
    }

    #[test]
    fn while_the_secret_changes_both_are_accepted_and_the_new_one_signs() {
        const NEW: &[u8] = b"the secret that is to be used from now on";
        let old = valid();
        let changing = JwtIssuer::new(NEW, Duration::from_secs(3600)).accepting(SECRET);
        let new = changing.issue(CLAIMS, NOW).unwrap();
        for token in [&old, &new] {
            assert_eq!(changing.valid_claims(token, NOW), Some(CLAIMS));
        }
        let changed = JwtIssuer::new(NEW, Duration::from_secs(3600));
        assert_eq!((changed.valid_claims(&new, NOW), changed.valid_claims(&old, NOW)), (Some(CLAIMS), None));
        assert_eq!(issuer().valid_claims(&new, NOW), None);
        // Nodes first learn to accept the new secret, before any node signs with it.
        assert_eq!(issuer().accepting(NEW).valid_claims(&new, NOW), Some(CLAIMS));
        // Tokens of both secrets expire.
        assert_eq!(changing.valid_claims(&old, at_second(NOW_SECONDS + 3605)), None);
    }

    #[test]
    fn a_token_with_a_key_id_must_be_signed_with_that_key() {
        let changing = JwtIssuer::new(b"the secret that is to be used from now on", Duration::from_secs(3600));
        let changing = changing.accepting(SECRET);
        // Signed with the old secret: without a key id, with its own, with that of the new secret, and with an unknown one.
        let named = |id: Option<&str>| {
            let header = Header { kid: id.map(str::to_owned), ..Header::new(ALGORITHM) };
            jsonwebtoken::encode(&header, &claims(), &EncodingKey::from_secret(SECRET)).unwrap()
        };
        let (new, old) = (changing.own.id.clone(), issuer().own.id.clone());
        for (id, accepted) in [(None, true), (Some(&*old), true), (Some(&*new), false), (Some("another"), false)] {
            assert_eq!(changing.valid_claims(&named(id), NOW).is_some(), accepted, "{id:?}");
        }
    }

    #[test]
    fn a_token_is_valid_for_its_lifetime_plus_a_small_leeway() {
        let token = valid();
        for (now, expected) in [
            (at_second(NOW_SECONDS), true),
            (at_second(NOW_SECONDS + 3600), true),
            (at_second(NOW_SECONDS + 3604).plus_millis(999), true),
            (at_second(NOW_SECONDS + 3605), false),
            (at_second(NOW_SECONDS + 7200), false),
            (at_second(NOW_SECONDS - 60), true),
            (at_second(NOW_SECONDS - 61), false),
            (Timestamp::from_unix_millis(i64::MAX), false),
            (Timestamp::from_unix_millis(i64::MIN), false),
        ] {
            assert_eq!(issuer().valid_claims(&token, now).is_some(), expected, "{now:?}");
        }
    }

    #[test]
    fn expired_and_invalid_tokens_have_different_errors() {
        let (later, expired) = (at_second(NOW_SECONDS + 7200), valid());
        assert!(matches!(issuer().verify(&expired, later), Err(Error::ExpiredToken)));
        for invalid in ["", &expired[1..]] {
            assert!(matches!(issuer().verify(invalid, later), Err(Error::InvalidToken)), "{invalid}");
        }
        assert!(matches!(issuer().verify(&expired, at_second(NOW_SECONDS - 61)), Err(Error::InvalidToken)));
    }

    #[test]
    fn the_longest_lifetime_does_not_overflow() {
        let forever = JwtIssuer::new(SECRET, Duration::MAX);
        let token = forever.issue(CLAIMS, NOW).unwrap();
        for now in [NOW, Timestamp::from_unix_millis(i64::MAX)] {
            assert_eq!(forever.valid_claims(&token, now), Some(CLAIMS));
        }
    }

    #[test]
    fn an_altered_token_is_refused() {
        let token = valid();
        for i in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert_eq!(issuer().valid_claims(&altered, NOW), None, "byte {i}");
        }
        let unsigned = token.rsplit_once('.').unwrap().0;
        for altered in ["", ".", "..", "a.b.c", unsigned, &format!("{unsigned}."), &format!("{token}."), &token[1..]] {
            assert_eq!(issuer().valid_claims(altered, NOW), None, "{altered}");
        }
    }

    #[test]
    fn a_token_of_another_secret_is_refused() {
        let other = JwtIssuer::new(b"another secret of at least 32 bytes, too", Duration::from_secs(3600));
        assert_eq!(issuer().valid_claims(&other.issue(CLAIMS, NOW).unwrap(), NOW), None);
    }

    #[test]
    fn every_algorithm_but_hs256_is_refused() {
        assert!(issuer().valid_claims(&with_header(HS256_HEADER, &valid()), NOW).is_some());
        for (name, header) in [
            ("none", "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"),
            ("None", "eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0"),
            ("RS256", "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"),
            ("HS384", "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9"),
        ] {
            let token = with_header(header, &valid());
            assert_eq!(issuer().valid_claims(&token, NOW), None, "{name}");
            let unsigned = token.rsplit_once('.').unwrap().0;
            assert_eq!(issuer().valid_claims(&format!("{unsigned}."), NOW), None, "{name} without signature");
        }
        for algorithm in [Algorithm::HS384, Algorithm::HS512] {
            let token = signed(algorithm, &claims());
            assert_eq!(issuer().valid_claims(&token, NOW), None, "{algorithm:?}");
        }
    }

    #[test]
    fn every_claim_is_required() {
        assert_eq!(issuer().valid_claims(&signed(ALGORITHM, &claims()), NOW), Some(CLAIMS));
        for missing in ["iss", "sub", "sid", "iat", "exp"] {
            let mut claims = claims();
            claims.remove(missing);
            assert_eq!(issuer().valid_claims(&signed(ALGORITHM, &claims), NOW), None, "{missing}");
        }
    }

    #[test]
    fn a_claim_of_another_value_or_type_is_refused() {
        let text = |value: &str| Text(value.to_owned());
        for (i, (name, value)) in [
            ("iss", text("another")),
            ("iss", Number(1)),
            ("sub", text("alice")),
            ("sub", Number(1)),
            ("sid", text("")),
            ("exp", text("tomorrow")),
            ("exp", Number(-1)),
            ("iat", text("now")),
        ]
        .into_iter()
        .enumerate()
        {
            let mut claims = claims();
            claims.insert(name, value);
            assert_eq!(issuer().valid_claims(&signed(ALGORITHM, &claims), NOW), None, "row {i}, {name}");
        }
    }

    #[test]
    fn debug_output_hides_the_secret() {
        assert_eq!(format!("{:?}", issuer()), "JwtIssuer { lifetime_seconds: 3600, .. }");
    }
}
