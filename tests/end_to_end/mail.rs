//! Mail with a real SMTP server: encryption, rejections, outages, and that no mail is lost.

use std::fs;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tokio::task::block_in_place;

use crate::client::{Client, PASSWORD, eventually};
use crate::process::{Finished, Home, run};
use crate::smtp::{SENDER, SmtpServer};

async fn request_reset(api: &Client, identifier: &str) {
    api.post_json("/api/auth/password/forgot", &json!({ "identifier": identifier })).await.expect(202);
}

/// Returns the lines that `agora mail` prints.
fn mail(home: &Home, arguments: &[&str]) -> Vec<String> {
    let finished = run(home.agora(&[&["mail"], arguments].concat()), "");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.stdout.lines().map(str::to_owned).collect()
}

/// Returns the finding of `agora doctor` about the mail server, and whether it is ok.
fn doctor_mail(home: &Home, variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = home.agora(&["doctor"]);
    command.env("AGORA_MAIL_FROM", SENDER).envs(variables.iter().copied());
    let Finished { stdout, .. } = run(command, "");
    let line = stdout.lines().find(|line| line[9..].starts_with("mail: ")).unwrap_or_else(|| panic!("{stdout}"));
    (line.starts_with("ok "), line[9..].to_owned())
}

/// A directory with the certificate of a server called `localhost`, its key, and the authority that signed it.
fn certificates() -> tempfile::TempDir {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("authority.pem"), authority.pem()).unwrap();
    fs::write(directory.path().join("certificate.pem"), certificate.pem()).unwrap();
    fs::write(directory.path().join("key.pem"), key.serialize_pem()).unwrap();
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_encrypted_and_the_certificate_of_the_server_is_checked() {
    let certificates = certificates();
    let file = |name: &str| certificates.path().join(name).to_str().unwrap().to_owned();
    let authority = file("authority.pem");
    let home = Home::new();
    for (tls, scheme) in [("starttls", "smtp"), ("implicit", "smtps")] {
        let login = ["agora@example.org", "päss:word"];
        let (certificate, key) = (file("certificate.pem"), file("key.pem"));
        let options = json!({ "tls": tls, "certificate": certificate, "key": key, "login": login });
        let smtp = block_in_place(|| SmtpServer::start_with(options));
        let port = smtp.port();
        let url = |user: &str, host: &str| format!("{scheme}://{user}@{host}:{port}");
        let right = url("agora%40example.org:p%C3%A4ss%3Aword", "localhost");
        let trusted = ("SSL_CERT_FILE", authority.as_str());
        let (works, message) = doctor_mail(&home, &[("AGORA_SMTP_URL", &right), trusted]);
        assert!(works, "{message}");
        for (variables, words) in [
            (vec![("AGORA_SMTP_URL", right.as_str())], "certificate"),
            (
                vec![("AGORA_SMTP_URL", &*url("agora%40example.org:p%C3%A4ss%3Aword", "127.0.0.1")), trusted],
                "certificate",
            ),
            (vec![("AGORA_SMTP_URL", &*url("agora%40example.org:guess", "localhost")), trusted], "535"),
        ] {
            let (works, message) = doctor_mail(&home, &variables);
            assert!(!works && message.contains(words) && !message.contains("word@"), "{words}: {message}");
        }
        let service = home.start_with(&[("AGORA_SMTP_URL", &right), ("AGORA_MAIL_FROM", SENDER), trusted]);
        let name = format!("user-{tls}");
        service.api.register(&name).await.expect(201);
        request_reset(&service.api, &name).await;
        let taken = smtp.mail(0, &format!("{name}@example.org")).await;
        assert_eq!((&taken.0["encrypted"], &taken.0["logged_in"]), (&json!(true), &json!(true)));
        assert_eq!(taken.0["hello"], "agora.example.org");
        let log = service.stop().stderr;
        assert!(!log.contains(&taken.token()) && !log.contains("word"), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_offer_encryption_is_refused() {
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let url = format!("smtp://user:password@localhost:{}", smtp.port());
    let (works, message) = doctor_mail(&home, &[("AGORA_SMTP_URL", &url)]);
    assert!(!works && message.contains("STARTTLS"), "{message}");
    let (works, message) = doctor_mail(&home, &[("AGORA_SMTP_URL", &smtp.url())]);
    assert!(works, "{message}");
    let mut refused = home.agora(&["config", "check"]);
    refused.env("AGORA_SMTP_URL", "smtp://mail.example.org?tls=none").env("AGORA_MAIL_FROM", SENDER);
    run(refused, "").expect_refusal(&["AGORA_SMTP_URL", "only for a server on this machine"]);
    let mut alone = home.agora(&["config", "check"]);
    alone.env("AGORA_SMTP_URL", smtp.url());
    run(alone, "").expect_refusal(&["AGORA_SMTP_URL and AGORA_MAIL_FROM", "together"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_mail_delays_no_other_and_is_listed_for_the_operator() {
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let variables = smtp.variables();
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let service = home.start_with(&variables);
    let api = &service.api;
    for name in ["refused", "later", "alice"] {
        api.register(name).await.expect(201);
        request_reset(api, name).await;
    }
    smtp.mail(0, "alice@example.org").await;
    let unsent = eventually("both failed", async || {
        let unsent = block_in_place(|| mail(&home, &["list"]));
        (unsent.len() == 2 && unsent.iter().all(|line| line.contains(" 4") || line.contains("55"))).then_some(unsent)
    });
    let unsent = unsent.await;
    let of = |address: &str| unsent.iter().find(|line| line.contains(address)).unwrap();
    assert!(of("refused@example.org").contains("no such mailbox"), "{unsent:?}");
    assert!(of("later@example.org").contains("come back later"), "{unsent:?}");
    for line in &unsent {
        assert!(line.contains("  waiting  password_reset  ") && line.contains("tried"), "{line}");
    }
    // The service records a mail as sent only after the server has it.
    let sent = eventually("the mail is recorded as sent", async || {
        let sent = block_in_place(|| mail(&home, &["list", "--status", "sent"]));
        (sent != ["No mail has this status."]).then_some(sent)
    });
    let sent = sent.await;
    assert!(sent.len() == 1 && sent[0].contains("\"alice@example.org\""), "{sent:?}");
    assert_eq!(mail(&home, &["list", "--status", "dead"]), ["No mail has this status."]);
    let id = of("refused@example.org").split("  ").next().unwrap();
    assert_eq!(mail(&home, &["retry", id]), ["1 mail will be retried."]);
    assert_eq!(mail(&home, &["retry", "--all"]), ["2 mails will be retried."]);
    let nobody = "0199a3f0-0000-7000-8000-000000000000";
    run(home.agora(&["mail", "retry", nobody]), "").expect_refusal(&[nobody]);
    assert_eq!(run(home.agora(&["mail", "retry"]), "").code, Some(2));
    let log = service.stop().stderr;
    assert!(log.contains("could not send a mail") && !log.contains("refused@example.org"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsent_mail_is_sent_once_the_server_is_available_again() {
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let variables = smtp.variables();
    let service = home.start_with(&variables.each_ref().map(|(name, value)| (*name, value.as_str())));
    service.api.register("alice").await.expect(201);
    smtp.stop();
    request_reset(&service.api, "alice").await;
    eventually("a failure is logged", async || service.log().contains("could not send a mail").then_some(())).await;
    block_in_place(|| smtp.start_again());
    let token = smtp.mail(0, "alice@example.org").await.token();
    let reset = json!({ "token": token, "newPassword": "another battery staple" });
    service.api.post_json("/api/auth/password/reset", &reset).await.expect(200);
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mail_is_lost_when_the_service_is_killed_between_request_and_delivery() {
    const ROUNDS: u64 = 8;
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let variables = smtp.variables();
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    for round in 0..ROUNDS {
        let service = home.start_with(&variables);
        let name = format!("user-{round}");
        service.api.register(&name).await.expect(201);
        request_reset(&service.api, &name).await;
        // Kills it before, during and after the delivery: the outbox is polled every second.
        tokio::time::sleep(Duration::from_millis(round * 1_200 / ROUNDS)).await;
        service.kill();
    }
    let service = home.start_with(&variables);
    for round in 0..ROUNDS {
        let address = format!("user-{round}@example.org");
        let came = eventually(&address, async || smtp.taken().into_iter().find(|mail| mail.to() == address)).await;
        // If a mail arrived twice, either one has a valid token, and both have the same message id.
        let reset = json!({ "token": came.token(), "newPassword": PASSWORD });
        service.api.post_json("/api/auth/password/reset", &reset).await.expect(200);
        let twice = smtp.taken().into_iter().filter(|mail| mail.to() == address);
        assert!(twice.into_iter().all(|mail| mail.header("message-id") == came.header("message-id")));
    }
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_in_flight_when_the_service_stops_is_not_sent_again() {
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let variables = smtp.variables();
    let service = home.start_with(&variables.each_ref().map(|(name, value)| (*name, value.as_str())));
    service.api.register("slow").await.expect(201);
    request_reset(&service.api, "slow").await;
    smtp.mail(0, "slow@example.org").await;
    service.stop();
    assert_eq!(mail(&home, &["list", "--status", "waiting"]), ["No mail has this status."]);
    assert!(mail(&home, &["list", "--status", "sent"])[0].contains("slow@example.org"));
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_mail_templates_are_used_and_invalid_ones_prevent_the_start() {
    let smtp = block_in_place(SmtpServer::start);
    let home = Home::new();
    let templates = home.path("texts");
    fs::create_dir(&templates).unwrap();
    let text = "Subject: Hallo {username}\n\nhttps://app.example.org/neu?code={token}\n{token}\n";
    fs::write(templates.join("password-reset.txt"), text).unwrap();
    let [url, sender] = smtp.variables();
    let path = templates.to_str().unwrap();
    let variables = [(url.0, url.1.as_str()), (sender.0, sender.1.as_str()), ("AGORA_MAIL_TEMPLATES", path)];
    let service = home.start_with(&variables);
    service.api.register("juergen").await.expect(201);
    request_reset(&service.api, "juergen").await;
    let taken = smtp.mail(0, "juergen@example.org").await;
    assert_eq!(taken.header("subject"), "Hallo juergen");
    let link = format!("https://app.example.org/neu?code={}", taken.token());
    assert!(taken.text().lines().any(|line| line == link), "{taken:?}");
    service.stop();
    fs::write(templates.join("password-reset.txt"), "Subject: Hallo\n\nohne Code\n").unwrap();
    let mut command = home.agora(&[]);
    command.envs(variables);
    run(command, "").expect_refusal(&["AGORA_MAIL_TEMPLATES", "password-reset.txt", "{token}"]);
    let (works, message) = doctor_mail(&home, &variables);
    assert!(!works && message.contains("{token}"), "{message}");
}
