//! The tokens in mails.

use agora_domain::mail::{MailToken, MailTokens, TokenDigest};
use agora_domain::{Error, Result};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The random bytes of a token: too many to guess.
const BYTES: usize = 32;

/// Generates tokens from the system's random numbers, and digests them with SHA-256. A token of 256 random bits cannot be found
/// from its digest by trying, so no slow password hash is needed.
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
    fn tokens_are_unique_and_their_digests_do_not_reveal_them() {
        let (one, other) = (RandomMailTokens.draw().unwrap(), RandomMailTokens.draw().unwrap());
        assert_ne!(one, other);
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(one.expose()).unwrap().len(), BYTES);
        assert_eq!(RandomMailTokens.digest(&one), RandomMailTokens.digest(&one.clone()));
        assert_ne!(RandomMailTokens.digest(&one), RandomMailTokens.digest(&other));
        assert!(!RandomMailTokens.digest(&one).as_str().contains(one.expose()));
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
