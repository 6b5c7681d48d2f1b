//! The command line.

use std::{
    io::{self, Write},
    path::PathBuf,
    pin::pin,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Result, bail, ensure};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

use crate::{
    admin,
    app::{Adapters, App},
    config::{self, Config, Flags, Invalid, Loaded, Purpose, table},
    demo::{self, SeedArguments},
    doctor,
    greeting::greeting,
    logging, manual,
    progress::Interrupt,
    transfer::command::{self, BackupArguments, CopyArguments, RestoreArguments},
};

/// The backend of a small social network with a product catalog. Without a command, it serves.
#[derive(Debug, Parser)]
#[command(name = "agora", version = VERSION, after_help = AFTER_HELP, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,

    #[command(subcommand)]
    command: Option<Command>,
}

/// The version, and the commit that a release was built from, where it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("AGORA_COMMIT"));

const AFTER_HELP: &str = "\
Settings come from a file, agora.toml, from environment variables, which win over it, and from the flags above, which \
win over both. `agora config show` lists them all with their values. Secrets do better in a file or a variable: other \
users of the machine can see command lines.

Exit codes: 0 done, 1 failed, 2 the command line or the configuration cannot be.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the HTTP interface (what happens without a command)
    Serve,
    /// Make and appoint administrators
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Check whether the service can work here, and say what to do where it cannot. Changes nothing, and may be called
    /// while the service runs
    Doctor,
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
    /// Print what makes a shell complete the commands and flags of agora
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// Write it into this directory instead, and a page for each command
        #[arg(long, value_name = "DIRECTORY")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print every setting with its value and where that comes from, without secrets, in the form of agora.toml
    Show,
    /// Say whether the configuration can be used, and if not, everything that is wrong with it
    Check,
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
        /// Its password [AGORA_ADMIN_PASSWORD]. Better leave it out, since other users of the machine can see it here:
        /// it is asked for, or read from the standard input
        #[arg(long)]
        password: Option<String>,
    },
    /// Give ADMIN to an account
    Grant {
        /// The account's username or email
        identifier: String,
    },
}

/// What a program ends with that was given a command line or a configuration that cannot be.
const MISUSE: u8 = 2;

/// Runs the program; its exit code.
pub fn run() -> ExitCode {
    match execute(Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("{error:#}"));
            if error.is::<Invalid>() { MISUSE.into() } else { ExitCode::FAILURE }
        }
    }
}

/// Tells the operator what is wrong. Without a place to write to, the exit code says it.
fn tell(text: &str) {
    for line in text.lines() {
        let _ = writeln!(io::stderr(), "agora: {line}");
    }
}

fn execute(arguments: Arguments) -> Result<ExitCode> {
    let Arguments { flags, command } = arguments;
    let purpose = match &command {
        Some(Command::Completions { shell }) => return print(&manual::completions(Arguments::command(), *shell)),
        Some(Command::Man { to: None }) => return print(&manual::page(Arguments::command())?),
        Some(Command::Man { to: Some(directory) }) => return print(&manual::pages(Arguments::command(), directory)?),
        Some(Command::Admin(_)) => Purpose::Administration,
        _ => Purpose::Service,
    };
    let loaded = config::load(&flags, purpose);
    if let Some(Command::Config(command)) = command {
        return look(&loaded, &command);
    }
    // Requests are served by threads of their own; these drive the connections to PostgreSQL, sweep and wait for
    // signals.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    survive_limits_of_files(&runtime)?;
    if let Some(Command::Doctor) = command {
        let is_well = runtime.block_on(doctor::examine(&loaded, say))?;
        return Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let config = loaded.config()?;
    logging::start(config)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    match command {
        None | Some(Command::Serve) => runtime.block_on(serve(config)),
        Some(Command::Admin(command)) => runtime.block_on(administer(&loaded, command)),
        Some(Command::Copy(arguments)) => {
            let setting = |name: &str| table::ALL.iter().find(|setting| setting.variable == name);
            let setting = |name: &str| loaded.values.text(setting(name)?).map(str::to_owned);
            runtime.block_on(interruptible(|interrupt| command::copy(config, arguments, setting, interrupt)))
        }
        Some(Command::Backup(arguments)) => {
            runtime.block_on(interruptible(|interrupt| command::backup(config, arguments, interrupt)))
        }
        Some(Command::Restore(arguments)) => {
            runtime.block_on(interruptible(|interrupt| command::restore(config, arguments, interrupt)))
        }
        Some(Command::Demo(DemoCommand::Seed(arguments))) => {
            runtime.block_on(interruptible(|interrupt| demo::seed(config, arguments, interrupt)))
        }
        Some(Command::Config(_) | Command::Doctor | Command::Completions { .. } | Command::Man { .. }) => Ok(()),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// `agora config`.
fn look(loaded: &Loaded, command: &ConfigCommand) -> Result<ExitCode> {
    for warning in &loaded.warnings {
        tell(&format!("warning: {warning}"));
    }
    match (command, loaded.config()) {
        (ConfigCommand::Show, config) => print(&config::show(&loaded.values, config?.file.as_deref())),
        (ConfigCommand::Check, Ok(config)) => {
            print(&format!("The configuration can be used: {}.", loaded.summary(config)))
        }
        (ConfigCommand::Check, Err(invalid)) => {
            tell(&invalid.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

fn print(text: &str) -> Result<ExitCode> {
    say(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
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
    let server = app.handle();
    tokio::spawn(async move {
        // The first word lets requests in flight finish, the second does not.
        for graceful in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
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

async fn administer(loaded: &Loaded, command: AdminCommand) -> Result<()> {
    let config = loaded.config()?;
    let file = config.data_dir.join("agora.db");
    let has_database = config.database_url.is_some() || file.exists();
    // An account can be made before the first start, but one to promote must be somewhere.
    let promotes = matches!(command, AdminCommand::Grant { .. });
    ensure!(has_database || !promotes, "there is no database {} (AGORA_DATA_DIR)", file.display());
    let adapters = Adapters::open(config).await?;
    let told = match command {
        AdminCommand::Create { username, email, password } => {
            let given = |flag: Option<String>, setting| flag.or_else(|| loaded.values.text(setting).map(str::to_owned));
            let username = given(username, &table::ADMIN_USERNAME);
            let username = username.ok_or_else(|| Invalid::because("--username is required"))?;
            let email = given(email, &table::ADMIN_EMAIL).ok_or_else(|| Invalid::because("--email is required"))?;
            let password = match given(password, &table::ADMIN_PASSWORD) {
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
