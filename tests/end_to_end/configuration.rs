//! The configuration of the real binary: invalid settings are named and prevent the start; valid ones are shown.

use std::net::TcpListener;
use std::{fs, io};

use serde_json::json;

use crate::client::{PASSWORD, list};
use crate::process::{Finished, Home, run};

fn start_with(home: &Home, name: &str, value: &str) -> Finished {
    let mut command = home.agora(&[]);
    command.env(name, value);
    run(command, "")
}

#[test]
fn the_message_about_a_bad_value_names_its_variable() {
    let home = Home::new();
    for (name, value) in [
        ("AGORA_LISTEN", "none"),
        ("AGORA_LISTEN", "127.0.0.1"),
        ("AGORA_LISTEN", "127.0.0.1:99999"),
        ("AGORA_DATABASE_URL", "agora.db"),
        ("AGORA_DATABASE_URL", "mysql://localhost/agora"),
        ("AGORA_DATABASE_URL", "sqlite:"),
        ("AGORA_MEDIA_URL", "media"),
        ("AGORA_MEDIA_URL", "ftp://localhost/media"),
        ("AGORA_MEDIA_URL", "s3://"),
        ("AGORA_MEDIA_URL", "s3://agora?region=eu-central-1"),
        ("AGORA_MEDIA_PUBLIC_URL", "cdn.example.org"),
        ("AGORA_MEDIA_PUBLIC_URL", "s3://agora/images"),
        ("AGORA_PUBLIC_URL", "agora.example.org"),
        ("AGORA_PUBLIC_URL", "ftp://agora.example.org"),
        ("AGORA_JWT_SECRET", "much-too-short"),
        ("AGORA_TOKEN_LIFETIME", "0"),
        ("AGORA_TOKEN_LIFETIME", "soon"),
        ("AGORA_TOKEN_LIFETIME", "31d"),
        ("AGORA_BCRYPT_COST", "3"),
        ("AGORA_BCRYPT_COST", "21"),
        ("AGORA_MAX_IMAGE_BYTES", "5 MB"),
        ("AGORA_MAX_IMAGE_PIXELS", "0"),
        ("AGORA_WORKERS", "-1"),
        ("AGORA_LOG", "agora=loud"),
        ("AGORA_LOG_FORMAT", "xml"),
        ("AGORA_CONFIG", "no-such-file.toml"),
        ("AGORA_JWT_SECRET_FILE", "no-such-file"),
    ] {
        let expected = if name == "AGORA_CONFIG" { value } else { name };
        let refused = start_with(&home, name, value).expect_misuse(&[expected]);
        assert!(!refused.stderr.contains("much-too-short"), "{refused:?}");
        assert!(!refused.stdout.contains("listens") && !home.data_dir().exists(), "{refused:?}");
    }
}

#[test]
fn an_invalid_command_line_has_exit_code_2() {
    let home = Home::new();
    let bogus = ["copy", "--from", "bogus://a", "--to", "sqlite:b.db"];
    for (arguments, words) in [
        (&["copy"][..], "nothing to copy"),
        (&["copy", "--from", "sqlite:a.db"], "must be given together"),
        (&["copy", "--from", "sqlite:a.db", "--to", "sqlite:a.db"], "the same database"),
        (&bogus, "--from: the database URL must look like"),
        (&["copy", "--media-from", "bogus://a", "--media-to", "memory:"], "--media-from: "),
        (&["products", "import", "catalog.txt"], "--format"),
        (&["products", "export", "catalog"], "--format"),
        (&["health", "notaurl"], "notaurl: invalid URL"),
        (&["health", "https://127.0.0.1"], "only http"),
    ] {
        run(home.agora(arguments), "").expect_misuse(&[words]);
    }
    for name in ["AGORA_COPY_FROM", "AGORA_COPY_TO"] {
        let mut check = home.agora(&["config", "check"]);
        check.env(name, "bogus://a");
        run(check, "").expect_refusal(&[name]);
    }
    assert!(!home.data_dir().exists());
}

