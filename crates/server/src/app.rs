//! The wiring: adapters into ports, ports into use cases, use cases behind HTTP.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use agora_config::Config;
use agora_database::{CallMeter, Database, QueryInstrumentation};
use agora_domain::accounts::{Accounts, Authentication, PasswordHasher, SessionRepository};
use agora_domain::clock::{Clock, Timestamp};
use agora_domain::comments::Comments;
use agora_domain::follows::Follows;
use agora_domain::health::{Probe, Probes};
use agora_domain::id::IdGenerator;
use agora_domain::idempotency::Idempotency;
use agora_domain::limits::Limits;
use agora_domain::media::{ImageCleaner, ImagePorts, ImageStore, Media, MediaSweep};
use agora_domain::posts::Posts;
use agora_domain::products::Products;
use agora_http::{MacKeys, Services, Settings, Stopping};
use agora_media::{Cleaner, ImageLimits, ObjectImageStore};
use agora_operations::host::{listen, reachable};
use agora_operations::open::{CANNOT_OPEN, database_url};
use agora_operations::sweep::{Sweep, SweepRecord};
use agora_operations::system::{SystemClock, SystemIds};
use agora_operations::{data_dir, host, open};
use agora_security::{BcryptHasher, BoundedCounters, CachedSessions, JwtIssuer};
use anyhow::{Context, Result};

use crate::metrics::{Metrics, ServiceMetrics};

/// How long a request may take (contract, limits).
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// How long a client may take to send the head of a request, unless it has less for a body: a head fits into a packet or
/// a few.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How many password hashes wait per hash that runs: at the default cost, what is done within [`REQUEST_TIME`].
const WAITING_HASHES: usize = 100;

/// The adapters, each behind its port.
pub struct Adapters {
    database: Database,
    sessions: Arc<CachedSessions>,
    passwords: Arc<BcryptHasher>,
    cleaner: Arc<Cleaner>,
    store: Arc<ObjectImageStore>,
    images: ImagePorts,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    data_dir: PathBuf,
}

impl Adapters {
    /// Opens what the configuration names, for a command; what is missing is made. Blocks while it works, so it is
    /// called on a runtime of several threads.
    ///
    /// # Errors
    /// What could not be opened, in words for an operator.
    pub async fn open(config: &Config) -> Result<Self> {
        let data_dir = data_dir::prepare(&config.data_dir)?;
        let database = open::database(config, &data_dir).await?;
        Self::over(database, config, data_dir, Arc::new(SystemClock)).await
    }

    /// Does the same with a database that must be there, and of which nothing is changed by that.
    ///
    /// # Errors
    /// What could not be opened, in words for an operator.
    pub(crate) async fn open_existing(config: &Config) -> Result<Self> {
        let database = open::existing_database(config).await?;
        Self::over(database, config, std::path::absolute(&config.data_dir)?, Arc::new(SystemClock)).await
    }

    /// Does the same for a service.
    async fn open_to_serve(config: &Config, clock: Arc<dyn Clock>, meter: Option<Arc<dyn CallMeter>>) -> Result<Self> {
        let data_dir = data_dir::prepare(&config.data_dir)?;
        let opened = Database::open_to_serve(database_url(config, &data_dir).expose(), &config.database()).await;
        let database =
            opened.context(CANNOT_OPEN)?.instrumented(QueryInstrumentation { meter, slow: config.slow_query });
        Self::over(database, config, data_dir, clock).await
    }

    async fn over(database: Database, config: &Config, data_dir: PathBuf, clock: Arc<dyn Clock>) -> Result<Self> {
        let store = Arc::new(open::images(config, &data_dir).await?);
        let limits =
            ImageLimits { max_bytes: config.max_image_bytes.into(), max_pixels: config.max_image_pixels.into() };
        let parallel = agora_workers::default_parallelism();
        let at_once = NonZeroUsize::new(parallel).unwrap_or(NonZeroUsize::MIN);
        let cleaner = Arc::new(Cleaner::new(limits, at_once, config.decode_memory.into()));
        Ok(Self {
            sessions: Arc::new(CachedSessions::new(database.sessions(), Arc::clone(&clock))),
            passwords: Arc::new(BcryptHasher::new(config.bcrypt_cost, parallel, parallel * WAITING_HASHES)),
            images: ImagePorts {
                cleaner: Arc::clone(&cleaner) as Arc<dyn ImageCleaner>,
                store: Arc::clone(&store) as Arc<dyn ImageStore>,
                unnamed: database.unnamed_images(),
            },
            cleaner,
            store,
            clock,
            ids: Arc::new(SystemIds),
            database,
            data_dir,
        })
    }

