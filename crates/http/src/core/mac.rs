//! Message authentication codes (HMAC-SHA-256) of cursors, requests and catalog tags: the nodes of a service, and nobody
//! else, can compute them.

use std::fmt;

use hmac::digest::Key;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What a MAC authenticates. A MAC of one purpose is not valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A position in a list.
    Cursor = 1,
    /// The content of a request.
    Request = 2,
    /// What an answer follows from.
    Response = 3,
}

/// The keys of message authentication codes, derived from the secret that the nodes of a service share. Nothing else can be
/// derived back from them.
#[derive(Clone)]
pub struct MacKeys {
    own: Hmac<Sha256>,
    accepted: Option<Hmac<Sha256>>,
}

impl MacKeys {
    /// Derives the key from the secret that the nodes share.
    pub fn new(secret: &[u8]) -> Self {
        Self { own: derived(secret), accepted: None }
    }

    /// Accepts MACs of another secret as well, while nodes change from one to the other.
    #[must_use]
    pub fn accepting(self, secret: &[u8]) -> Self {
        Self { accepted: Some(derived(secret)), ..self }
    }

    /// Returns the MAC of the parts and of where each ends.
    pub(crate) fn mac<'a>(&self, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> [u8; 32] {
        finished(over(&self.own, purpose, parts))
    }

    /// Returns the MAC of the parts, and that under the accepted secret, if there is one.
    pub(crate) fn macs<'a>(
        &self,
        purpose: Purpose,
        parts: impl IntoIterator<Item = &'a [u8]> + Clone,
    ) -> ([u8; 32], Option<[u8; 32]>) {
        let accepted = self.accepted.as_ref().map(|key| finished(over(key, purpose, parts.clone())));
        (self.mac(purpose, parts), accepted)
    }

    /// Returns whether `given` is the beginning of the MAC of the parts, under either secret.
    pub(crate) fn verify(&self, purpose: Purpose, parts: &[&[u8]], given: &[u8]) -> bool {
        let mut keys = [Some(&self.own), self.accepted.as_ref()].into_iter().flatten();
        keys.any(|key| over(key, purpose, parts.iter().copied()).verify_truncated_left(given).is_ok())
    }
}

fn over<'a>(key: &Hmac<Sha256>, purpose: Purpose, parts: impl IntoIterator<Item = &'a [u8]>) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(&[purpose as u8]);
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part);
    }
    mac
}

fn finished(mac: Hmac<Sha256>) -> [u8; 32] {
    mac.finalize().into_bytes().into()
}

fn derived(secret: &[u8]) -> Hmac<Sha256> {
    let mut derivation = keyed(secret);
    derivation.update(b"agora: codes of the interface");
    keyed(&derivation.finalize().into_bytes())
}

/// Creates a MAC with the digest of a secret as its key, so that a secret of any length will do.
fn keyed(secret: &[u8]) -> Hmac<Sha256> {
    let mut key = Key::<Hmac<Sha256>>::default();
    for (byte, digested) in key.iter_mut().zip(Sha256::digest(secret)) {
        *byte = digested;
    }
    Hmac::new(&key)
}

impl fmt::Debug for MacKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKeys")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_of_its_secret_its_purpose_and_its_parts() {
        let code =
            |secret: &str, purpose, parts: &[&[u8]]| MacKeys::new(secret.as_bytes()).mac(purpose, parts.to_vec());
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
        let made = |mac_keys: &MacKeys| mac_keys.mac(Purpose::Cursor, [b"ab".as_slice()]);
        let taken = |mac_keys: &MacKeys, code: &[u8]| mac_keys.verify(Purpose::Cursor, &[b"ab"], code);
        let [old, new, other] = ["old", "new", "other"].map(|secret| MacKeys::new(secret.as_bytes()));
        let both = new.clone().accepting(b"old");
        assert_eq!(made(&both), made(&new));
        let codes = |mac_keys: &MacKeys| mac_keys.macs(Purpose::Cursor, [b"ab".as_slice()]);
        assert_eq!(codes(&both), (made(&new), Some(made(&old))));
        assert_eq!(codes(&new), (made(&new), None));
        for (mac_keys, code, expected) in [
            (&both, made(&old), true),
            (&both, made(&new), true),
            (&both, made(&other), false),
            (&new, made(&old), false),
        ] {
            assert_eq!(taken(mac_keys, &code), expected);
            assert_eq!(taken(mac_keys, &code[..16]), expected, "its beginning");
        }
    }
}
