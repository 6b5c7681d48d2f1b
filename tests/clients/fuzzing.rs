//! Schemathesis generates valid and invalid requests from the OpenAPI document, and validates every response against it.
//! `schemathesis/schemathesis.toml` configures it.

use std::fs;

use super::repository;
use crate::client::{User, key, text};
use crate::picture::picture;
use crate::process::Home;
use crate::python::{WITHOUT_PYTHON, environment, succeed};

const USERNAME: &str = "root";
/// Not the example of the document: schemathesis could change the password with it.
const PASSWORD: &str = "fuzzing alone";

#[tokio::test]
async fn responses_to_generated_requests_match_the_openapi_document() {
    let settings = repository("tests/clients/schemathesis");
    let schemathesis = environment("schemathesis", &settings.join("requirements.txt")).join("schemathesis");
    let home = Home::new();
    let service = home.start_with(&[
        ("AGORA_ADMIN_USERNAME", USERNAME),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
        ("AGORA_TRUSTED_PROXIES", "127.0.0.1"),
    ]);
    let api = &service.api;
    let root = api.login(USERNAME, PASSWORD).await.expect(200).json();
    let root = User { id: String::new(), name: USERNAME.to_owned(), token: text(&root["token"]) };
    let [mut users, mut posts, mut images] = [Vec::new(), Vec::new(), Vec::new()];
    for name in ["ada", "bob"] {
        let user = api.user(name).await;
        for author in [&root, &user] {
            let post = api.post(author, "Hello, Agora!", Some(&picture())).await;
            api.send(api.commenting(author, &text(&post["id"]), "Welcome")).await.expect(201);
            posts.push(text(&post["id"]));
            images.push(key(&post["image"]));
        }
        users.push(user.id);
    }
    let keys = (0..500).map(|number| format!("key-{number}")).collect();
    for (kind, values) in [("users", &users), ("posts", &posts), ("images", &images), ("keys", &keys)] {
        let lines: String = values.iter().map(|value| format!("\"{value}\"\n")).collect();
        fs::write(home.path(&format!("{kind}.dict")), lines).unwrap();
    }
    fs::copy(settings.join("schemathesis.toml"), home.path("schemathesis.toml")).unwrap();

    let mut fuzzing = home.program(schemathesis.to_str().unwrap());
    fuzzing.arg("run").arg(repository("docs/openapi.json")).args(["--url", api.url()]);
    fuzzing
        .env("FUZZ_USERNAME", USERNAME)
        .env("FUZZ_PASSWORD", PASSWORD)
        .env("FUZZ_USER", &users[0])
        .env("NO_PROXY", "*");
    let report = succeed(&mut fuzzing, WITHOUT_PYTHON);
    assert!(report.contains("Tested: "), "{report}");
    // Otherwise all requests after some time were refused.
    api.login(USERNAME, PASSWORD).await.expect(200);
    service.stop();
}