    /// Returns the use cases of accounts.
    pub fn accounts(&self) -> Accounts {
        Accounts::new(
            self.database.accounts(),
            self.sessions(),
            self.passwords(),
            self.images.clone(),
            Arc::clone(&self.clock),
            Arc::clone(&self.ids),
        )
    }

    fn services(&self, tokens: JwtIssuer) -> Services {
        let (clock, ids) = (|| Arc::clone(&self.clock), || Arc::clone(&self.ids));
        let limits = Limits { counters: Arc::new(BoundedCounters::new()), clock: clock() };
        Services {
            authentication: Authentication {
                accounts: self.database.accounts(),
                sessions: self.sessions(),
                passwords: self.passwords(),
                limits: limits.clone(),
                tokens: Arc::new(tokens),
                clock: clock(),
                ids: ids(),
            },
            accounts: self.accounts(),
            posts: Posts::new(self.database.posts(), self.database.follows(), self.images.clone(), clock(), ids()),
            comments: Comments {
                comments: self.database.comments(),
                posts: self.database.posts(),
                clock: clock(),
                ids: ids(),
            },
            follows: Follows { follows: self.database.follows(), clock: clock(), ids: ids() },
            products: Products { products: self.database.products(), clock: clock(), ids: ids() },
            media: Media::new(Arc::clone(&self.images.store)),
            limits,
            idempotency: self.idempotency(),
            ids: ids(),
            probes: Probes {
                database: self.database.probe(),
                images: Arc::clone(&self.store) as Arc<dyn Probe>,
                migrations: self.database.migrations_probe(),
            },
        }
    }

    fn sessions(&self) -> Arc<dyn SessionRepository> {
        Arc::clone(&self.sessions) as Arc<dyn SessionRepository>
    }

    fn passwords(&self) -> Arc<dyn PasswordHasher> {
        Arc::clone(&self.passwords) as Arc<dyn PasswordHasher>
    }

    fn idempotency(&self) -> Idempotency {
        Idempotency { records: self.database.idempotency(), clock: Arc::clone(&self.clock), ids: Arc::clone(&self.ids) }
    }

    fn sweep(&self, interval: Duration) -> Sweep {
        let ImagePorts { store, unnamed, .. } = self.images.clone();
        let media = MediaSweep::new(store, unnamed, Arc::clone(&self.clock), Sweep::MIN_AGE_MILLIS);
        let (sessions, clock) = (self.sessions(), Arc::clone(&self.clock));
        let (idempotency, posts, record) = (self.idempotency(), self.database.posts(), Arc::default());
        Sweep { database: self.database.clone(), media, sessions, idempotency, posts, clock, interval, record }
    }

    /// Returns the parts whose figures are shown, of a process that began at about this time.
    fn metrics(&self, sweep: &Arc<SweepRecord>, begun: Timestamp) -> ServiceMetrics {
        ServiceMetrics {
            begun,
            database: self.database.clone(),
            hasher: Arc::clone(&self.passwords),
            cleaner: Arc::clone(&self.cleaner),
            sessions: Arc::clone(&self.sessions),
            sweep: Arc::clone(sweep),
            images: Arc::clone(&self.store),
            data_dir: self.data_dir.clone(),
        }
    }
}

/// A started service.
pub struct App {
    /// The address listened on.
    pub address: SocketAddr,
    /// The beginning of every link.
    pub public_url: String,
    /// The absolute path of the data directory.
    pub data_dir: PathBuf,
    /// Whether any account has ADMIN.
    pub has_admin: bool,
    /// Where metrics are shown, if they are.
    pub metrics_address: Option<SocketAddr>,
    server: Server,
    metrics: Option<Server>,
    stopping: Stopping,
    sweep: Sweep,
    database: Database,
}

impl App {
    /// Opens everything, makes the administrator that the configuration asks for, and starts to listen.
    ///
    /// # Errors
    /// What could not be opened or made, in words for an operator.
    pub async fn start(config: &Config) -> Result<Self> {
        Self::start_by(Arc::new(SystemClock), config).await
    }

