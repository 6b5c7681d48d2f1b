//! The service: the HTTP server, the metrics, and the background tasks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Server;
use agora_config::Config;
use agora_database::{CallMeter, Database, QueryInstrumentation};
use agora_domain::clock::Clock;
use agora_domain::events::LiveUpdates;
use agora_http::{EffectiveSetting, MacKeys, Settings, ShutdownFlag};
use agora_operations::host::{Bound, reachable};
use agora_operations::live::{LagMeter, LiveFeed};
use agora_operations::minutely::every_minute;
use agora_operations::open::{CANNOT_OPEN, database_url};
use agora_operations::progress::Interrupt;
use agora_operations::restart::restart_on_panic;
use agora_operations::{admin, data_dir, host};
use agora_security::{CachedSessions, JwtIssuer};
use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::adapters::Adapters;
use crate::metrics::{Metrics, ServiceMetrics};
use crate::telemetry::Telemetry;

/// The time limit of a request (contract, limits).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The time limit for a client to send the head of a request, unless that for bodies is shorter. A head fits into a few packets.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a shutdown waits for the mail in flight: most servers take one in less.
const MAIL_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a shutdown waits for the last uses of sessions to be stored.
const LAST_SEEN_TIMEOUT: Duration = Duration::from_secs(2);

/// A started service.
pub struct App {
    /// The address it listens on.
    pub address: SocketAddr,
    /// The base of every link.
    pub public_url: String,
    /// The absolute path of the data directory.
    pub data_dir: PathBuf,
    /// Whether any account has ADMIN.
    pub has_admin: bool,
    /// The address of the metrics, if they are enabled.
    pub metrics_address: Option<SocketAddr>,
    /// The HTTP server, whose handle stops the service.
    pub(crate) server: Server,
    metrics: Option<Server>,
    /// Makes the readiness check fail, from the beginning of a shutdown.
    pub(crate) stopping: ShutdownFlag,
    /// Stops the service at once when cancelled, requests in flight included: a graceful stop of the server cannot be cut short.
    pub(crate) abort: Interrupt,
    /// The event streams, which are closed when the service is stopped.
    pub(crate) live: Arc<LiveUpdates>,
    /// The background tasks, which are aborted when this is dropped.
    background: JoinSet<()>,
    /// The task that sends mail, if mail is configured.
    mailer: JoinSet<()>,
    /// Ends that task after the mail in flight.
    mail_interrupt: Interrupt,
    sessions: Arc<CachedSessions>,
    database: Arc<Database>,
}

