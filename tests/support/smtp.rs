//! A private SMTP server: aiosmtpd, from the registry of Python. It can go away and come back at the same port.

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

/// A mail that the server took.
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

    /// The token: the one line that is a single long word.
    pub(crate) fn token(&self) -> String {
        let mut lines = self.text().lines().filter(|line| line.len() == 43 && !line.contains(' '));
        let token = lines.next().unwrap_or_else(|| panic!("no token: {}", self.text())).to_owned();
        assert_eq!(lines.next(), None, "{}", self.text());
        token
    }
}

/// A running server. It ends when it is dropped.
pub(crate) struct SmtpServer {
    options: Value,
    port: u16,
    process: Mutex<Option<Child>>,
    taken: Arc<Mutex<Vec<TakenMail>>>,
}

impl SmtpServer {
    /// Starts one that speaks in clear and takes every mail.
    pub(crate) fn start() -> Self {
        Self::start_with(json!({}))
    }

    /// Starts one with options of `smtp/server.py`.
    pub(crate) fn start_with(options: Value) -> Self {
        let mut server = Self { options, port: 0, process: Mutex::default(), taken: Arc::default() };
        server.port = server.run();
        server
    }

    /// Runs the program, and collects what it tells; its port.
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

    /// Ends it: connections are refused.
    pub(crate) fn stop(&self) {
        if let Some(mut process) = self.process.lock().unwrap().take() {
            // It may have ended.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Runs it again, at the same port.
    pub(crate) fn start_again(&self) {
        assert_eq!(self.run(), self.port);
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The URL of one that speaks in clear.
    pub(crate) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// The variables that lead to it.
    pub(crate) fn variables(&self) -> [(&'static str, String); 2] {
        [("AGORA_SMTP_URL", self.url()), ("AGORA_MAIL_FROM", SENDER.to_owned())]
    }

    /// What it took so far.
    pub(crate) fn taken(&self) -> Vec<TakenMail> {
        self.taken.lock().unwrap().clone()
    }

    /// Waits until it took so many mails; these.
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

    /// Waits for the mail of this number, from 0 on, which is to go to an address.
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

/// Whom mails are from.
pub(crate) const SENDER: &str = "Agora <no-reply@agora.example.org>";

/// The Python that has the server; installed once.
fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support/smtp/requirements.txt");
    PYTHON.get_or_init(|| environment("smtp", &requirements).join("python")).clone()
}
