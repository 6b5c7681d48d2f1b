//! nginx with the configuration `deploy/nginx/agora.conf`.
//!
//! Only the addresses to listen on, those of the service, and the certificate are changed in the file.

#![allow(dead_code, reason = "each suite uses a part")]

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};

use reqwest::ClientBuilder;

use crate::client::{Client, eventually};
use crate::process::{Home, Process};

pub(crate) const HOST: &str = "agora.example.org";

/// The header from which nginx takes the client address, so that a test's client appears to be on another machine.
pub(crate) const FROM: &str = "X-Test-Client";

const PORT: u16 = 8443;

/// Returns a client of nginx on this address.
pub(crate) fn client(https: SocketAddr, more: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Client {
    Client::with(&format!("https://{HOST}:{PORT}"), |builder| {
        // The certificate is self-signed.
        more(builder.resolve(HOST, https).tls_danger_accept_invalid_certs(true))
    })
}

/// Returns two loopback addresses that nothing else listens on. They follow from the process id and a counter.
pub(crate) fn addresses() -> (SocketAddr, SocketAddr) {
    static COUNT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    let ip = Ipv4Addr::new(127, 64 | (high & 63), low, COUNT.fetch_add(1, Ordering::Relaxed));
    ((ip, 8080).into(), (ip, PORT).into())
}

fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).chain(["/usr/sbin".into()]).map(|place| place.join("nginx"));
    places.find(|program| program.exists()).expect("nginx is missing; install it: apt-get install nginx")
}

/// Starts nginx in front of these nodes, and waits until it listens.
pub(crate) async fn nginx(home: &Home, nodes: &[&str], http: SocketAddr, https: SocketAddr) -> Process {
    let directory = home.path("nginx");
    fs::create_dir(&directory).unwrap();
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([HOST.to_owned()]).unwrap();
    fs::write(directory.join("fullchain.pem"), cert.pem()).unwrap();
    fs::write(directory.join("privkey.pem"), signing_key.serialize_pem()).unwrap();
    let place = directory.to_str().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nginx/agora.conf");
    let mut ours = fs::read_to_string(file).unwrap();
    let server = ours.lines().find(|line| line.contains("server 127.0.0.1:8080")).unwrap().to_owned();
    let servers: String = nodes.iter().map(|node| server.replace("127.0.0.1:8080", node)).collect();
    for (written, needed) in [
        (server.as_str(), servers),
        ("listen 80;", format!("listen {http};")),
        ("listen [::]:80;", String::new()),
        ("listen 443 ssl http2;", format!("listen {https} ssl http2;")),
        ("listen [::]:443 ssl http2;", String::new()),
        ("/etc/ssl/agora/", format!("{place}/")),
    ] {
        assert!(ours.contains(written), "{written}");
        ours = ours.replace(written, &needed);
    }
    fs::write(directory.join("agora.conf"), ours).unwrap();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("    {kind}_temp_path {place}/{kind};\n"))
        .concat();
    // A single process, so that none is left after the test.
    let around = format!(
        "daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log stderr warn;\nevents {{}}\nhttp {{\n    access_log \
         off;\n{paths}    set_real_ip_from 127.0.0.0/8;\n    real_ip_header {FROM};\n    include {place}/agora.conf;\n}}\n"
    );
    fs::write(directory.join("nginx.conf"), around).unwrap();
    let mut command = Command::new(program());
    command.args(["-e", "stderr", "-p", place, "-c", directory.join("nginx.conf").to_str().unwrap()]);
    let process = Process::spawn(command, "");
    eventually("nginx listens", async || std::net::TcpStream::connect(https).ok()).await;
    process
}
