//! A private SMTP server: aiosmtpd, from PyPI. It can be stopped and restarted at the same port.

#![allow(dead_code, reason = "each suite uses a part")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::HANG;
use crate::python::environment;

/// A mail that the server accepted.
#[derive(Debug, Clone)]
pub(crate) struct TakenMail(pub(crate) Value);

impl TakenMail {
    pub(crate) fn to(&self) -> &str {
        self.0["to"][0].as_str().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.0["headers"][name].as_str().unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &str {
        self.0["text"].as_str().unwrap()
    }

    /// Returns the token, which is the only line with a single word of 43 characters.
    pub(crate) fn token(&self) -> String {
        let mut lines = self.text().lines().filter(|line| line.len() == 43 && !line.contains(' '));
        let token = lines.next().unwrap_or_else(|| panic!("no token: {}", self.text())).to_owned();
        assert_eq!(lines.next(), None, "{}", self.text());
        token
    }
}

/// A running server. It is stopped when it is dropped.
pub(crate) struct SmtpServer {
    options: Value,
    port: u16,
    process: Mutex<Option<Child>>,
    taken: Arc<Mutex<Vec<TakenMail>>>,
}

impl SmtpServer {
    /// Starts a server without TLS that accepts every mail.
    pub(crate) fn start() -> Self {
        Self::start_with(json!({}))
    }

    /// Starts a server with options of `smtp/server.py`.
    pub(crate) fn start_with(options: Value) -> Self {
        let mut server = Self { options, port: 0, process: Mutex::default(), taken: Arc::default() };
        server.port = server.run();
        server
    }

    /// Runs the program, collects the mails that it reports, and returns its port.
    fn run(&self) -> u16 {
        let mut options = self.options.clone();
        options["port"] = self.port.into();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support/smtp/server.py");
        let mut command = Command::new(python());
        command.arg(script).arg(options.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.next().expect("the port of the SMTP server").unwrap().parse().unwrap();
        let taken = Arc::clone(&self.taken);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                taken.lock().unwrap().push(TakenMail(serde_json::from_str(&line).unwrap()));
            }
        });
        *self.process.lock().unwrap() = Some(process);
        port
    }

    /// Stops the server: connections are refused.
    pub(crate) fn stop(&self) {
        if let Some(mut process) = self.process.lock().unwrap().take() {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Starts the server again, at the same port.
    pub(crate) fn start_again(&self) {
        assert_eq!(self.run(), self.port);
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of the server without TLS.
    pub(crate) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// Returns the environment variables for this server.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        [("AGORA_SMTP_URL", self.url()), ("AGORA_MAIL_FROM", SENDER.to_owned())]
    }

    /// Returns the mails accepted so far.
    pub(crate) fn taken(&self) -> Vec<TakenMail> {
        self.taken.lock().unwrap().clone()
    }

    /// Waits until at least this many mails were accepted, and returns them.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<TakenMail> {
        let begun = Instant::now();
        loop {
            let taken = self.taken();
            if taken.len() >= count {
                return taken;
            }
            assert!(begun.elapsed() < HANG, "{} of {count} mails came: {taken:?}", taken.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits for the mail with this index, and checks its recipient.
    pub(crate) async fn mail(&self, number: usize, to: &str) -> TakenMail {
        let mail = self.wait_for(number + 1).await.swap_remove(number);
        assert_eq!(mail.to(), to, "{mail:?}");
        mail
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The sender of all mails.
pub(crate) const SENDER: &str = "Agora <no-reply@agora.example.org>";

/// Returns the Python interpreter of the environment with the server, which is installed once.
fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support/smtp/requirements.txt");
    PYTHON.get_or_init(|| environment("smtp", &requirements).join("python")).clone()
}
