//! Codes by which this service, on any of its nodes, knows what it has handed out or seen before.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac, digest::Key};
use sha2::{Digest, Sha256};

/// What a code is for: one that was made for something else is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A position in a list.
    Cursor = 1,
    /// The content of a request.
    Request = 2,
    /// What an answer follows from.
    Answer = 3,
}

/// Makes codes that nobody else can make: with a key that the nodes of a service share, and that leads back to nothing
/// else they keep.
#[derive(Clone)]
pub struct Seal {
    own: Hmac<Sha256>,
    accepted: Option<Hmac<Sha256>>,
}

impl Seal {
    /// With a key derived from the secret that the nodes share.
    pub fn new(secret: &[u8]) -> Self {
        Self { own: derived(secret), accepted: None }
    }

    /// Takes codes made with another secret as well, while nodes change from one to the other.
    #[must_use]
    pub fn accepting(self, secret: &[u8]) -> Self {
        Self { accepted: Some(derived(secret)), ..self }
    }

    /// The code of what the parts hold, and of where each ends.
    pub(crate) fn code<'a>(&self, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
        finished(over(&self.own, purpose, parts))
    }

    /// The code of the parts, and what it is with the accepted secret, if there is one.
    pub(crate) fn codes<'a>(
        &self,
        purpose: Purpose,
        parts: impl IntoIterator<Item = &'a [u8]> + Clone,
    ) -> ([u8; 32], Option<[u8; 32]>) {
        let accepted = self.accepted.as_ref().map(|key| finished(over(key, purpose, parts.clone())));
        (self.code(purpose, parts), accepted)
    }

    /// Whether this is the beginning of the code of the parts.
    pub(crate) fn is_code(&self, purpose: Purpose, parts: &[&[u8]], given: &[u8]) -> bool {
        let mut keys = [Some(&self.own), self.accepted.as_ref()].into_iter().flatten();
        keys.any(|key| over(key, purpose, parts.iter().copied()).verify_truncated_left(given).is_ok())
    }
}

fn over<'a>(key: &Hmac<Sha256>, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> Hmac<Sha256> {
    let mut code = key.clone();
    code.update(&[purpose as u8]);
    for part in parts {
        code.update(&(part.len() as u64).to_be_bytes());
        code.update(part);
    }
    code
}

fn finished(code: Hmac<Sha256>) -> [u8; 32] {
    code.finalize().into_bytes().into()
}

/// With the key that follows from the secret that the nodes share.
fn derived(secret: &[u8]) -> Hmac<Sha256> {
    let mut derivation = keyed(secret);
    derivation.update(b"agora: codes of the interface");
    keyed(&derivation.finalize().into_bytes())
}

/// With the digest of a secret as its key, so that one of any length will do.
fn keyed(secret: &[u8]) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    for (byte, digested) in key.iter_mut().zip(Sha256::digest(secret)) {
        *byte = digested;
    }
    Hmac::new(&key)
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_its_secret_its_purpose_and_its_parts() {
        let code = |secret: &str, purpose, parts: &[&[u8]]| Seal::new(secret.as_bytes()).code(purpose, parts.to_vec());
        let one = code("secret", Purpose::Cursor, &[b"ab", b"c"]);
        assert_eq!(one, code("secret", Purpose::Cursor, &[b"ab", b"c"]));
        for other in [
            code("other", Purpose::Cursor, &[b"ab", b"c"]),
            code("secret", Purpose::Request, &[b"ab", b"c"]),
            code("secret", Purpose::Cursor, &[b"a", b"bc"]),
            code("secret", Purpose::Cursor, &[b"abc"]),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn codes_of_the_accepted_secret_are_taken_and_codes_are_made_with_the_own_one() {
        let made = |seal: &Seal| seal.code(Purpose::Cursor, [b"ab".as_slice()]);
        let taken = |seal: &Seal, code: &[u8]| seal.is_code(Purpose::Cursor, &[b"ab"], code);
        let [old, new, other] = ["old", "new", "other"].map(|secret| Seal::new(secret.as_bytes()));
        let both = new.clone().accepting(b"old");
        assert_eq!(made(&both), made(&new));
        let codes = |seal: &Seal| seal.codes(Purpose::Cursor, [b"ab".as_slice()]);
        assert_eq!(codes(&both), (made(&new), Some(made(&old))));
        assert_eq!(codes(&new), (made(&new), None));
        for (seal, code, expected) in [
            (&both, made(&old), true),
            (&both, made(&new), true),
            (&both, made(&other), false),
            (&new, made(&old), false),
        ] {
            assert_eq!(taken(seal, &code), expected);
            assert_eq!(taken(seal, &code[..16]), expected, "its beginning");
        }
    }
}
