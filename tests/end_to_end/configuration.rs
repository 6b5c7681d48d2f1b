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
fn what_is_no_database_is_named_and_left_alone() {
    let home = Home::new();
    let file = home.path("letter.txt");
    let letter = "Dear Sir or Madam, ".repeat(500);
    fs::write(&file, &letter).unwrap();
    let url = format!("sqlite://{}", file.display());
    start_with(&home, "AGORA_DATABASE_URL", &url).expect_refusal(&[file.to_str().unwrap(), "not a database"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), letter);

    let directory = home.path("directory");
    fs::create_dir(&directory).unwrap();
    let url = format!("sqlite:{}", directory.display());
    start_with(&home, "AGORA_DATABASE_URL", &url).expect_refusal(&[directory.to_str().unwrap(), "directory"]);
}

#[test]
fn a_damaged_secret_is_named() {
    let home = Home::new();
    home.start().stop();
    let file = home.data_dir().join("jwt-secret");
    fs::write(&file, "damaged").unwrap();
    run(home.agora(&[]), "").expect_refusal(&[file.file_name().unwrap().to_str().unwrap(), "damaged"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_and_images_may_be_elsewhere() {
    let home = Home::new();
    let (database, media) = (home.path("kept/agora.db"), home.path("pictures"));
    fs::create_dir(database.parent().unwrap()).unwrap();
    let service = home.start_with(&[
        ("AGORA_DATABASE_URL", &format!("sqlite:{}", database.display())),
        ("AGORA_MEDIA_URL", &format!("file://{}", media.display())),
    ]);
    let alice = service.api.user("alice").await;
    let post = service.api.post(&alice, "", Some(&crate::api::picture())).await;
    crate::api::expect_picture(&service.api.image(&post["image"]).await);
    service.stop();
    assert!(database.exists() && !home.data_dir().join("agora.db").exists());
    assert_eq!(fs::read_dir(&media).unwrap().count(), 1);
}
