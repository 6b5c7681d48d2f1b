//! The command line.

use std::{
    env,
    ffi::OsStr,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    pin::pin,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, Subcommand};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use tracing_subscriber::{
    EnvFilter,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};
use url::Url;

use crate::{
    admin,
    app::{Adapters, App},
    config::Config,
    demo::{self, SeedArguments},
    progress::Interrupt,
    transfer::command::{self, BackupArguments, CopyArguments, RestoreArguments},
};

/// The backend of a small social network with a product catalog. Without a command, it serves.
#[derive(Debug, Parser)]
#[command(name = "agora", version, after_help = AFTER_HELP)]
struct Arguments {
    /// The address and port to listen on [AGORA_LISTEN; 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", global = true)]
    listen: Option<String>,

    /// Where data is kept [AGORA_DATA_DIR; ./data]
    #[arg(long, value_name = "PATH", global = true)]
    data_dir: Option<PathBuf>,

    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "Everything is configured by environment variables; docs/configuration.md lists them. \
    AGORA_LOG sets what is logged, such as warn or agora_http=debug.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the HTTP interface (what happens without a command)
    Serve,
    /// Make and appoint administrators
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Copy everything from one database to another, from one image store to another, or both. Stop the service first:
    /// what is written meanwhile stays behind
    Copy(CopyArguments),
    /// Save rows, images and the signing secret in one file, while the service runs
    Backup(BackupArguments),
    /// Fill an empty database, image store and data directory from a file of `agora backup`
    Restore(RestoreArguments),
    /// Try the product out, or measure it
    #[command(subcommand)]
    Demo(DemoCommand),
}

#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// Fill an empty database with a made-up network: the same arguments give the same rows
    Seed(SeedArguments),
}

#[derive(Debug, Subcommand)]
enum AdminCommand {
    /// Make an account with ADMIN and USER
    Create {
        /// Its username [AGORA_ADMIN_USERNAME]
        #[arg(long)]
        username: Option<String>,
        /// Its email address [AGORA_ADMIN_EMAIL]
        #[arg(long)]
        email: Option<String>,
        /// Its password [AGORA_ADMIN_PASSWORD]; other users of the machine can see it here, so better leave it out: it
        /// is asked for, or read from the standard input
        #[arg(long)]
        password: Option<String>,
    },
    /// Give ADMIN to an account
    Grant {
        /// The account's username or email
        identifier: String,
    },
}

