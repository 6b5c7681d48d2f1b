//! TLS connections to PostgreSQL for each `sslmode` of the URL.

#![forbid(unsafe_code)]
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use agora_database::{Database, Options};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use self::port::Port;

#[path = "../../../tests/support/port.rs"]
mod port;
#[path = "../../../tests/support/postgres.rs"]
mod private_postgres;

fn certificate_authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Cases: the mode, the host, the trusted authority, and whether connecting succeeds. The certificate of the server is for
/// `localhost`; the authority `ours` signed it, `other` did not.
const CASES: [(&str, &str, Option<&str>, bool); 13] = [
    ("disable", "localhost", None, false),
    ("prefer", "localhost", None, true),
    ("require", "localhost", None, true),
    ("require", "127.0.0.1", Some("other"), true),
    ("verify-ca", "localhost", Some("ours"), true),
    ("verify-ca", "127.0.0.1", Some("ours"), true),
    ("verify-ca", "localhost", Some("other"), false),
    ("verify-ca", "localhost", None, false),
    ("verify-full", "localhost", Some("ours"), true),
    ("verify-full", "127.0.0.1", Some("ours"), false),
    ("verify-full", "localhost", Some("other"), false),
    ("verify-full", "localhost", None, false),
    ("verify-everything", "localhost", Some("ours"), false),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_certificate_is_verified_as_the_mode_requires() {
    let (ours, other) = (certificate_authority(), certificate_authority());
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &ours).unwrap();
    let reserved = Port::new();
    let port = reserved.address().port();
    let start = move || {
        private_postgres::Server::start(port, |directory| {
            let (certificate_file, key_file) = (directory.join("server.crt"), directory.join("server.key"));
            fs::write(&certificate_file, certificate.pem()).unwrap();
            fs::write(&key_file, key.serialize_pem()).unwrap();
            fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
            // Over the network, the server accepts TLS connections only.
            let hba = directory.join("hba.conf");
            fs::write(&hba, "local all all trust\nhostssl all all 127.0.0.1/32 trust\n").unwrap();
            format!(
                "-c listen_addresses=127.0.0.1 -c ssl=on -c ssl_cert_file={} -c ssl_key_file={} -c hba_file={}",
                certificate_file.display(),
                key_file.display(),
                hba.display()
            )
        })
    };
    let _server = tokio::task::spawn_blocking(start).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("ours"), ours.pem()).unwrap();
    fs::write(directory.path().join("other"), other.pem()).unwrap();
    for (mode, host, authority, connects) in CASES {
        let roots = authority.map(|name| format!("&sslrootcert={}", directory.path().join(name).display()));
        let url = format!("postgres://agora@{host}:{port}/postgres?sslmode={mode}{}", roots.unwrap_or_default());
        let opened = Database::open(&url, &Options::default()).await;
        assert_eq!(opened.is_ok(), connects, "{mode} {host} {authority:?}: {:?}", opened.err());
    }
    fs::write(directory.path().join("empty"), "").unwrap();
    for (authority, problem) in [("missing", "No such file"), ("empty", "no certificate")] {
        let roots = directory.path().join(authority).display().to_string();
        let url = format!("postgres://agora@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={roots}");
        let error = Database::open(&url, &Options::default()).await.err().unwrap();
        let source = error.source().unwrap().to_string();
        assert!(source.contains(&roots) && source.contains(problem), "{source}");
    }
}