    /// Does the same by another clock than the system's.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub async fn start_by(clock: Arc<dyn Clock>, config: &Config) -> Result<Self> {
        let begun = clock.now();
        let connections = host::connections(config)?;
        let listener = listen(&config.listen, "AGORA_LISTEN")?;
        let metrics = config.metrics_listen.as_deref();
        let metrics = metrics.map(|address| listen(address, "AGORA_METRICS_LISTEN")).transpose()?;
        let metrics = metrics.map(Metrics::new);
        let address = listener.local_addr()?;
        let meter = metrics.as_ref().map(|metrics| Arc::clone(&metrics.calls) as Arc<dyn CallMeter>);
        let adapters = Adapters::open_to_serve(config, clock, meter).await?;
        let accounts = adapters.accounts();
        let mut has_admin = accounts.has_admin().await?;
        let was_served_before = config.database_url.is_some() && has_admin;
        if let Some(admin) = config.admin().filter(|_| !has_admin) {
            let made = accounts.create_admin(admin).await;
            // Of several nodes that start at once on an empty database one makes it, and the others find it there.
            if made.is_err() && accounts.has_admin().await? {
                tracing::info!("another node made an administrator");
            } else {
                made.context("cannot make the account of AGORA_ADMIN_USERNAME")?;
                tracing::info!("made the administrator of AGORA_ADMIN_USERNAME");
            }
            has_admin = true;
        }
        let secret = match &config.jwt_secret {
            Some(secret) => secret.clone(),
            None => {
                let (secret, is_new) = data_dir::signing_secret(&adapters.data_dir)?;
                if is_new && was_served_before {
                    tracing::warn!(
                        "drew a new signing secret for a database that has accounts already: tokens of other nodes, and \
                         from before, are refused; set AGORA_JWT_SECRET, the same on every node"
                    );
                }
                secret
            }
        };
        let mut tokens = JwtIssuer::new(secret.expose().as_bytes(), config.token_lifetime);
        let mut mac_keys = MacKeys::new(secret.expose().as_bytes());
        if let Some(accepted) = &config.jwt_accepted_secret {
            tokens = tokens.accepting(accepted.expose().as_bytes());
            mac_keys = mac_keys.accepting(accepted.expose().as_bytes());
        }
        let public_url = config.public_url.clone().unwrap_or_else(|| format!("http://{}", reachable(address)));
        let settings = Settings {
            workers: config.workers,
            public_url: public_url.clone(),
            max_image_bytes: usize::try_from(config.max_image_bytes)?,
            request_time: REQUEST_TIME,
            cors_origins: config.cors_origins.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
            throttling: config.throttling(),
            load: agora_http::LoadLimits {
                connections,
                requests: config.max_requests,
                upload_bytes: usize::try_from(config.upload_memory)?,
                answer_bytes: usize::try_from(config.answer_memory)?,
                head_time: config.client_timeout.min(HEAD_TIME),
                body_time: config.client_timeout,
                answer_time: config.client_timeout,
            },
            mac_keys,
            stopping: Stopping::default(),
            metrics: metrics.as_ref().map(|metrics| Arc::clone(&metrics.http)),
        };
        let stopping = settings.stopping.clone();
        let server = agora_http::serve(listener, adapters.services(tokens), settings)?;
        let sweep = adapters.sweep(config.sweep_interval);
        let metrics = metrics.map(|metrics| metrics.serve(adapters.metrics(&sweep.record, begun))).transpose()?;
        let (metrics_address, metrics) = metrics.unzip();
        let Adapters { data_dir, database, .. } = adapters;
        Ok(Self {
            address,
            public_url,
            data_dir,
            has_admin,
            metrics_address,
            server,
            metrics,
            stopping,
            sweep,
            database,
        })
    }

    /// Returns what stops the service from outside.
    pub fn handle(&self) -> ServerHandle {
        self.server.handle()
    }

    /// Returns what has the service say that it is not ready, from when it is going to be stopped.
    pub fn stopping(&self) -> Stopping {
        self.stopping.clone()
    }

    /// Serves until the handle stops it; what is in flight is finished when it is stopped gracefully.
    ///
    /// # Errors
    /// When the server breaks.
    pub async fn run(self) -> Result<()> {
        let sweep = tokio::spawn(self.sweep.run());
        let metrics = self.metrics.map(|server| (server.handle(), tokio::spawn(server)));
        let stopped = self.server.await;
        sweep.abort();
        if let Some((handle, server)) = metrics {
            // To its end, since it holds a part of the database.
            handle.stop(false).await;
            let _ = server.await;
        }
        // Not left to the last reference, which a thread of the server may hold until the process ends.
        tokio::task::spawn_blocking(move || self.database.close()).await?;
        Ok(stopped?)
    }
}
