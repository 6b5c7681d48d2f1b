//! The container image and the compose file.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::process::Command;

use serde_json::Value;
use url::Url;

use super::files::{lines, read, repository, yaml};
use crate::process::{AGORA, mode};

/// Returns the instructions of the Dockerfile, each on one line.
fn instructions() -> Vec<String> {
    lines("deploy/docker/Dockerfile").join("\n").replace("\\\n", "").lines().map(str::to_owned).collect()
}

/// Checks that an image has a tag other than `latest`.
#[track_caller]
fn expect_tag(image: &str) {
    let name = image.rsplit('/').next().unwrap();
    let (_, tag) = name.split_once(':').unwrap_or_else(|| panic!("{image} has no tag"));
    assert_ne!(tag, "latest", "{image}");
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_runs_as_an_unprivileged_user() {
    let instructions = instructions();
    let images: Vec<_> = instructions.iter().filter_map(|line| line.strip_prefix("FROM ")).collect();
    assert_eq!(images.len(), 2);
    for image in &images {
        expect_tag(image.split(' ').next().unwrap());
    }
    let toolchain = read("rust-toolchain.toml");
    let version = toolchain.split('"').nth(1).unwrap();
    assert!(images[0].starts_with(&format!("rust:{version}-")), "{}", images[0]);
    assert!(instructions.contains(&format!("ENV RUSTUP_TOOLCHAIN={version}")));
    // `scripts/release` searches the program for the path of its sources, which nothing else in it may contain.
    let sources = instructions.iter().find_map(|line| line.strip_prefix("WORKDIR ")).unwrap();
    let found = Command::new("grep").args(["--fixed-strings", "--quiet", &format!("{sources}/")]).arg(AGORA).status();
    assert_eq!(found.unwrap().code(), Some(1), "every program contains {sources}/");

    // Both stages have the C library of the same Debian release.
    assert!(images[0].contains("-bookworm ") && images[1].contains("-debian12:"), "{images:?}");

    // The argument with the commit is after the copy of the sources and before the build, so that it invalidates only the latter.
    let argument = instructions.iter().position(|line| line == "ARG AGORA_COMMIT=\"\"").unwrap();
    assert!(instructions[argument - 1].starts_with("COPY ") && instructions[argument + 1].starts_with("RUN "));
    assert_eq!(compose()["services"]["agora"]["build"]["args"]["AGORA_COMMIT"], "${AGORA_COMMIT:-}");

    let last = instructions.iter().rposition(|line| line.starts_with("FROM ")).unwrap();
    let stage = &instructions[last..];
    assert!(stage.contains(&"USER 65532:65532".to_owned()));
    assert!(stage.contains(&r#"ENTRYPOINT ["/usr/local/bin/agora"]"#.to_owned()));
    assert!(stage.iter().any(|line| line.ends_with(r#"CMD ["/usr/local/bin/agora", "health"]"#)));
    assert!(stage.iter().all(|line| !line.starts_with("RUN ")), "the image has no shell");
    let data = stage.iter().find(|line| line.starts_with("COPY --from=build --chown=65532:65532 "));
    assert!(data.unwrap().ends_with(" /data") && stage.contains(&"VOLUME /data".to_owned()));
}

#[test]
fn dockerignore_excludes_nothing_that_the_build_needs() {
    let ignored = lines(".dockerignore");
    for path in [
        ".cargo/config.toml",
        "Cargo.lock",
        "Cargo.toml",
        "crates/server/src/main.rs",
        "docs/openapi.json",
        "migrations/sqlite",
        "rust-toolchain.toml",
        "scripts/release",
        "tests/deploy/mod.rs",
        "web/dist/app",
    ] {
        assert!(repository(path).exists(), "{path}");
        let matches = |pattern: &String| path == pattern || path.starts_with(&format!("{pattern}/"));
        assert!(!ignored.iter().any(matches), "{path} is ignored");
    }
    for path in [".git", "data", "target"] {
        assert!(ignored.contains(&path.to_owned()), "{path} is not ignored");
    }
    assert!(ignored.iter().all(|pattern| !pattern.starts_with("**") && !pattern.starts_with('!')));
}

fn compose() -> Value {
    yaml("deploy/compose/compose.yaml").remove(0)
}

fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(entries) => entries.iter().map(|entry| entry.as_str().unwrap()).collect(),
        Value::Object(entries) => entries.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn compose_services_have_health_checks_persistent_volumes_and_restricted_privileges() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    assert_eq!(services.keys().collect::<Vec<_>>(), ["agora", "postgres", "s3"]);
    for (name, service) in services {
        expect_tag(service["image"].as_str().unwrap());
        assert!(service["healthcheck"]["test"][0] == "CMD", "{name} has no health check");
        assert!(service["restart"] == "unless-stopped" && service["stop_grace_period"].is_string(), "{name}");
        assert_eq!(names(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        for other in names(&service["depends_on"]) {
            assert_eq!(service["depends_on"][other]["condition"], "service_healthy");
            assert!(services[other]["healthcheck"].is_object());
        }
        for volume in names(&service["volumes"]) {
            assert!(
                names(&compose["volumes"]).contains(&volume.split(':').next().unwrap()),
                "the volume {volume} is not declared"
            );
        }
        for (kind, used) in [("networks", names(&service["networks"])), ("secrets", names(&service["secrets"]))] {
            assert!(used.iter().all(|it| names(&compose[kind]).contains(it)), "{name}: {kind}");
        }
        for port in names(&service["ports"]) {
            assert!(port.starts_with("127.0.0.1:"), "{port} is not limited to the loopback address");
        }
        let environment = service["environment"].as_object().unwrap();
        for (variable, value) in environment.iter().filter(|(variable, _)| variable.ends_with("_FILE")) {
            let secret = value.as_str().unwrap().strip_prefix("/run/secrets/").unwrap();
            assert!(names(&service["secrets"]).contains(&secret), "{variable} of {name}");
        }
    }
    let agora = &services["agora"];
    assert!(agora["read_only"] == true && names(&agora["cap_drop"]) == ["ALL"]);
    assert!(names(&agora["tmpfs"])[0].starts_with("/tmp:size="), "commands need a directory for temporary files");
    assert_eq!(names(&services["postgres"]["networks"]), ["backend"]);
    assert_eq!(compose["networks"]["backend"]["internal"], true);
}

#[test]
fn compose_services_have_each_others_addresses() {
    let compose = compose();
    let services = &compose["services"];
    let (agora, s3) = (&services["agora"]["environment"], &services["s3"]);
    let endpoint = Url::parse(agora["AWS_ENDPOINT_URL"].as_str().unwrap()).unwrap();
    assert_eq!(endpoint.host_str(), Some("s3"));
    assert_eq!(s3["environment"]["VGW_PORT"], format!(":{}", endpoint.port().unwrap()));
    assert_eq!(s3["environment"]["VGW_REGION"], agora["AWS_REGION"]);
    assert!([s3, &services["agora"]].iter().all(|service| service["env_file"] == "secrets/s3.env"));
    let bucket = Url::parse(agora["AGORA_MEDIA_URL"].as_str().unwrap()).unwrap();
    let script = s3["entrypoint"][2].as_str().unwrap();
    assert!(script.contains(&format!("mkdir -p /srv/s3/{}\n", bucket.host_str().unwrap())), "{script}");
    let network = &compose["networks"]["frontend"]["ipam"]["config"][0];
    assert_eq!(network["gateway"], agora["AGORA_TRUSTED_PROXIES"]);
    agora["AGORA_TRUSTED_PROXIES"].as_str().unwrap().parse::<IpAddr>().unwrap();
}

#[test]
fn make_secrets_generates_secrets_once_and_they_match_the_compose_file() {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("make-secrets");
    fs::copy(repository("deploy/compose/make-secrets"), &script).unwrap();
    let generate = || {
        assert!(Command::new(&script).status().unwrap().success());
        let secrets = home.path().join("secrets");
        assert_eq!(mode(&secrets), 0o700);
        let files = fs::read_dir(secrets).unwrap().map(Result::unwrap);
        let read =
            |file: fs::DirEntry| (file.file_name().into_string().unwrap(), fs::read_to_string(file.path()).unwrap());
        files.map(read).collect::<BTreeMap<_, _>>()
    };
    let generated = generate();
    assert_eq!(generate(), generated, "existing secrets are kept");

    let compose = compose();
    for (name, secret) in compose["secrets"].as_object().unwrap() {
        assert_eq!(secret["file"], format!("secrets/{name}"));
        assert!(generated.contains_key(name), "{name} is not generated");
    }
    assert!(generated["jwt-secret"].trim().len() == 64 && generated["jwt-secret"] != generated["postgres-password"]);
    let database = Url::parse(generated["database-url"].trim()).unwrap();
    let postgres = &compose["services"]["postgres"]["environment"];
    assert_eq!(database.host_str(), Some("postgres"));
    assert_eq!(postgres["POSTGRES_USER"], database.username());
    assert_eq!(postgres["POSTGRES_DB"], database.path()[1..]);
    assert_eq!(database.password(), Some(generated["postgres-password"].trim()));
    let credentials: Vec<_> = generated["s3.env"].lines().map(|line| line.split_once('=').unwrap()).collect();
    assert_eq!([credentials[0].0, credentials[1].0], ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    assert!(credentials.iter().all(|(_, value)| !value.is_empty()));
}
