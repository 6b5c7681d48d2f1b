//! Settings that cannot be: the program says which, and does not start.

use std::{fs, net::TcpListener};

use crate::process::{Finished, Home, run};

fn start_with(home: &Home, name: &str, value: &str) -> Finished {
    let mut command = home.agora(&[]);
    command.env(name, value);
    run(command, "")
}

#[test]
fn a_bad_value_is_refused_by_the_name_of_its_variable() {
    let home = Home::new();
    for (name, value) in [
        ("AGORA_LISTEN", "none"),
        ("AGORA_LISTEN", "127.0.0.1"),
        ("AGORA_LISTEN", "127.0.0.1:99999"),
        ("AGORA_DATA_DIR", "/dev/null/data"),
        ("AGORA_DATABASE_URL", "agora.db"),
        ("AGORA_DATABASE_URL", "mysql://localhost/agora"),
        ("AGORA_DATABASE_URL", "sqlite:"),
        ("AGORA_DATABASE_URL", "sqlite:/dev/null/agora.db"),
        ("AGORA_MEDIA_URL", "media"),
        ("AGORA_MEDIA_URL", "ftp://localhost/media"),
        ("AGORA_MEDIA_URL", "file:///dev/null/media"),
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
    ] {
        let refused = start_with(&home, name, value).expect_refusal(&[name]);
        assert!(!refused.stderr.contains("much-too-short"), "{refused:?}");
        assert!(!refused.stdout.contains("listens"), "{refused:?}");
    }
}

#[test]
fn a_misspelled_variable_is_warned_of() {
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
    // Where the machine would be asked for its role, nobody listens.
    command.env("AGORA_MEDIA_URL", "s3://agora").env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    run(command, "").expect_refusal(&["AGORA_MEDIA_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);

    let mut command = home.agora(&[]);
    command.env_remove("AWS_ACCESS_KEY_ID").env("AWS_SECRET_ACCESS_KEY", "much too open");
    command.env("AGORA_MEDIA_URL", "s3://agora");
    let refused = run(command, "").expect_refusal(&["AGORA_MEDIA_URL", "AWS_ACCESS_KEY_ID", "together"]);
    assert!(!refused.stderr.contains("much too open"), "{refused:?}");
}
