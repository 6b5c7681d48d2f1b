//! Tests of reading files, variables and flags, and of the messages about them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agora_database::Options;

use super::setting::find;
use super::*;

fn config(variables: &[(&str, &str)]) -> Result<Config, Invalid> {
    Config::from_variables(|name| {
        variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn without_variables_the_defaults_hold() {
    let config = config(&[("AGORA_LISTEN", ""), ("AGORA_PUBLIC_URL", " ")]).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8080");
    assert_eq!(config.data_dir, PathBuf::from("./data"));
    assert_eq!((config.bcrypt_cost, config.max_image_bytes), (12, 5 * 1024 * 1024));
    assert_eq!(config.token_lifetime, Duration::from_secs(3600));
    assert_eq!((config.database(), config.sweep_interval), (Options::default(), Duration::from_secs(3600)));
    assert_eq!((config.max_connections, config.max_requests), (None, 2048));
    assert_eq!(config.client_timeout, Duration::from_secs(30));
    assert!(config.public_url.is_none() && config.jwt_secret.is_none() && config.admin().is_none());
}

#[test]
fn the_message_about_a_bad_value_names_its_variable() {
    for (name, value) in [
        ("AGORA_PUBLIC_URL", "agora.example.org"),
        ("AGORA_PUBLIC_URL", "ftp://agora.example.org"),
        ("AGORA_PUBLIC_URL", "https://agora.example.org/?a=b"),
        ("AGORA_MEDIA_PUBLIC_URL", "cdn.example.org"),
        ("AGORA_MEDIA_PUBLIC_URL", "s3://agora"),
        ("AGORA_JWT_SECRET", "too-short"),
        ("AGORA_JWT_ACCEPTED_SECRET", "too-short"),
        ("AGORA_TOKEN_LIFETIME", "0"),
        ("AGORA_TOKEN_LIFETIME", "1w"),
        ("AGORA_TOKEN_LIFETIME", "-5"),
        ("AGORA_TOKEN_LIFETIME", "31d"),
        ("AGORA_TOKEN_LIFETIME", "99999999999999999999d"),
        ("AGORA_DATABASE_CONNECTIONS", "0"),
        ("AGORA_DATABASE_CONNECT_TIMEOUT", "29s"),
        ("AGORA_DATABASE_STATEMENT_TIMEOUT", "0"),
        ("AGORA_DATABASE_STATEMENT_TIMEOUT", "24s"),
        ("AGORA_DATABASE_WAIT_TIMEOUT", "9s"),
        ("AGORA_SWEEP_INTERVAL", "never"),
        ("AGORA_SLOW_QUERY", "0ms"),
        ("AGORA_SLOW_QUERY", "soon"),
        ("AGORA_METRICS_LISTEN", "9464"),
        ("AGORA_CORS_ORIGINS", "app.example.org"),
        ("AGORA_TRUSTED_PROXIES", "proxy.example.org"),
        ("AGORA_REQUESTS_PER_ADDRESS", "0"),
        ("AGORA_REQUESTS_PER_ACCOUNT", "many"),
        ("AGORA_BCRYPT_COST", "3"),
        ("AGORA_BCRYPT_COST", "21"),
        ("AGORA_BCRYPT_COST", "twelve"),
        ("AGORA_MAX_IMAGE_BYTES", "0"),
        ("AGORA_MAX_CONNECTIONS", "0"),
        ("AGORA_MAX_CONNECTIONS", "many"),
        ("AGORA_MAX_REQUESTS", "0"),
        ("AGORA_UPLOAD_MEMORY", "1024"),
        ("AGORA_ANSWER_MEMORY", "1048575"),
        ("AGORA_DECODE_MEMORY", "64MiB"),
        ("AGORA_CLIENT_TIMEOUT", "0"),
        ("AGORA_CLIENT_TIMEOUT", "11m"),
        ("AGORA_WORKERS", "0"),
        ("AGORA_ADMIN_PASSWORD", "correct horse"),
        ("AGORA_ADMIN_USERNAME", "root"),
    ] {
        let error = format!("{:#}", config(&[(name, value)]).unwrap_err());
        assert!(error.contains(name), "{name}={value}: {error}");
        assert!(!error.contains("too-short"), "a secret in a message");
    }
}

#[test]
fn a_public_url_is_normalized() {
    for (given, kept) in [
        (" https://agora.example.org/ ", "https://agora.example.org"),
        ("https://agora.\texample.org/\nbase", "https://agora.example.org/base"),
        ("https://Agora.example.org:443/a b/", "https://agora.example.org/a%20b"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
    ] {
        let config = config(&[("AGORA_PUBLIC_URL", given)]).unwrap();
        assert_eq!(config.public_url.as_deref(), Some(kept), "{given:?}");
    }
}

#[test]
fn times_are_seconds_or_have_a_unit() {
    for (text, seconds) in [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("30d", 2_592_000)] {
        let config = config(&[("AGORA_TOKEN_LIFETIME", text)]).unwrap();
        assert_eq!(config.token_lifetime, Duration::from_secs(seconds), "{text}");
    }
}

#[test]
fn secrets_are_not_shown() {
    let secret = "0123456789abcdef0123456789abcdef";
    let config = config(&[
        ("AGORA_JWT_SECRET", secret),
        ("AGORA_JWT_ACCEPTED_SECRET", &secret.to_uppercase()),
        ("AGORA_DATABASE_URL", "postgres://agora:hunter2@db.example.org/agora"),
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD", "correct horse"),
    ]);
    let shown = format!("{:?}", config.unwrap());
    assert!(
        !shown.to_lowercase().contains(secret) && !shown.contains("hunter2") && !shown.contains("correct horse"),
        "{shown}"
    );
}

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// Reads a configuration from the text of a file, variables and flags. The content of a secret's file is its path.
fn load(file: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Loaded {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let flag = |(flag, value): &(&'static str, &str)| {
        let setting = ALL.iter().find(|setting| setting.flag.is_some_and(|(name, _)| name == *flag)).unwrap();
        (*setting, (*value).to_owned())
    };
    let mut values = Values::new(|path| match path.to_str() {
        Some("missing") => Err(io::ErrorKind::NotFound.into()),
        Some("empty") => Ok("\n".to_owned()),
        Some("blanks") => Ok(" sqlite:agora.db \n".to_owned()),
        _ => Ok(format!("{}\r\n", path.display())),
    });
    values.take_file(Path::new("agora.toml"), file);
    values.take_variables(variables.iter().map(owned));
    values.take_flags(&Flags(flags.iter().map(flag).collect()));
    Loaded::new(values, Purpose::Service)
}

fn problems(file: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let loaded = load(file, variables, &[]);
    assert_eq!(loaded.config().is_err(), !loaded.values.problems.is_empty());
    loaded.values.problems.into_iter().map(|problem| problem.text).collect()
}

#[test]
fn misspelled_variables_are_found() {
    let loaded =
        load("", &[("AGORA_LISTENN", ":80"), ("AGORA_LOG", "warn"), ("AGORA_ZEPPELIN", "1"), ("PATH", "/bin")], &[]);
    assert_eq!(
        loaded.values.warnings,
        [
            "AGORA_LISTENN is set, but there is no such setting: did you mean AGORA_LISTEN?",
            "AGORA_ZEPPELIN is set, but there is no such setting"
        ]
    );
    assert!(loaded.values.problems.is_empty());
}

#[test]
fn flags_win_over_variables_and_these_over_the_file() {
    let file = "listen = '127.0.0.1:1'\nworkers = 2\nbcrypt_cost = 5\n";
    let variables = [("AGORA_LISTEN", "127.0.0.1:2"), ("AGORA_WORKERS", "3"), ("AGORA_BCRYPT_COST", " ")];
    let config = load(file, &variables, &[("--listen", "127.0.0.1:3")]).config().cloned().unwrap();
    assert_eq!((config.listen.as_str(), config.workers, config.bcrypt_cost), ("127.0.0.1:3", 3, 5));
}

#[test]
fn numbers_times_and_lists_in_the_file_may_be_toml_values_or_strings() {
    let one = "workers = 4\ntoken_lifetime = 90\nmax_image_bytes = 0x10_0000\ntrusted_proxies = ['10.0.0.0/8', '::1']";
    let other =
        "workers = '4'\ntoken_lifetime = '90s'\nmax_image_bytes = '1048576'\ntrusted_proxies = '10.0.0.0/8, ::1'";
    let [one, other] = [one, other].map(|file| load(file, &[], &[]).config().cloned().unwrap());
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    assert_eq!((one.workers, one.token_lifetime.as_secs(), one.max_image_bytes), (4, 90, 1 << 20));
}

#[test]
fn the_message_about_an_error_in_the_file_names_its_line() {
    for (file, problem) in [
        ("listen", "agora.toml:1: invalid TOML: "),
        ("\nworkers = 1\nworkers = 2", "agora.toml:3: invalid TOML: duplicate key"),
        ("\n\ndatabse_url = 'sqlite:a'", "agora.toml:3: there is no setting databse_url: did you mean database_url?"),
        (
            "[database]\nurl = 'sqlite:a'",
            "agora.toml:2: there is no setting database.url: did you mean database_url, outside of any table?",
        ),
        ("[empty]", "agora.toml:1: there is no setting empty"),
        ("colour = 'red'", "agora.toml:1: there is no setting colour"),
        ("config = 'other.toml'", "agora.toml:1: config cannot be set in a file: set AGORA_CONFIG"),
        ("workers = true", "agora.toml:1: workers must be a whole number"),
        ("workers = 1.5", "agora.toml:1: workers must be a whole number"),
        ("workers = -1", "agora.toml:1: workers must be a number from 1 to 1024"),
        ("workers = [4]", "agora.toml:1: workers must be a whole number"),
        ("listen = 8080", "agora.toml:1: listen must be a string in quotes"),
        ("cors_origins = [1]", "agora.toml:1: cors_origins must be an array of strings"),
        ("#\nlisten = 'none'", "agora.toml:2: listen must be an address and a port such as 127.0.0.1:8080"),
        (
            "token_lifetime = 1979-05-27",
            "agora.toml:1: token_lifetime must be a number of seconds, or a time in quotes",
        ),
        ("client_timeout = '11m'", "agora.toml:1: client_timeout must be a time from 1 second to 10 minutes: "),
        ("token_lifetime = '31d'", "agora.toml:1: token_lifetime must be a time from 1 second to 30 days: "),
        ("log_format = 'xml'", "agora.toml:1: log_format must be text or json"),
        ("log = 'agora=loud'", "agora.toml:1: log must be a filter such as warn or agora_http=debug"),
        ("log = 'warning'", "agora.toml:1: log must be a filter such as warn or agora_http=debug"),
        ("log = 'info;agora_http=debug'", "agora.toml:1: log must be a filter such as warn or agora_http=debug"),
        ("database_url = 'agora.db'", "agora.toml:1: database_url: the database URL must look like sqlite:"),
        ("database_url = 'postgres://a:hunter2@b:c/d'", "agora.toml:1: database_url: "),
        ("media_url = 'media'", "agora.toml:1: media_url: the image store must be"),
    ] {
        let problems = problems(file, &[]);
        assert_eq!(problems.len(), 1, "{file:?}: {problems:?}");
        assert!(problems[0].starts_with(problem), "{file:?}: {problems:?}");
        assert!(!problems[0].contains("hunter2"), "{problems:?}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let problems = problems("workers = 0\ncolour = 'red'\nlisten = 1", &[("AGORA_BCRYPT_COST", "3")]);
    assert_eq!(problems.len(), 4, "{problems:?}");
    for beginning in ["agora.toml:1: ", "agora.toml:2: ", "agora.toml:3: ", "AGORA_BCRYPT_COST must be"] {
        assert!(problems.iter().any(|problem| problem.starts_with(beginning)), "{problems:?}");
    }
}

#[test]
fn the_message_about_contradicting_settings_names_all_of_them() {
    let both = problems("database_statement_timeout = '24s'", &[]);
    assert_eq!(
        both,
        [
            "AGORA_DATABASE_WAIT_TIMEOUT (by default 5s) and agora.toml:1: database_statement_timeout must be at most 28s \
          together"
        ]
    );
    let nowhere = problems("media_url = 'memory:'", &[("AGORA_MEDIA_PUBLIC_URL", "https://cdn.example.org")]);
    assert_eq!(
        nowhere,
        ["agora.toml:1: media_url and AGORA_MEDIA_PUBLIC_URL: only the service itself can serve images in memory"]
    );
    let replica = problems("database_read_url = 'postgres://agora@db/agora'", &[]);
    assert_eq!(
        replica,
        ["agora.toml:1: database_read_url and AGORA_DATABASE_URL: only a PostgreSQL server has replicas"]
    );
    let flavor = [("AGORA_DATABASE_URL", "postgres://agora@db/agora"), ("AGORA_DATABASE_FLAVOR", "distributed")];
    assert_eq!(
        problems("database_read_url = 'postgres://agora@db/agora'", &flavor),
        ["agora.toml:1: database_read_url and AGORA_DATABASE_FLAVOR: a distributed engine has no replicas to \
          read from"]
    );
    let addresses = problems("listen = '127.0.0.1:9464'", &[("AGORA_METRICS_LISTEN", "127.0.0.1:9464 ")]);
    assert_eq!(addresses, ["agora.toml:1: listen and AGORA_METRICS_LISTEN must be two addresses"]);
    assert_eq!(problems("listen = '[::]:0'", &[("AGORA_METRICS_LISTEN", "[::]:0")]), [""; 0]);
    let secrets = problems("", &[("AGORA_JWT_SECRET", SECRET), ("AGORA_JWT_ACCEPTED_SECRET_FILE", SECRET)]);
    assert_eq!(
        secrets,
        ["AGORA_JWT_SECRET and AGORA_JWT_ACCEPTED_SECRET_FILE must be two secrets: the new one and the old one"]
    );
    let mail = problems("", &[("AGORA_SMTP_URL", "smtp://mail.example.org")]);
    assert_eq!(mail, ["AGORA_SMTP_URL and AGORA_MAIL_FROM must be set together"]);
    let wrong = problems("mail_from = 'a@example.org'", &[("AGORA_SMTP_URL", "http://mail.example.org")]);
    assert_eq!(wrong.len(), 1, "what is wrong is there all the same: {wrong:?}");
    let admin = problems("admin_email = 'root@example.org'", &[("AGORA_ADMIN_USERNAME", "root")]);
    assert_eq!(
        admin,
        ["AGORA_ADMIN_USERNAME, AGORA_ADMIN_EMAIL, AGORA_ADMIN_PASSWORD must be set together, not only \
          AGORA_ADMIN_USERNAME, agora.toml:1: admin_email"]
    );
}

#[test]
fn a_secret_may_be_read_from_a_separate_file() {
    let config = load("jwt_secret_file = '0123456789abcdef0123456789abcdef'", &[], &[]).config().cloned().unwrap();
    assert_eq!(config.jwt_secret.unwrap().expose(), SECRET);
    let url = [("AGORA_DATABASE_URL_FILE", "sqlite:agora.db")];
    let config = load("database_url = 'sqlite:other.db'", &url, &[]).config().cloned().unwrap();
    assert_eq!(config.database_url.unwrap().expose(), "sqlite:agora.db", "without the line's end");
    assert_eq!(problems("jwt_secret_file = 'missing'", &[("AGORA_JWT_SECRET", SECRET)]), [""; 0], "it is not needed");

    let twice = [("AGORA_JWT_SECRET", SECRET), ("AGORA_JWT_SECRET_FILE", SECRET)];
    for (file, variables, problem) in [
        ("", &twice[..], "AGORA_JWT_SECRET_FILE and AGORA_JWT_SECRET are both set"),
        ("jwt_secret = 'a'\njwt_secret_file = 'b'", &[], "agora.toml:2: jwt_secret_file and agora.toml:1: jwt_secret"),
        ("", &[("AGORA_JWT_SECRET_FILE", "missing")], "AGORA_JWT_SECRET_FILE: cannot read missing: "),
        ("admin_password_file = 'empty'", &[], "agora.toml:1: admin_password_file: empty is empty"),
        ("listen_file = 'listen'", &[], "agora.toml:1: there is no setting listen_file"),
    ] {
        let problems = problems(file, variables);
        assert!(problems[0].starts_with(problem), "{file:?}: {problems:?}");
    }
}

#[test]
fn a_secret_that_cannot_be_read_is_one_problem_and_counts_as_set() {
    let variables = [
        ("AGORA_ADMIN_USERNAME", "root"),
        ("AGORA_ADMIN_EMAIL", "root@example.org"),
        ("AGORA_ADMIN_PASSWORD_FILE", "missing"),
        ("AGORA_JWT_SECRET_FILE", "empty"),
    ];
    let problems = problems("", &variables);
    assert_eq!(problems.len(), 2, "{problems:?}");
    let loaded = load("", &variables, &[]);
    assert!(loaded.values.given(&SETTINGS.jwt_secret).is_some() && !loaded.is_certain(&SETTINGS.jwt_secret));
}

#[test]
fn white_space_around_a_value_is_ignored() {
    let variables = [("AGORA_DATABASE_URL_FILE", " blanks "), ("AGORA_MEDIA_URL", " memory: ")];
    let config = load("data_dir = ' data\t'", &variables, &[]).config().cloned().unwrap();
    assert_eq!(config.database_url.unwrap().expose(), "sqlite:agora.db");
    assert_eq!((config.media_url.as_deref(), config.data_dir), (Some("memory:"), PathBuf::from("data")));
}

#[test]
fn a_url_is_shown_without_anything_that_may_be_secret() {
    for (url, shown) in [
        ("postgres://ann:hunter2@db.example.org:5433/agora?x=hunter2", "postgres://ann@db.example.org:5433/agora"),
        (
            "postgres://ann:hunter2@one:5433,two/agora?sslmode=disable",
            "postgres://ann@one:5433/agora, postgres://ann@two/agora",
        ),
        ("postgres://ann@one:5433,two/agora?sslmode=disable", "postgres://ann@one:5433,two/agora?sslmode=disable"),
        ("postgres:///agora?host=/run/postgresql&user=ann&password=hunter2", "postgres:///agora"),
        ("postgres://ann@%2Frun%2Fpostgresql/agora", "postgres://ann@%2Frun%2Fpostgresql/agora"),
        ("host=/run/postgresql password=hunter2", "not shown"),
        ("sqlite:data/agora.db", "sqlite:data/agora.db"),
        ("s3://bucket/prefix", "s3://bucket/prefix"),
        ("memory:", "memory:"),
    ] {
        assert_eq!(shown_url(url), shown);
    }
}

#[test]
fn the_shown_configuration_has_sources_and_no_secrets_and_can_be_read_again() {
    let file = "listen = \"127.0.0.1:80\\u007f\"\njwt_secret = '0123456789abcdef0123456789abcdef'\nworkers = 3";
    let variables = [
        ("AGORA_DATABASE_URL", "postgres://agora:hunter2@db.example.org/agora?sslmode=disable"),
        ("AGORA_JWT_ACCEPTED_SECRET_FILE", SECRET),
        ("AGORA_TRUSTED_PROXIES", "10.0.0.0/8,::1"),
        ("AGORA_TOKEN_LIFETIME", "3600"),
        ("AGORA_DATA_DIR", "/srv/ann's \"data\""),
    ];
    let loaded = load(file, &variables, &[("--log", "warn")]);
    let text = show(&loaded.values, None);
    for line in [
        "listen = \"127.0.0.1:80\\u007f\"  # agora.toml:1",
        "# jwt_secret is set, but not shown  # agora.toml:2",
        "workers = 3  # agora.toml:3",
        "# database_url is set; its password is not shown: postgres://agora@db.example.org/agora  # AGORA_DATABASE_URL",
        "jwt_accepted_secret_file = \"0123456789abcdef0123456789abcdef\"  # AGORA_JWT_ACCEPTED_SECRET_FILE",
        "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]  # AGORA_TRUSTED_PROXIES",
        "token_lifetime = 3600  # AGORA_TOKEN_LIFETIME",
        "data_dir = \"/srv/ann's \\\"data\\\"\"  # AGORA_DATA_DIR",
        "log = \"warn\"  # --log",
        "bcrypt_cost = 12  # default",
        "# media_url is not set: media in the data directory",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is missing:\n{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");

    let again = load(&text, &[], &[]);
    let guess = |loaded: &Loaded| {
        let config = loaded.best_guess.clone();
        // Without the settings that are not shown.
        format!("{:?}", Config { database_url: None, jwt_secret: None, ..config })
    };
    assert_eq!(guess(&again), guess(&loaded));
}

#[test]
fn effective_settings_have_sources_and_no_secrets() {
    let variables = [
        ("AGORA_JWT_ACCEPTED_SECRET_FILE", SECRET),
        ("AGORA_ADMIN_PASSWORD", "correct horse hunter2"),
        ("AGORA_DATABASE_URL", "postgres://agora:hunter2@db.example.org/agora"),
        ("AGORA_PUBLIC_URL", "https://ann:hunter2@agora.example.org"),
    ];
    let loaded = load("workers = 3", &variables, &[("--log", "warn")]);
    let all: Vec<_> = effective(&loaded.values).collect();
    assert_eq!(all.len(), ALL.iter().filter(|setting| setting.in_file).count());
    let found = |key: &str| {
        let EffectiveSetting { value, source, .. } = all.iter().find(|it| it.setting.key == key).unwrap().clone();
        (value, source)
    };
    let set = |value, source: &str| (value, Some(source.to_owned()));
    assert_eq!(found("workers"), set(ShownValue::Whole("3".to_owned()), "agora.toml:1"));
    assert_eq!(found("log"), set(ShownValue::Whole("warn".to_owned()), "--log"));
    assert_eq!(found("bcrypt_cost"), (ShownValue::Whole("12".to_owned()), None));
    assert_eq!(found("media_url"), (ShownValue::Unset, None));
    assert_eq!(found("admin_password"), set(ShownValue::Secret, "AGORA_ADMIN_PASSWORD"));
    let in_file = ShownValue::InFile(SECRET.into());
    assert_eq!(found("jwt_accepted_secret"), set(in_file, "AGORA_JWT_ACCEPTED_SECRET_FILE"));
    let url = |url: &str| ShownValue::WithoutPassword(url.to_owned());
    assert_eq!(found("database_url"), set(url("postgres://agora@db.example.org/agora"), "AGORA_DATABASE_URL"));
    assert_eq!(found("public_url"), set(url("https://ann@agora.example.org/"), "AGORA_PUBLIC_URL"));
}

#[test]
fn the_limit_for_slow_queries_may_be_in_milliseconds_or_none() {
    let second = Some(Duration::from_secs(1));
    assert_eq!(config(&[]).unwrap().slow_query, second);
    for (text, time) in [("1s", second), ("250ms", Some(Duration::from_millis(250))), ("0", None), (" none ", None)] {
        assert_eq!(config(&[("AGORA_SLOW_QUERY", text)]).unwrap().slow_query, time, "{text:?}");
    }
}

#[test]
fn every_setting_is_unique_and_documented() {
    let mut names = BTreeSet::new();
    for setting in ALL {
        assert!(names.insert(setting.key), "{} twice", setting.key);
        let text = setting.documentation;
        assert!(!text.is_empty() && !text.ends_with('.') && !text.contains(['\n', '|']), "{text:?}");
        assert!(!setting.key.ends_with("_file"), "taken for the file of a secret: {}", setting.key);
    }
}

#[test]
fn the_setting_with_the_most_similar_name_is_suggested() {
    let key = |name: &str| find(ALL, name, "_file", |setting| setting.key.to_owned()).map_err(|it| it.map(|it| it.1));
    let meant = |name: &str| Err(Some(name.to_owned()));
    assert_eq!(key("databse_url").map(|_| ()), meant("database_url"));
    assert_eq!(key("jwt_secret_fil").map(|_| ()), meant("jwt_secret_file"));
    assert_eq!(key("token_life_time").map(|_| ()), meant("token_lifetime"));
    assert_eq!(key("colour").map(|_| ()), Err(None));
    assert_eq!(key("jwt_secret_file").map(|(setting, is_path)| (setting.key, is_path)), Ok(("jwt_secret", true)));
}