#[test]
fn a_closed_pipe_is_no_error_for_texts_but_is_one_for_an_export() {
    let home = Home::new();
    for arguments in [&["man"][..], &["completions", "bash"], &["config", "show"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let printed = home.agora(arguments).stdout(writer).output().unwrap();
        assert!(printed.status.success() && printed.stderr.is_empty(), "{arguments:?}: {printed:?}");
    }
    run(home.agora(&["migrate", "run"]), "").expect_success();
    let product = r#"{"sku":"A","name":"A","price":1,"category":"C","stock":1}"#;
    run(home.agora(&["products", "import", "-", "--format", "jsonl"]), product).expect_success();
    // An incomplete export is an error.
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let exported = home.agora(&["products", "export"]).stdout(writer).output().unwrap();
    assert_eq!(exported.status.code(), Some(1), "{exported:?}");
}

#[test]
fn the_message_about_what_cannot_be_opened_names_its_variable() {
    let home = Home::new();
    for (name, value) in [
        ("AGORA_DATA_DIR", "/dev/null/data"),
        ("AGORA_DATABASE_URL", "sqlite:/dev/null/agora.db"),
        ("AGORA_MEDIA_URL", "file:///dev/null/media"),
    ] {
        let refused = start_with(&home, name, value).expect_refusal(&[name]);
        assert!(!refused.stdout.contains("listens"), "{refused:?}");
    }
}

#[test]
fn a_misspelled_variable_causes_a_warning() {
    let home = Home::new();
    let mut command = home.agora(&["admin", "grant", "nobody"]);
    command.env("AGORA_TOKEN_LIFETIMES", "1h");
    assert!(run(command, "").stderr.contains("AGORA_TOKEN_LIFETIMES"));
}

#[test]
fn an_address_in_use_is_named() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    start_with(&home, "AGORA_LISTEN", &address).expect_refusal(&["AGORA_LISTEN", &address, "in use"]);
}

#[test]
fn a_file_in_the_place_of_the_data_directory_is_named() {
    let home = Home::new();
    fs::create_dir_all(home.data_dir().parent().unwrap()).unwrap();
    fs::write(home.data_dir(), "mine").unwrap();
    run(home.agora(&[]), "").expect_refusal(&["AGORA_DATA_DIR", home.data_dir().to_str().unwrap()]);
    assert_eq!(fs::read_to_string(home.data_dir()).unwrap(), "mine");
}

#[test]
fn a_damaged_secret_is_named() {
    let home = Home::new();
    home.start().stop();
    let file = home.data_dir().join("jwt-secret");
    fs::write(&file, "damaged").unwrap();
    run(home.agora(&[]), "").expect_refusal(&[file.file_name().unwrap().to_str().unwrap(), "damaged"]);
}

