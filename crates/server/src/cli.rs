//! The command line.

use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{io, process};

use agora_config::{Config, Flags, Invalid, Loaded, Purpose};
#[cfg(feature = "demo")]
use agora_demo::SeedArguments;
use agora_operations::admin::{AdminCommand, Opened};
use agora_operations::migrate::NotUpToDate;
use agora_operations::moderation::{AuditArguments, ReportsCommand};
use agora_operations::outbox::MailCommand;
use agora_operations::products::ProductsCommand;
use agora_operations::progress::{INTERRUPTED, Interrupt};
use agora_operations::system::SystemClock;
use agora_operations::transfer::CopyArguments;
use agora_operations::{admin, doctor, health, media, migrate, moderation, outbox, products, transfer};
use anyhow::{Context, Result, bail};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::adapters::Adapters;
use crate::app::App;
use crate::greeting::greeting;
use crate::telemetry::Telemetry;
use crate::{logging, manual, shown_settings};

/// The backend of a small social network with a product catalog. Without a command, it runs the server.
#[derive(Debug, Parser)]
#[command(name = "agora", version = VERSION, after_help = AFTER_HELP, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    flags: Flags,

    #[command(subcommand)]
    command: Option<Command>,
}

/// The version, and the commit that a release was built from, where it is known.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("BUILT_FROM"));

const AFTER_HELP: &str = "\
Settings come from a file, agora.toml, from environment variables, which override it, and from the flags above, which \
override both. `agora config show` lists them all with their values. Put secrets into a file or a variable: other users of \
the machine can see command lines.

Exit codes: 0 success, 1 failure, 2 invalid command line or configuration; others: see \
`agora migrate status --help`.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server (the default)
    Serve,
    /// Manage administrators and accounts
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Show the audit log of the actions of administrators, newest first
    Audit(AuditArguments),
    /// List the reports of users, and decide on them
    #[command(subcommand)]
    Reports(ReportsCommand),
    /// List unsent mails, and retry them
    #[command(subcommand)]
    Mail(MailCommand),
    /// Import or export the product catalog
    #[command(subcommand)]
    Products(ProductsCommand),
    /// Check stored images
    #[command(subcommand)]
    Media(MediaCommand),
    /// Show or apply the migrations of the database's schema
    #[command(subcommand)]
    Migrate(MigrateCommand),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Diagnose configuration, database, image store and host, and suggest fixes. Changes nothing, and may run
    /// beside the service
    Doctor,
    /// Copy everything from one database to another, from one image store to another, or both. Stop the service first:
    /// what is written meanwhile is not copied
    Copy(CopyArguments),
    /// Write database, images and signing secret to one file, while the service runs
    Backup {
        /// The file to write; it must not exist. `-` is standard output
        file: PathBuf,
        /// Continue if referenced images are missing in the store
        #[arg(long)]
        allow_missing_images: bool,
    },
    /// Fill an empty database, image store and data directory from a file of `agora backup`
    Restore {
        /// The file to read
        file: PathBuf,
    },
    /// Query the readiness of a running service; the exit code is 0 if it is ready
    Health {
        /// The URL to query instead of /health/ready at AGORA_LISTEN; http only
        #[arg(value_name = "URL")]
        url: Option<String>,
        /// Retry until the service is ready, for at most this many seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        wait: u64,
    },
    /// Generate demo data
    #[cfg(feature = "demo")]
    #[command(subcommand)]
    Demo(DemoCommand),
    /// Print a shell completion script
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
enum MediaCommand {
    /// Compare the stored images with those that posts and profiles reference. The exit code is 1 if referenced images are
    /// missing
    Check {
        /// Delete orphaned images older than an hour
        #[arg(long)]
        delete: bool,
        /// List this many users, those with the most bytes first
        #[arg(long, value_name = "NUMBER", default_value_t = 10)]
        top: usize,
    },
}

#[derive(Debug, Subcommand)]
enum MigrateCommand {
    /// Show which migrations are applied. The exit code is 0 if all are, 3 if some are pending, 4 if the database is newer
    /// than this program, and 1 if it cannot be read
    Status,
    /// Apply pending migrations, as the service does when it starts. A SQLite database is copied to a file beside it
    /// first
    Run,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print every setting with its value and source, without secrets, in the form of agora.toml
    Show,
    /// Validate the configuration and print every error
    Check,
}

#[cfg(feature = "demo")]
#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// Fill an empty database with generated data; the same arguments give the same rows
    Seed(SeedArguments),
}