/// Runs the program; its exit code.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse();
    match start_log().and_then(|()| execute(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a place to write to, the exit code says it.
            let _ = writeln!(io::stderr(), "agora: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Logs to the standard error what `AGORA_LOG` asks for. What libraries have to say below `info` is not to be had: the
/// PostgreSQL driver, for one, repeats every parameter of a query there.
fn start_log() -> Result<()> {
    let wanted =
        setting("AGORA_LOG").unwrap_or_else(|| "info,actix_server=warn,actix_http=off,object_store=warn".to_owned());
    let filter = EnvFilter::builder().parse(wanted).context("AGORA_LOG must be such as warn or agora_http=debug")?;
    let colors = io::stderr().is_terminal();
    let ours = Targets::new().with_default(LevelFilter::INFO).with_target("agora", LevelFilter::TRACE);
    let lines = tracing_subscriber::fmt::layer().with_ansi(colors).with_writer(io::stderr);
    // A line that cannot be written is lost. To report that on the same standard error would end in a panic.
    let lines = lines.log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(ours).with(lines).init();
    Ok(())
}

/// The value of an environment variable. An empty one counts as not set.
fn setting(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn check_variables() -> Result<()> {
    let ours = |name: &OsStr| name.to_string_lossy().starts_with("AGORA_");
    for (name, value) in env::vars_os().filter(|(name, _)| ours(name)) {
        ensure!(value.to_str().is_some(), "{} must be valid Unicode", name.display());
    }
    for name in Config::unknown_variables(env::vars_os().filter_map(|(name, _)| name.into_string().ok())) {
        tracing::warn!("{name} is set, but there is no such setting");
    }
    Ok(())
}

fn execute(arguments: Arguments) -> Result<()> {
    check_variables()?;
    // What `agora admin create` takes from the variables of the administrator, flags and the standard input complete.
    let administers = matches!(arguments.command, Some(Command::Admin(_)));
    let of_admin = |name: &str| name.starts_with("AGORA_ADMIN_");
    let mut config = Config::from_variables(|name| setting(name).filter(|_| !(administers && of_admin(name))))?;
    config.listen = arguments.listen.unwrap_or(config.listen);
    config.data_dir = arguments.data_dir.unwrap_or(config.data_dir);
    // Requests are served by threads of their own; these drive the connections to PostgreSQL, sweep and wait for
    // signals.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    survive_limits_of_files(&runtime)?;
    match arguments.command {
        None | Some(Command::Serve) => runtime.block_on(serve(&config)),
        Some(Command::Admin(command)) => runtime.block_on(administer(&config, command)),
        Some(Command::Copy(arguments)) => {
            runtime.block_on(interruptible(|interrupt| command::copy(&config, arguments, setting, interrupt)))
        }
        Some(Command::Backup(arguments)) => {
            runtime.block_on(interruptible(|interrupt| command::backup(&config, arguments, interrupt)))
        }
        Some(Command::Restore(arguments)) => {
            runtime.block_on(interruptible(|interrupt| command::restore(&config, arguments, interrupt)))
        }
        Some(Command::Demo(DemoCommand::Seed(arguments))) => {
            runtime.block_on(interruptible(|interrupt| demo::seed(&config, arguments, interrupt)))
        }
    }
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail, as one on a full disk does. By default the
/// kernel ends the process; it does not while somebody listens for the signal, which tokio does from now on.
fn survive_limits_of_files(runtime: &Runtime) -> Result<()> {
    let _entered = runtime.enter();
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// Does the work and says what it did. The first signal ends it after the present step, the second at once; either
/// undoes what is half done.
async fn interruptible<W>(work: impl FnOnce(Interrupt) -> W) -> Result<()>
where
    W: Future<Output = Result<String>>,
{
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let interrupt = Interrupt::default();
    let mut work = pin!(work(interrupt.clone()));
    for _ in 0..2 {
        tokio::select! {
            told = &mut work => return say(&told?),
            _ = interrupted.recv() => interrupt.give(),
            _ = terminated.recv() => interrupt.give(),
        }
    }
    bail!("interrupted")
}

/// How long the service goes on after it was told to stop. The server begins no request then that it has not read yet,
/// and what clients sent before is in flight for them.
const ARRIVING: Duration = Duration::from_millis(200);

async fn serve(config: &Config) -> Result<()> {
    let app = App::start(config).await?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (server, stopping) = (app.handle(), app.stopping());
    tokio::spawn(async move {
        // The first word lets requests in flight finish, the second does not.
        for graceful in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            stopping.begin();
            let server = server.clone();
            tokio::spawn(async move {
                if graceful {
                    tokio::time::sleep(ARRIVING).await;
                }
                server.stop(graceful).await;
            });
        }
    });
    say(&greeting(&app, config))?;
    app.run().await?;
    tracing::info!("stopped");
    Ok(())
}

fn greeting(app: &App, config: &Config) -> String {
    let mut text = format!(
        "Agora {} listens on http://{}\nData directory: {}",
        env!("CARGO_PKG_VERSION"),
        app.address,
        app.data_dir.display()
    );
    if let Some(address) = &app.metrics_address {
        text += &format!("\nMetrics: http://{address}/metrics");
    }
    if let Some(url) = &config.database_url {
        text += &format!("\nDatabase: {}", without_credentials(url.expose()));
    }
    if let Some(url) = &config.media_url {
        text += &format!("\nImages: {}", without_credentials(url));
    }
    if config.public_url.is_some() || app.address.ip().is_unspecified() {
        text += &format!("\nPublic address: {}", app.public_url);
    }
    if !app.has_admin {
        let program = env::args().next().unwrap_or_else(|| "agora".to_owned());
        text += &format!(
            "\nNo account has ADMIN yet. To make one: {} --data-dir {} admin create --username NAME --email ADDRESS",
            shell_word(&program),
            shell_word(&app.data_dir.to_string_lossy())
        );
    }
    text
}

/// A URL without what is secret or of no interest: user, password and parameters.
fn without_credentials(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return url.to_owned() };
    if !parsed.has_host() {
        return url.to_owned();
    }
    // Neither fails for a URL that has a host.
    let _ = parsed.set_username("").and(parsed.set_password(None));
    parsed.set_query(None);
    parsed.into()
}

/// A text as one word of a shell command.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

async fn administer(config: &Config, command: AdminCommand) -> Result<()> {
    let file = config.data_dir.join("agora.db");
    let has_database = config.database_url.is_some() || file.exists();
    // An account can be made before the first start, but one to promote must be somewhere.
    let promotes = matches!(command, AdminCommand::Grant { .. });
    ensure!(has_database || !promotes, "there is no database {} (AGORA_DATA_DIR)", file.display());
    let adapters = Adapters::open(config).await?;
    let told = match command {
        AdminCommand::Create { username, email, password } => {
            let given = |flag: Option<String>, name: &str| flag.or_else(|| setting(name));
            let username = given(username, "AGORA_ADMIN_USERNAME").context("--username is required")?;
            let email = given(email, "AGORA_ADMIN_EMAIL").context("--email is required")?;
            let password = match given(password, "AGORA_ADMIN_PASSWORD") {
                Some(password) => password,
                None => admin::ask_password()?,
            };
            admin::create(&adapters, &username, &email, &password).await?
        }
        AdminCommand::Grant { identifier } => admin::grant(&adapters, &identifier).await?,
    };
    say(&told)
}

fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    Ok(writeln!(out, "{text}").and_then(|()| out.flush())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (url, shown) in [
            (
                "postgres://ann:hunter2@db.example.org:5433/agora?sslmode=require",
                "postgres://db.example.org:5433/agora",
            ),
            ("postgres://ann@%2Frun%2Fpostgresql/agora", "postgres://%2Frun%2Fpostgresql/agora"),
            ("sqlite:data/agora.db", "sqlite:data/agora.db"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("memory:", "memory:"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(shell_word("/srv/agora-1.0/data"), "/srv/agora-1.0/data");
        assert_eq!(shell_word("/home/ann's data"), r"'/home/ann'\''s data'");
        assert_eq!(shell_word("$HOME"), "'$HOME'");
        assert_eq!(shell_word(""), "''");
    }
}
