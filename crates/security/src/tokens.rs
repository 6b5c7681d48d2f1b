//! Access tokens as JSON web tokens.

use std::{fmt, time::Duration};

use agora_domain::{
    Error, Result,
    accounts::{TokenClaims, TokenIssuer},
    clock::Timestamp,
    id::{SessionId, UserId},
};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const ALGORITHM: Algorithm = Algorithm::HS256;
const ISSUER: &str = "agora";

/// How far in the future the time of issue may lie: the clocks of two nodes differ a little.
const CLOCK_SKEW_SECONDS: i64 = 60;

/// Issues and checks JSON web tokens signed with HS256. A token that names any other algorithm is not valid.
pub struct JwtIssuer {
    signing_key: EncodingKey,
    checking_key: DecodingKey,
    validation: Validation,
    lifetime_seconds: i64,
}

impl JwtIssuer {
    /// An issuer with this secret, which all nodes share. Its tokens live as long as given, in whole seconds.
    pub fn new(secret: &[u8], lifetime: Duration) -> Self {
        let mut validation = Validation::new(ALGORITHM);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["iss", "sub", "exp"]);
        // The library would compare with the system's clock; `verify` compares with the time it is given.
        validation.validate_exp = false;
        Self {
            signing_key: EncodingKey::from_secret(secret),
            checking_key: DecodingKey::from_secret(secret),
            validation,
            lifetime_seconds: i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX),
        }
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
        jsonwebtoken::encode(&Header::new(ALGORITHM), &claims, &self.signing_key).map_err(Error::internal)
    }

    fn verify(&self, token: &str, now: Timestamp) -> Option<TokenClaims> {
        let claims = jsonwebtoken::decode::<Claims>(token, &self.checking_key, &self.validation).ok()?.claims;
        let now = now.unix_seconds();
        if claims.exp <= now || claims.iat > now.saturating_add(CLOCK_SKEW_SECONDS) {
            return None;
        }
        let user = UserId::new(Uuid::parse_str(&claims.sub).ok()?);
        let session = SessionId::new(Uuid::parse_str(&claims.sid).ok()?);
        Some(TokenClaims { user, session })
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

    /// A token of these claims, rightly signed.
    fn signed(algorithm: Algorithm, claims: &BTreeMap<&'static str, Value>) -> String {
        jsonwebtoken::encode(&Header::new(algorithm), claims, &EncodingKey::from_secret(SECRET)).unwrap()
    }

    /// The token with another header, rightly signed with HS256.
    fn with_header(header: &str, token: &str) -> String {
        let (_, rest) = token.split_once('.').unwrap();
        let (claims, _) = rest.split_once('.').unwrap();
        let message = format!("{header}.{claims}");
        let key = EncodingKey::from_secret(SECRET);
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, ALGORITHM).unwrap();
        format!("{message}.{signature}")
    }

    #[test]
    fn a_token_tells_what_it_was_issued_for() {
        assert_eq!(issuer().verify(&valid(), NOW), Some(CLAIMS));
    }

    #[test]
    fn the_header_is_fixed() {
        assert!(valid().starts_with(&format!("{HS256_HEADER}.")));
    }

    #[test]
    fn a_token_is_valid_for_its_lifetime_by_the_time_given() {
        let token = valid();
        for (now, expected) in [
            (at_second(NOW_SECONDS), true),
            (at_second(NOW_SECONDS + 3599).plus_millis(999), true),
            (at_second(NOW_SECONDS + 3600), false),
            (at_second(NOW_SECONDS + 3601), false),
            (at_second(NOW_SECONDS - 60), true),
            (at_second(NOW_SECONDS - 61), false),
            (Timestamp::from_unix_millis(i64::MAX), false),
            (Timestamp::from_unix_millis(i64::MIN), false),
        ] {
            assert_eq!(issuer().verify(&token, now).is_some(), expected, "{now:?}");
        }
    }

    #[test]
    fn a_lifetime_beyond_all_time_does_not_overflow() {
        let forever = JwtIssuer::new(SECRET, Duration::MAX);
        assert_eq!(forever.verify(&forever.issue(CLAIMS, NOW).unwrap(), NOW), Some(CLAIMS));
    }

    #[test]
    fn an_altered_token_is_refused() {
        let token = valid();
        for i in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[i] = if bytes[i] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(bytes).unwrap();
            assert_eq!(issuer().verify(&altered, NOW), None, "byte {i}");
        }
        let unsigned = token.rsplit_once('.').unwrap().0;
        for altered in ["", ".", "..", "a.b.c", unsigned, &format!("{unsigned}."), &format!("{token}."), &token[1..]] {
            assert_eq!(issuer().verify(altered, NOW), None, "{altered}");
        }
    }

    #[test]
    fn a_token_of_another_secret_is_refused() {
        let other = JwtIssuer::new(b"another secret of at least 32 bytes, too", Duration::from_secs(3600));
        assert_eq!(issuer().verify(&other.issue(CLAIMS, NOW).unwrap(), NOW), None);
    }

    #[test]
    fn every_algorithm_but_hs256_is_refused() {
        assert!(issuer().verify(&with_header(HS256_HEADER, &valid()), NOW).is_some());
        for (name, header) in [
            ("none", "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"),
            ("None", "eyJhbGciOiJOb25lIiwidHlwIjoiSldUIn0"),
            ("RS256", "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9"),
            ("HS384", "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9"),
        ] {
            let token = with_header(header, &valid());
            assert_eq!(issuer().verify(&token, NOW), None, "{name}");
            let unsigned = token.rsplit_once('.').unwrap().0;
            assert_eq!(issuer().verify(&format!("{unsigned}."), NOW), None, "{name} without signature");
        }
        for algorithm in [Algorithm::HS384, Algorithm::HS512] {
            let token = signed(algorithm, &claims());
            assert_eq!(issuer().verify(&token, NOW), None, "{algorithm:?}");
        }
    }

    #[test]
    fn every_claim_is_required() {
        assert_eq!(issuer().verify(&signed(ALGORITHM, &claims()), NOW), Some(CLAIMS));
        for missing in ["iss", "sub", "sid", "iat", "exp"] {
            let mut claims = claims();
            claims.remove(missing);
            assert_eq!(issuer().verify(&signed(ALGORITHM, &claims), NOW), None, "{missing}");
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
            assert_eq!(issuer().verify(&signed(ALGORITHM, &claims), NOW), None, "row {i}, {name}");
        }
    }

    #[test]
    fn debug_output_keeps_the_secret() {
        assert_eq!(format!("{:?}", issuer()), "JwtIssuer { lifetime_seconds: 3600, .. }");
    }
}
