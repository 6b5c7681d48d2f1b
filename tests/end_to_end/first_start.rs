//! The first start.

use std::fs;

use crate::client::{PASSWORD, list};
use crate::process::{AGORA, Home, run};

const OFFER: &str = "No account has ADMIN yet. To create one: ";

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_command_creates_the_first_administrator() {
    let home = Home::new();
    let mut service = home.start();
    let command = service.line(OFFER).replace("NAME", "root").replace("ADDRESS", "root@example.org");

    let mut shell = home.program("sh");
    shell.args(["-c", &command]).envs(home.backend.variables()).env("AGORA_BCRYPT_COST", "4");
    let made = run(shell, &format!("{PASSWORD}\n")).expect_success();
    assert!(made.stdout.contains("root") && !made.stdout.contains(PASSWORD), "{made:?}");

    let root = service.api.log_in("root").await;
    let users = service.api.get(&root, "/api/users/all").await.expect(200).data();
    assert_eq!(list(&users).len(), 1);
    service.stop();
    let next = home.start().stop();
    assert!(!next.stdout.contains("ADMIN"), "{}", next.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_win_over_variables() {
    let home = Home::new();
    let elsewhere = home.path("elsewhere");
    let flags = ["--listen", "localhost:0", "--data-dir", elsewhere.to_str().unwrap(), "serve"];
    let mut command = home.agora(&flags);
    command.env("AGORA_LISTEN", "none").env("AGORA_PUBLIC_URL", "https://agora.example.org/");
    let mut service = crate::process::Service::start(command);
    assert_eq!(service.line("Public address: "), "https://agora.example.org");
    assert!(elsewhere.join("jwt-secret").exists() && !home.data_dir().exists());
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_administrator_is_reported_with_the_database_it_is_in() {
    const MADE: &str = ", created just now: no service has used it yet";
    let home = Home::new();
    let file = home.path("of the service.db");
    let url = format!("sqlite:{}", file.display());
    let mut service = home.start_with(&[("AGORA_DATABASE_URL", &url)]);
    let command = service.line(OFFER).replace("NAME", "root").replace("ADDRESS", "root@example.org");
    assert_eq!(
        service.line("It needs the "),
        "AGORA_DATABASE_URL of this service; without it, it uses another database."
    );

    let call = |command: &str, url: &str| {
        let mut shell = home.program("sh");
        shell.args(["-c", command]).env("AGORA_DATABASE_URL", url).env("AGORA_BCRYPT_COST", "4");
        run(shell, &format!("{PASSWORD}\n")).expect_success().stdout
    };
    // Without the variable, the output shows that another database was created.
    let output = call(&command, "");
    assert!(
        output.ends_with(&format!("Database: sqlite://{}{MADE}\n", home.data_dir().join("agora.db").display())),
        "{output}"
    );
    // A second account goes into the existing database.
    assert!(!call(&command.replace("root", "second"), "").contains(MADE));
    let output = call(&command, &url);
    assert!(output.ends_with(&format!("Database: {url}\n")), "{output}");
    service.api.log_in("root").await;
    service.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_command_names_the_configuration_file() {
    let home = Home::new();
    let file = home.path("it's mine.toml");
    fs::write(&file, format!("data_dir = {:?}\n", home.path("kept"))).unwrap();
    let mut command = home.agora(&["--config", file.to_str().unwrap()]);
    command.env_remove("AGORA_DATA_DIR");
    let mut service = crate::process::Service::start(command);
    assert_eq!(service.line("Configuration: "), file.to_str().unwrap());
    let command = service.line(OFFER).replace("NAME", "root").replace("ADDRESS", "root@example.org");
    let mut shell = home.program("sh");
    shell.args(["-c", &command]).envs(home.backend.variables()).env("AGORA_BCRYPT_COST", "4").current_dir("/");
    run(shell, &format!("{PASSWORD}\n")).expect_success();
    service.api.log_in("root").await;
    service.stop();
}

#[test]
fn the_version_the_help_and_the_manual_need_no_data_directory() {
    let home = Home::new();
    let version = run(home.agora(&["--version"]), "").expect_success();
    // A release names its commit.
    assert!(version.stdout.starts_with(concat!("agora ", env!("CARGO_PKG_VERSION"))), "{version:?}");
    let help = run(home.agora(&["--help"]), "").expect_success();
    assert!(help.stdout.contains("--data-dir") && help.stdout.contains("AGORA_LOG"), "{}", help.stdout);
    let page = run(home.agora(&["man"]), "").expect_success();
    assert!(page.stdout.contains("AGORA_CLIENT_TIMEOUT") && page.stdout.contains("Exit codes"), "{}", page.stdout);
    let pages = home.path("man");
    fs::create_dir(&pages).unwrap();
    run(home.agora(&["man", "--to", pages.to_str().unwrap()]), "").expect_success();
    assert_eq!(fs::read_to_string(pages.join("agora.1")).unwrap().trim_end(), page.stdout.trim_end());
    assert!(pages.join("agora-admin-create.1").exists());
    for shell in ["bash", "zsh", "fish"] {
        let script = run(home.agora(&["completions", shell]), "").expect_success();
        assert!(script.stdout.contains("data-dir"), "{script:?}");
    }
    assert!(!home.data_dir().exists());
    assert!(fs::metadata(AGORA).unwrap().is_file());
}