/// Runs the program; returns its exit code.
pub fn run() -> ExitCode {
    execute(Arguments::parse()).unwrap_or_else(|error| {
        print_error(&format!("{error:#}"));
        match error.downcast_ref::<NotUpToDate>() {
            _ if error.is::<Invalid>() => 2.into(),
            Some(NotUpToDate::Pending) => 3.into(),
            Some(NotUpToDate::Newer) => 4.into(),
            None => ExitCode::FAILURE,
        }
    })
}

/// Writes a line to standard output, unless the text is empty.
fn say(text: &str) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Writes an error to standard error. A failure to write is ignored: the exit code remains.
fn print_error(text: &str) {
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
        Some(Command::Admin(_) | Command::Audit(_) | Command::Reports(_) | Command::Mail(_)) => Purpose::Administration,
        _ => Purpose::Service,
    };
    let loaded = agora_config::load(&flags, purpose);
    if let Some(Command::Config(command)) = command {
        return show_config(&loaded, &command);
    }
    // The HTTP server has threads of its own; this runtime drives the connections to PostgreSQL, background tasks and signals.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    handle_file_size_signal(&runtime)?;
    if let Some(Command::Doctor) = command {
        let is_well = runtime.block_on(doctor::examine(&loaded, say));
        // Not awaited: the integrity check of a large file may still be running.
        runtime.shutdown_background();
        return Ok(if is_well? { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let config = loaded.config()?;
    // Kept until the end of this function, where dropping it sends the remaining traces.
    let traces = match command {
        None | Some(Command::Serve) => Telemetry::begin()?,
        Some(_) => None,
    };
    logging::start(config, traces.as_ref().map(Telemetry::layer))?;
    for warning in &loaded.values.warnings {
        tracing::warn!("{warning}");
    }
    let interrupt = Interrupt::default();
    let stop = interrupt.clone();
    let work: Pin<Box<dyn Future<Output = Result<String>> + '_>> = match command {
        Some(Command::Health { url, wait }) => {
            let asking = health::health(config, url.as_deref(), Duration::from_secs(wait));
            return print(&runtime.block_on(asking)?);
        }
        Some(Command::Admin(command)) => return print(&runtime.block_on(administer(config, command))?),
        Some(Command::Audit(arguments)) => {
            let adapters = runtime.block_on(Adapters::for_command_on_existing(config))?;
            let (accounts, log) = (adapters.accounts(), adapters.audit_log());
            return print(&runtime.block_on(moderation::audit(&accounts, &log, arguments))?);
        }
        Some(Command::Reports(command)) => {
            let reports = runtime.block_on(Adapters::for_command_on_existing(config))?.reports();
            return print(&runtime.block_on(moderation::reports(&reports, command))?);
        }
        Some(Command::Mail(command)) => {
            let care = runtime.block_on(Adapters::for_command_on_existing(config))?.outbox_admin();
            return print(&runtime.block_on(outbox::mail(&care, command))?);
        }
        Some(Command::Migrate(MigrateCommand::Status)) => {
            return runtime.block_on(migrate::status(config, say)).map(success);
        }
        Some(Command::Migrate(MigrateCommand::Run)) => return print(&runtime.block_on(migrate::run(config))?),
        Some(Command::Products(command)) => Box::pin(products::products(config, command, interrupt)),
        Some(Command::Media(MediaCommand::Check { delete, top })) => {
            Box::pin(media::check(config, delete, top, interrupt, say))
        }
        Some(Command::Copy(arguments)) => Box::pin(transfer::copy(config, arguments, interrupt)),
        Some(Command::Backup { file, allow_missing_images }) => {
            Box::pin(transfer::backup(config, file, allow_missing_images, interrupt))
        }
        Some(Command::Restore { file }) => Box::pin(transfer::restore(config, file, interrupt)),
        #[cfg(feature = "demo")]
        Some(Command::Demo(DemoCommand::Seed(arguments))) => Box::pin(agora_demo::seed(config, arguments, interrupt)),
        // `serve`, explicitly or by default: all other commands are handled above.
        _ => return runtime.block_on(serve(&loaded, config)).map(success),
    };
    run_interruptible(runtime, stop, work).map(success)
}

/// Carries out `agora admin`; returns a text for the operator.
async fn administer(config: &Config, command: AdminCommand) -> Result<String> {
    let Opened { database, data_dir, notice } = admin::open(config, &command).await?;
    let adapters = Adapters::for_command(database, config, data_dir).await?;
    let done = admin::admin(config, command, &adapters.accounts()).await?;
    Ok(match notice {
        Some(notice) => format!("{done}\n{notice}"),
        None => done,
    })
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// Carries out `agora config`.
fn show_config(loaded: &Loaded, command: &ConfigCommand) -> Result<ExitCode> {
    for warning in &loaded.values.warnings {
        print_error(&format!("warning: {warning}"));
    }
    match (command, loaded.config()) {
        (ConfigCommand::Show, config) => print(&agora_config::show(&loaded.values, config?.config.as_deref())),
        (ConfigCommand::Check, Ok(_)) => print(&format!("The configuration is valid: {}.", loaded.summary())),
        (ConfigCommand::Check, Err(invalid)) => {
            print_error(&invalid.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Prints a text for people. A reader that closes the pipe early, such as `head`, is no error.
fn print(text: &str) -> Result<ExitCode> {
    match say(text.trim_end()) {
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) => {}
        said => said?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail, as one on a full disk does.
///
/// By default the kernel's `SIGXFSZ` ends the process. It does not once a handler is installed, which tokio keeps from now on.
fn handle_file_size_signal(runtime: &Runtime) -> Result<()> {
    let _entered = runtime.enter();
    drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
    Ok(())
}

/// How long the rollback of an interrupted command may take at the end.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

/// How long after the second signal the process exits even if a step of the command blocks, such as a write that nobody reads.
const FORCED_EXIT_DELAY: Duration = Duration::from_secs(1);

/// Runs a command and prints its outcome. The first signal ends it after the current step, the second at once; either way, what
/// is unfinished is rolled back.
fn run_interruptible(runtime: Runtime, interrupt: Interrupt, work: impl Future<Output = Result<String>>) -> Result<()> {
    let done = runtime.block_on(async {
        let (end, ended) = oneshot::channel();
        // Spawned, since a step of the command may block the thread.
        tokio::spawn(await_signals(interrupt, end)?);
        tokio::select! {
            text = work => say(&text?),
            _ = ended => bail!(INTERRUPTED),
        }
    });
    runtime.shutdown_timeout(ROLLBACK_TIMEOUT);
    done
}

/// The signals that stop the program. Signals are received from the creation of this value on.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if `SIGHUP` is ignored, as under `nohup`: then it stays ignored.
    hangup: Option<Signal>,
}

impl StopSignals {
    fn new() -> io::Result<Self> {
        let hangup = (!ignores_hangup()).then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    async fn recv(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            // Received only once: the shell and the kernel may both send it when a terminal is closed.
            _ = hangup => self.hangup = None,
        }
    }
}

/// Returns whether the process ignores `SIGHUP`, so that it continues when its terminal is closed.
fn ignores_hangup() -> bool {
    let ignored = procfs::process::Process::myself().and_then(|process| process.status()).map(|status| status.sigign);
    ignored.is_ok_and(|signals| signals & (1 << (rustix::process::Signal::HUP.as_raw() - 1)) != 0)
}

/// Interrupts the command at the first signal. At the second it sends to `end`, and exits the process if the receiver has not
/// done so after [`FORCED_EXIT_DELAY`].
fn await_signals(interrupt: Interrupt, end: oneshot::Sender<()>) -> io::Result<impl Future<Output = ()> + Send> {
    let mut signals = StopSignals::new()?;
    Ok(async move {
        for _ in 0..2 {
            signals.recv().await;
            interrupt.cancel();
        }
        let _ = end.send(());
        tokio::time::sleep(FORCED_EXIT_DELAY).await;
        print_error(INTERRUPTED);
        process::exit(1);
    })
}

/// The time from the signal until the server stops gracefully. From then on it reads no new request; until then, requests
/// that clients have already sent can still arrive.
const SHUTDOWN_DELAY: Duration = Duration::from_millis(200);

async fn serve(loaded: &Loaded, config: &Config) -> Result<()> {
    let (mut at_start, mut signals) = (StopSignals::new()?, StopSignals::new()?);
    // A signal during the start exits at once: the database rolls back what is unfinished, as after a crash. Without a handler,
    // the first process of a container would ignore the signal.
    let starting = tokio::spawn(async move {
        at_start.recv().await;
        process::exit(0);
    });
    let app = App::start(Arc::new(SystemClock), config, shown_settings(&loaded.values)).await?;
    starting.abort();
    let (server, stopping, abort, live) =
        (app.server.handle(), app.stopping.clone(), app.abort.clone(), Arc::clone(&app.live));
    tokio::spawn(async move {
        signals.recv().await;
        stopping.begin();
        tokio::spawn(async move {
            tokio::time::sleep(SHUTDOWN_DELAY).await;
            live.close();
            // Gracefully: requests in flight are completed.
            server.stop(true).await;
        });
        signals.recv().await;
        abort.cancel();
    });
    if let Err(error) = say(&greeting(&app, loaded, config)) {
        // Without a reader of standard output, the service runs all the same.
        tracing::warn!("{error:#}");
    }
    app.run().await?;
    tracing::info!("stopped");
    Ok(())
}