#[test]
fn a_bucket_without_credentials_is_refused_with_the_variables_to_set() {
    let home = Home::new();
    let mut command = home.agora(&[]);
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    // No server listens at the metadata endpoint, which would be queried for credentials.
    command.env("AGORA_MEDIA_URL", "s3://agora").env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    run(command, "").expect_refusal(&["AGORA_MEDIA_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);

    let mut command = home.agora(&[]);
    command.env_remove("AWS_ACCESS_KEY_ID").env("AWS_SECRET_ACCESS_KEY", "much too open");
    command.env("AGORA_MEDIA_URL", "s3://agora");
    let refused = run(command, "").expect_refusal(&["AGORA_MEDIA_URL", "AWS_ACCESS_KEY_ID", "together"]);
    assert!(!refused.stderr.contains("much too open"), "{refused:?}");
}

/// Writes the configuration file in the working directory, the only one that is read by default.
fn write(home: &Home, text: &str) {
    fs::write(home.path("agora.toml"), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_the_working_directory_sets_what_variables_and_flags_do_not() {
    let home = Home::new();
    write(&home, "listen = '127.0.0.1:80'\npublic_url = 'https://agora.example.org/'\ntoken_lifetime = 'never'\n");
    let mut command = home.agora(&["--listen", "localhost:0"]);
    command.env("AGORA_LISTEN", "none").env("AGORA_TOKEN_LIFETIME", "2h");
    let mut service = crate::process::Service::start(command);
    assert_eq!(service.line("Public address: "), "https://agora.example.org");
    assert!(service.line("Configuration: ").ends_with("/agora.toml"));
    let alice = service.api.user("alice").await;
    assert!(!alice.token.is_empty());
    service.stop();
}

#[test]
fn all_errors_in_the_file_are_reported_at_once_with_their_lines() {
    let home = Home::new();
    write(&home, "# mine\nlisten_adress = 'a'\nworkers = 0\njwt_secret = 'too-short'\n\nbcrypt_costs = 4\n");
    for arguments in [&[][..], &["admin", "grant", "nobody"], &["config", "show"]] {
        let refused = run(home.agora(arguments), "").expect_misuse(&[
            "agora: agora.toml:3: workers must be",
            "agora: agora.toml:4: jwt_secret must be",
            "agora: agora.toml:6: there is no setting bcrypt_costs: did you mean bcrypt_cost?",
        ]);
        assert!(!refused.stderr.contains("too-short"), "{refused:?}");
    }
    let checked = run(home.agora(&["config", "check"]), "").expect_refusal(&["agora.toml:3", "agora.toml:6"]);
    assert!(!checked.stderr.contains("too-short"), "{checked:?}");
    assert!(!home.data_dir().exists());
}

#[test]
fn the_configuration_can_be_checked_and_shown_and_the_output_can_be_read_again() {
    let home = Home::new();
    fs::write(home.path("jwt"), "0123456789abcdef0123456789abcdef\n").unwrap();
    write(&home, "jwt_secret_file = 'jwt'\ntoken_lifetime = 7200\n");
    let mut check = home.agora(&["config", "check"]);
    check.env("AGORA_TOKEN_LIFETIMES", "1h");
    let checked = run(check, "").expect_success();
    assert!(checked.stdout.contains("The configuration is valid: 2 settings from /"), "{checked:?}");
    assert!(checked.stderr.contains("AGORA_TOKEN_LIFETIMES"), "{checked:?}");

    let mut show = home.agora(&["--log", "warn", "config", "show"]);
    show.env("AGORA_DATABASE_URL", "postgres://agora:hunter2@localhost/agora");
    let shown = run(show, "").expect_success().stdout;
    for line in [
        "jwt_secret_file = \"jwt\"  # agora.toml:1",
        "token_lifetime = 7200  # agora.toml:2",
        "bcrypt_cost = 4  # AGORA_BCRYPT_COST",
        "log = \"warn\"  # --log",
        "client_timeout = \"30s\"  # default",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line} is missing: {shown}");
    }
    assert!(!shown.contains("hunter2") && !shown.contains("0123456789abcdef"), "{shown}");
    write(&home, &shown);
    run(home.agora(&["config", "check"]), "").expect_success();
    assert!(!home.data_dir().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_can_be_lines_of_json() {
    let home = Home::new();
    let service = home.start_with(&[("AGORA_LOG_FORMAT", "json"), ("AGORA_LOG", "debug")]);
    service.api.user("alice").await;
    let log = service.stop().stderr;
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["route"] == "/api/auth/login" && line["level"] == "DEBUG"), "{log}");
    assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["target"].is_string()), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_are_shown_the_settings_in_effect_without_secrets() {
    let home = Home::new();
    let secret = "0123456789abcdef0123456789abcdef";
    fs::write(home.path("agora.toml"), format!("jwt_accepted_secret = '{secret}'\nmail_from = 'a@example.org'\n"))
        .unwrap();
    let service = home.start_with(&[
        ("AGORA_SMTP_URL", "smtp://agora:hunter2@127.0.0.1:9?tls=none"),
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", PASSWORD),
    ]);
    let root = service.api.log_in("root").await;
    let answer = service.api.get(&root, "/api/admin/configuration").await.expect(200);
    let text = String::from_utf8(answer.body.clone()).unwrap();
    assert!(![secret, "hunter2", PASSWORD].iter().any(|secret| text.contains(secret)), "{text}");
    let settings = answer.data();
    let of = |key: &str| {
        let setting = list(&settings).iter().find(|setting| setting["key"] == key).unwrap();
        ["value", "isSecret", "isSet", "source"].map(|name| setting[name].clone())
    };
    let file = json!("agora.toml:1");
    assert_eq!(of("jwt_accepted_secret"), [json!(null), json!(true), json!(true), file]);
    assert_eq!(of("admin_password"), [json!(null), json!(true), json!(true), json!("AGORA_ADMIN_PASSWORD")]);
    assert_eq!(of("smtp_url"), [json!("smtp://agora@127.0.0.1:9"), json!(true), json!(true), json!("AGORA_SMTP_URL")]);
    assert_eq!(of("bcrypt_cost"), [json!("4"), json!(false), json!(true), json!("AGORA_BCRYPT_COST")]);
    assert_eq!(of("media_public_url"), [json!(null), json!(false), json!(false), json!("default")]);
    service.stop();
}
