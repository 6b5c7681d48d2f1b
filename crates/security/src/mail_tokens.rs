//! The tokens in mails.

use agora_domain::mail::{MailToken, MailTokens, TokenDigest};
use agora_domain::{Error, Result};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// How many bytes a token has: more than anybody guesses.
const BYTES: usize = 32;

/// Draws tokens from the system's random numbers, and digests them with SHA-256: with so many random bits nobody finds a token
/// by its digest, so that it needs no slow hash.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomMailTokens;

impl MailTokens for RandomMailTokens {
    fn draw(&self) -> Result<MailToken> {
        let mut random = [0; BYTES];
        getrandom::fill(&mut random).map_err(Error::unavailable)?;
        Ok(MailToken::new(BASE64_URL_SAFE_NO_PAD.encode(random)))
    }

    fn digest(&self, token: &MailToken) -> TokenDigest {
        TokenDigest::new(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(token.expose())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_is_another_and_its_digest_does_not_hold_it() {
        let (one, other) = (RandomMailTokens.draw().unwrap(), RandomMailTokens.draw().unwrap());
        assert_ne!(one, other);
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(one.expose()).unwrap().len(), BYTES);
        assert_eq!(RandomMailTokens.digest(&one), RandomMailTokens.digest(&one.clone()));
        assert_ne!(RandomMailTokens.digest(&one), RandomMailTokens.digest(&other));
        assert!(!RandomMailTokens.digest(&one).as_str().contains(one.expose()));
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