impl App {
    /// Opens everything, creates the configured administrator, and finally starts to listen. `clock` is the clock of the whole
    /// service; `settings` is the configuration in effect, which is shown to administrators.
    ///
    /// # Errors
    /// What could not be opened or created, in words for an operator.
    pub async fn start(clock: Arc<dyn Clock>, config: &Config, settings: Vec<EffectiveSetting>) -> Result<Self> {
        let begun = clock.now();
        let connections = host::connections(config)?;
        let bound = Bound::new(&config.listen, "AGORA_LISTEN")?;
        let metrics = config.metrics_listen.as_deref();
        let metrics = metrics.map(|address| Bound::new(address, "AGORA_METRICS_LISTEN")).transpose()?;
        let metrics = metrics.map(Metrics::new);
        let address = bound.address;
        let meter = metrics.as_ref().map(|metrics| Arc::clone(&metrics.calls) as Arc<dyn CallMeter>);
        let data_dir = data_dir::prepare(&config.data_dir)?;
        let database = Database::open_to_serve(database_url(config, &data_dir).expose(), &config.database()).await;
        let instrumentation = QueryInstrumentation { meter, slow: config.slow_query };
        let database = database.context(CANNOT_OPEN)?.instrumented(instrumentation);
        let adapters = Adapters::for_service(Arc::new(database), config, data_dir, clock).await?;
        let accounts = adapters.accounts();
        let had_admin = accounts.has_admin().await?;
        let has_admin = had_admin || admin::make_configured(config, &accounts).await?;
        let was_served_before = config.database_url.is_some() && had_admin;
        let secret = data_dir::signing_secret(config, &adapters.data_dir, was_served_before)?;
        let mut tokens = JwtIssuer::new(secret.expose().as_bytes(), config.token_lifetime);
        let mut mac_keys = MacKeys::new(secret.expose().as_bytes());
        if let Some(accepted) = &config.jwt_accepted_secret {
            tokens = tokens.accepting(accepted.expose().as_bytes());
            mac_keys = mac_keys.accepting(accepted.expose().as_bytes());
        }
        let public_url = config.public_url.clone().unwrap_or_else(|| format!("http://{}", reachable(address)));
        let settings = Settings {
            workers: config.workers,
            parallel_writes: adapters.database.writes_in_parallel(),
            public_url: public_url.clone(),
            max_image_bytes: usize::try_from(config.max_image_bytes)?,
            request_time: REQUEST_TIMEOUT,
            cors_origins: config.cors_origins.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
            throttling: config.throttling(),
            load: agora_http::LoadLimits {
                connections,
                requests: config.max_requests,
                upload_bytes: usize::try_from(config.upload_memory)?,
                answer_bytes: usize::try_from(config.answer_memory)?,
                head_time: config.client_timeout.min(HEAD_TIMEOUT),
                body_time: config.client_timeout,
                answer_time: config.client_timeout,
            },
            mac_keys,
            has_app: config.app,
            has_console: config.console,
            stopping: ShutdownFlag::default(),
            configuration: settings,
            metrics: metrics.as_ref().map(|metrics| Arc::clone(&metrics.http)),
            remote_parent: Telemetry::remote_parent(),
        };
        let lag = metrics.as_ref().map(|metrics| metrics.lag.clone());
        let lag = lag.map(|lag| Arc::new(move |late: Duration| lag.observe(late.as_secs_f64())) as LagMeter);
        let stopping = settings.stopping.clone();
        let services = adapters.services(tokens);
        let over_replica = adapters.replica_services(&services);
        // Last: until then connections are refused, so that a proxy asks another node instead of waiting for all of the above.
        let listener = bound.listen()?;
        let server = agora_http::serve(listener, services, over_replica, settings)?;
        let (sweep, mailer) = (adapters.sweep(config.sweep_interval), adapters.mailer());
        let (swept, mail) = (Arc::clone(&sweep.record), mailer.as_ref().map(|mailer| Arc::clone(&mailer.record)));
        let mut background = JoinSet::new();
        background.spawn(async move { restart_on_panic("sweep", || sweep.run()).await });
        let indexer = adapters.indexer();
        background.spawn(async move { restart_on_panic("indexing", || indexer.run()).await });
        let eraser = adapters.eraser(config.sweep_interval);
        background.spawn(async move { restart_on_panic("erasure of deleted accounts", || eraser.run()).await });
        let feed = LiveFeed { live: Arc::clone(&adapters.live), lag };
        background.spawn(async move { restart_on_panic("delivery of events", || feed.run()).await });
        let (mutes, media, sessions) = (adapters.mute_expiry(), adapters.media_sweep(), Arc::clone(&adapters.sessions));
        let seen = Arc::clone(&sessions);
        background.spawn(async move { every_minute("could not end expired mutes", || mutes.run()).await });
        background.spawn(async move {
            let delete = async || media.delete_marked().await.map(drop);
            every_minute("could not delete images marked for deletion", delete).await;
        });
        background.spawn(async move {
            every_minute("could not store when sessions were last used", || seen.flush_last_seen()).await;
        });
        let (mut mail_sender, mail_interrupt) = (JoinSet::new(), Interrupt::default());
        if let Some(mailer) = mailer {
            let interrupt = mail_interrupt.clone();
            mail_sender
                .spawn(async move { restart_on_panic("sending of mails", || mailer.run(interrupt.clone())).await });
        }
        if let Some(replica) = adapters.replica.clone() {
            background.spawn(async move { restart_on_panic("monitoring of the replica", || replica.follow()).await });
        }
        let (live, data_dir) = (Arc::clone(&adapters.live), adapters.data_dir.clone());
        let database = adapters.database.clone();
        let figures = ServiceMetrics { begun, sweep: swept, mail, adapters };
        let metrics = metrics.map(|metrics| metrics.serve(figures)).transpose()?;
        let (metrics_address, metrics) = metrics.unzip();
        Ok(Self {
            address,
            public_url,
            data_dir,
            has_admin,
            metrics_address,
            server,
            metrics,
            stopping,
            abort: Interrupt::new(),
            live,
            background,
            mailer: mail_sender,
            mail_interrupt,
            sessions,
            database,
        })
    }

    /// Serves until the server's handle stops it. A graceful stop completes the requests in flight.
    ///
    /// # Errors
    /// When the server fails.
    pub async fn run(mut self) -> Result<()> {
        let metrics = self.metrics.map(|server| (server.handle(), tokio::spawn(server)));
        let stopped = tokio::select! {
            stopped = self.server => stopped,
            // The threads of the server end with the process.
            () = self.abort.cancelled() => Ok(()),
        };
        drop(self.background);
        self.mail_interrupt.cancel();
        // The uses since the last minute; and a mail that takes longer is sent again after the next start.
        let seen = timeout(LAST_SEEN_TIMEOUT, self.sessions.flush_last_seen());
        let _ = tokio::join!(seen, timeout(MAIL_SHUTDOWN_TIMEOUT, self.mailer.join_next()));
        drop(self.mailer);
        if let Some((handle, server)) = metrics {
            // Awaited, since it holds references to the database.
            handle.stop(false).await;
            let _ = server.await;
        }
        // Closed explicitly, since a thread of the server may hold the last reference until the process ends.
        tokio::task::spawn_blocking(move || self.database.close()).await?;
        Ok(stopped?)
    }
}
