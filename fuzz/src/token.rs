//! Access tokens.

use std::time::Duration;

use agora_domain::accounts::{TokenClaims, TokenIssuer, VerifiedToken};
use agora_domain::clock::Timestamp;
use agora_domain::id::{SessionId, UserId};
use agora_security::JwtIssuer;
use uuid::Uuid;

/// What the tokens among the seeds are signed with.
pub const SECRET: &[u8] = b"a secret of at least 32 bytes, as it should be";

/// When they were issued.
pub const NOW: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);

/// Whom they are of.
pub const CLAIMS: TokenClaims =
    TokenClaims { user: UserId::new(Uuid::from_u128(1)), session: SessionId::new(Uuid::from_u128(2)) };

/// The same token as it was issued before tokens named their key, which is taken as well.
const WITHOUT_KEY_NAME: &str = include_str!("../seeds/token/without_key_name");

/// What makes and checks them.
pub fn issuer() -> JwtIssuer {
    JwtIssuer::new(SECRET, Duration::from_secs(3600))
}

/// Checks a token; and, taken as pairs of a place and a byte, the token that a valid one becomes by them.
///
/// # Panics
/// When a token is taken that was not issued, letter for letter.
pub fn check(data: &[u8]) {
    let issuer = issuer();
    let issued = issuer.issue(CLAIMS, NOW).expect("a token");
    let mut changed = issued.clone().into_bytes();
    for change in data.chunks_exact(2) {
        let place = usize::from(change[0]) % changed.len();
        changed[place] = change[1];
    }
    for token in [data, &changed] {
        let Ok(token) = std::str::from_utf8(token) else { continue };
        if let Ok(VerifiedToken { claims, .. }) = issuer.verify(token, NOW) {
            assert_eq!(claims, CLAIMS);
            assert!(token == issued || token == WITHOUT_KEY_NAME, "{token}");
        }
    }
}
