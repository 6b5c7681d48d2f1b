//! How a connection to PostgreSQL is made: what its URL says, TLS by the URL's `sslmode`, and time limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::iter;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::{ConnectionError, ConnectionResult};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream::FuturesUnordered;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::Url;

use crate::error::OpenError;
use crate::mutex::lock;
use crate::options::Options;

/// When either side notices that the other vanished: after this silence it asks so often, at this interval.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(3);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
const KEEPALIVE_PROBES: u32 = 3;

/// How long what was sent may go unacknowledged until the other side counts as gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);

/// How long the server that took the last connection is given until the others of the URL are asked as well.
const HEAD_START: Duration = Duration::from_secs(1);

/// Makes the server look every second whether the client of a running statement is still there, and end what nobody
/// waits for. Servers before version 14 do not have the setting; some systems cannot do it.
const CHECK_CLIENT: &str = "SELECT set_config(name, '1000', false) FROM pg_settings \
    WHERE name = 'client_connection_check_interval' AND source <> 'client'";

/// Returns what the server is told about every connection: how long a statement may take and wait for a lock, and that
/// what a lost client left open ends soon after. What the URL says itself holds.
///
/// It is told after the connection was made: poolers refuse one that begins with settings.
fn settings(options: &Options) -> Vec<(&'static str, String)> {
    vec![
        ("TimeZone", "UTC".to_owned()),
        ("statement_timeout", options.statement_timeout.as_millis().to_string()),
        ("lock_timeout", options.lock_timeout().as_millis().to_string()),
        ("idle_in_transaction_session_timeout", "30s".to_owned()),
        ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().to_string()),
        ("tcp_keepalives_interval", KEEPALIVE_INTERVAL.as_secs().to_string()),
        ("tcp_keepalives_count", KEEPALIVE_PROBES.to_string()),
        ("tcp_user_timeout", UNACKNOWLEDGED.as_millis().to_string()),
    ]
}

/// Returns the statement that makes these settings, but for those that the connection began with.
fn setting(settings: &[(&str, String)]) -> String {
    let settings: Vec<_> = settings.iter().map(|(name, value)| format!("('{name}', '{value}')")).collect();
    format!(
        "SELECT set_config(name, value, false) FROM (VALUES {}) AS ours (name, value) \
            JOIN (SELECT name, source FROM pg_settings) AS theirs USING (name) WHERE source <> 'client'",
        settings.join(", ")
    )
}

/// What the certificate of the server must prove, if there is TLS.
#[derive(Debug, Clone, Copy)]
enum Proof {
    Nothing,
    /// It is from a known authority.
    Authority,
    /// It is from a known authority and for the host of the URL.
    Host,
}

/// Returns what libpq's `sslmode` means: whether there is TLS, and what the certificate must prove.
fn parse_ssl_mode(mode: &str) -> Result<(SslMode, Proof), OpenError> {
    Ok(match mode {
        "disable" => (SslMode::Disable, Proof::Nothing),
        "allow" | "prefer" => (SslMode::Prefer, Proof::Nothing),
        "require" => (SslMode::Require, Proof::Nothing),
        "verify-ca" => (SslMode::Require, Proof::Authority),
        "verify-full" => (SslMode::Require, Proof::Host),
        _ => return Err(OpenError::Url("sslmode must be disable, prefer, require, verify-ca or verify-full")),
    })
}

/// What most often makes a URL none.
const NO_URL: &str =
    "in a user name or password, write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25 and a space as %20";

/// Returns the URL of each server that a URL names, as in `postgres://user@one:5432,two:5432/database`.
pub fn url_of_each_server(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{rest}")).collect()
}

/// What a URL of one server says.
struct Target {
    config: tokio_postgres::Config,
    proof: Proof,
    /// The file of the authorities.
    authorities: Option<String>,
    /// Whether it says how to find out that the other side has vanished.
    has_keepalives: bool,
    server: String,
}

impl Target {
    fn parse(url: &str) -> Result<Self, OpenError> {
        let mut url = Url::parse(url).map_err(|_| OpenError::Url(NO_URL))?;
        // PostgreSQL's URLs know no plus sign that means a space, as those of forms do.
        let query = url.query().map(|query| query.replace('+', "%2B"));
        url.set_query(query.as_deref());
        let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let get = |name: &str| parameters.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let (ssl_mode, proof) = parse_ssl_mode(get("sslmode").unwrap_or("prefer"))?;
        let authorities = get("sslrootcert").map(str::to_owned);
        let has_keepalives = parameters.iter().any(|(name, _)| name.starts_with("keepalives"));
        let (of_tls, others): (Vec<_>, Vec<_>) = parameters.iter().partition(|(name, _)| name.starts_with("ssl"));
        // To ignore what somebody relies on, a list of revoked certificates for instance, would be worse than to
        // refuse.
        if let Some((name, _)) = of_tls.iter().find(|(name, _)| !matches!(name.as_str(), "sslmode" | "sslrootcert")) {
            return Err(OpenError::Parameter(name.clone()));
        }
        url.query_pairs_mut().clear().extend_pairs(others);
        let query = url.query().filter(|query| !query.is_empty()).map(|query| query.replace('+', "%20"));
        url.set_query(query.as_deref());
        let mut config = tokio_postgres::Config::from_str(url.as_str())
            .map_err(|_| OpenError::Url("such as postgres://user:password@host:5432/database"))?;
        config.ssl_mode(ssl_mode);
        let port = url.port().map(|port| format!(":{port}"));
        let server = format!("{}{}", url.host_str().unwrap_or_default(), port.unwrap_or_default());
        Ok(Self { config, proof, authorities, has_keepalives, server })
    }
}

/// Checks that a URL names a database of one PostgreSQL server, or of several of which one takes writes.
pub(crate) fn check_url(url: &str) -> Result<(), OpenError> {
    url_of_each_server(url).iter().try_for_each(|url| Target::parse(url).map(drop))
}

/// A connection, and what ends it.
type Driven = (AsyncPgConnection, AbortHandle);

/// One server of the URL.
struct Server {
    /// Its host and port, for messages.
    host: String,
    config: tokio_postgres::Config,
}

impl Server {
    async fn connect(
        &self,
        tls: &MakeRustlsConnect,
        settings: &[(&str, String)],
    ) -> Result<Driven, Box<dyn std::error::Error + Send + Sync>> {
        // Without TLS in the URL, none of it is used.
        let (client, connection) = self.config.connect(tls.clone()).await?;
        let driver = tokio::spawn(connection).abort_handle();
        let conn = AsyncPgConnection::try_from(client).await?;
        let settings = setting(settings);
        // In one round trip.
        let (mut one, mut other) = (&conn, &conn);
        let (set, checks) = join(one.batch_execute(&settings), other.batch_execute(CHECK_CLIENT)).await;
        set?;
        if let Err(error) = checks {
            tracing::debug!(%error, "the server does not look after lost clients");
        }
        Ok((conn, driver))
    }
}

/// Makes connections to the database of one URL.
#[derive(Clone)]
pub(crate) struct Connector {
    servers: Arc<[Server]>,
    /// Whether one of them takes writes, and another when that is gone: of several, or of those that one name leads to.
    awaits_takeover: bool,
    /// The one that took the last connection.
    preferred: Arc<AtomicUsize>,
    /// When another one than before did.
    moved: Arc<Mutex<Option<Instant>>>,
    settings: Vec<(&'static str, String)>,
    tls: MakeRustlsConnect,
    /// How long a connection may take to be made.
    timeout: Duration,
    /// How many connections were made to serve requests.
    made: Arc<AtomicU64>,
}

impl Connector {
    /// Reads a URL such as `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/path/ca.pem`.
    /// Without `sslmode` it is `prefer`; without `sslrootcert`, the authorities that the system trusts are known. Of several servers,
    /// the one that takes writes is used; so is it where the URL says `target_session_attrs=read-write`.
    pub(crate) fn new(url: &str, limits: &Options) -> Result<Self, OpenError> {
        let is_one_of_several = url_of_each_server(url).len() > 1;
        let wanted = if is_one_of_several { TargetSessionAttrs::ReadWrite } else { TargetSessionAttrs::Any };
        Self::to(wanted, url, limits)
    }

    /// Does the same for servers that take no writes: replicas.
    pub(crate) fn to_replica(url: &str, limits: &Options) -> Result<Self, OpenError> {
        Self::to(TargetSessionAttrs::ReadOnly, url, limits)
    }

    fn to(wanted: TargetSessionAttrs, url: &str, limits: &Options) -> Result<Self, OpenError> {
        let targets = url_of_each_server(url).iter().map(|url| Target::parse(url)).collect::<Result<Vec<_>, _>>()?;
        let (mut tls, mut timeout) = (None, limits.connect_timeout);
        let mut servers = Vec::new();
        for Target { mut config, proof, authorities, has_keepalives, server } in targets {
            config.application_name("agora");
            if config.get_target_session_attrs() == TargetSessionAttrs::Any {
                config.target_session_attrs(wanted);
            }
            if !has_keepalives {
                config.keepalives_idle(KEEPALIVE_IDLE);
                config.keepalives_interval(KEEPALIVE_INTERVAL);
                config.keepalives_retries(KEEPALIVE_PROBES);
            }
            if config.get_tcp_user_timeout().is_none() {
                config.tcp_user_timeout(UNACKNOWLEDGED);
            }
            timeout = config.get_connect_timeout().copied().unwrap_or(timeout);
            config.connect_timeout(timeout);
            if tls.is_none() {
                tls = Some(MakeRustlsConnect::new(client_config(proof, authorities.as_deref())?));
            }
            servers.push(Server { host: server, config });
        }
        let tls = tls.ok_or(OpenError::Url(NO_URL))?;
        let awaits_takeover =
            servers.iter().any(|server| server.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite);
        Ok(Self {
            servers: servers.into(),
            awaits_takeover,
            preferred: Arc::default(),
            moved: Arc::default(),
            settings: settings(limits),
            tls,
            timeout,
            made: Arc::default(),
        })
    }

    /// Returns one whose connections have the server make one plan of a statement for whatever values, unless the URL says otherwise: for
    /// statements that look rows up by their keys, or walk an index to a limit. Where the limit is a value, the server would not see that
    /// one plan does, and plan anew each time (`plan_tests`), which takes longer than to read.
    pub(crate) fn planning_once(&self) -> Self {
        let mut this = self.clone();
        this.settings.push(("plan_cache_mode", "force_generic_plan".to_owned()));
        this
    }

    /// Makes a connection, which is driven by the runtime that this is called on.
    pub(crate) async fn connect(&self) -> ConnectionResult<AsyncPgConnection> {
        Ok(self.connect_driven().await?.0)
    }

    /// Makes a connection for a start or a look.
    pub(crate) async fn connect_to_open(&self) -> Result<AsyncPgConnection, OpenError> {
        self.connect().await.map_err(|error| OpenError::Connect(error.into()))
    }

    /// Makes a connection as [`connect`](Self::connect) does; what is returned besides ends the connection, whatever is under way on it.
    pub(crate) async fn connect_driven(&self) -> ConnectionResult<Driven> {
        // The driver's own limit ends where the handshake begins, which a server that never answers would draw out.
        let mut reasons = BTreeMap::new();
        if let Ok(Some(made)) = timeout(self.timeout, self.connect_to_any(&mut reasons)).await {
            return Ok(made);
        }
        let reasons = BTreeSet::from_iter(reasons.into_values());
        let is_silent = reasons.is_empty().then(|| format!("PostgreSQL at {} takes too long", self.hosts()));
        Err(ConnectionError::BadConnection(Vec::from_iter(reasons.into_iter().chain(is_silent)).join("; ")))
    }

    /// Connects to the server that took the last connection. Where that fails or takes long, the others are asked as well; again and
    /// again until the time is up where one of them may be about to take over. The first is taken that does what the URL asks for. Why each
    /// server last failed is left in `reasons`.
    async fn connect_to_any(&self, reasons: &mut BTreeMap<usize, String>) -> Option<Driven> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let attempt = |place: usize, wait: Option<Duration>| async move {
            if let Some(wait) = wait {
                sleep(wait).await;
            }
            (place, self.connect_to(place).await)
        };
        let mut attempts = FuturesUnordered::from_iter([attempt(preferred, None)]);
        let mut ended = timeout(HEAD_START, attempts.next()).await;
        attempts.extend((0..self.servers.len()).filter(|place| *place != preferred).map(|place| attempt(place, None)));
        loop {
            match ended {
                Ok(Some((_, Ok(made)))) => return Some(made),
                Ok(Some((place, Err(reason)))) => {
                    reasons.insert(place, reason);
                    if self.awaits_takeover {
                        attempts.push(attempt(place, Some(HEAD_START / 2)));
                    }
                }
                Ok(None) => return None,
                Err(_) => {}
            }
            ended = Ok(attempts.next().await);
        }
    }

    async fn connect_to(&self, place: usize) -> Result<Driven, String> {
        let server = self.servers.get(place).ok_or("there is no such server")?;
        let made = server.connect(&self.tls, &self.settings).await;
        let made = made.map_err(|error| format!("PostgreSQL at {}{}", server.host, in_words(&*error)))?;
        if self.preferred.swap(place, Ordering::Relaxed) != place {
            *lock(&self.moved) = Some(Instant::now());
        }
        Ok(made)
    }

    /// Returns whether connections lead to another server since one was made: that which it leads to may take writes no more, and
    /// not know of it yet.
    pub(crate) fn has_moved_since(&self, made: Instant) -> bool {
        self.servers.len() > 1 && lock(&self.moved).is_some_and(|moved| made < moved)
    }

    /// Returns how many connections were made to serve requests: as long as it is the same, they lead to the database that
    /// they led to before, and not to an older state of it, or to a replica that had not received everything.
    pub(crate) fn epoch(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Returns the hosts of the URL, for messages.
    fn hosts(&self) -> String {
        self.servers.iter().map(|server| server.host.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// Counts a connection that was made to serve requests.
    pub(crate) fn count(&self) {
        self.made.fetch_add(1, Ordering::AcqRel);
    }
}

/// Returns an error with its causes, each after a colon: the driver's own text is only "error connecting to server".
fn in_words(error: &dyn std::error::Error) -> String {
    iter::successors(Some(error), |error| error.source()).map(|error| format!(": {error}")).collect()
}

fn client_config(proof: Proof, authorities: Option<&str>) -> Result<ClientConfig, OpenError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Tls(error.into()))?;
    let verifier = match proof {
        Proof::Host => return Ok(builder.with_root_certificates(roots(authorities)?).with_no_client_auth()),
        Proof::Authority => {
            let known = WebPkiServerVerifier::builder_with_provider(roots(authorities)?.into(), Arc::clone(&provider));
            Some(known.build().map_err(|error| OpenError::Tls(error.into()))?)
        }
        Proof::Nothing => None,
    };
    let verifier = Arc::new(Lenient { verifier, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Returns the authorities in a PEM file, or those that the system trusts.
fn roots(file: Option<&str>) -> Result<RootCertStore, OpenError> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let failed = |error: &dyn Display| OpenError::Tls(format!("{path} of sslrootcert: {error}").into());
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
                let certificate = certificate.map_err(|error| failed(&error))?;
                roots.add(certificate).map_err(|error| failed(&error))?;
            }
            if roots.is_empty() {
                return Err(failed(&"there is no certificate in it"));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

/// What `require` and `verify-ca` ask of a certificate: nothing, or that a known authority signed it, for whatever
/// host. That the server has the certificate's key is checked in any case.
#[derive(Debug)]
struct Lenient {
    verifier: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = &self.verifier else { return Ok(ServerCertVerified::assertion()) };
        match verifier.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_name_several_servers() {
        assert_eq!(
            url_of_each_server("postgres://agora:p%40,ss@one:5432,two,[::1]:5433/agora?sslmode=disable"),
            ["one:5432", "two", "[::1]:5433"]
                .map(|host| format!("postgres://agora:p%40,ss@{host}/agora?sslmode=disable"))
        );
        assert_eq!(url_of_each_server("postgres://one,two"), ["postgres://one", "postgres://two"]);
        assert_eq!(url_of_each_server("postgres:///agora?host=/run"), ["postgres:///agora?host=/run"]);
        for url in ["postgres://agora@one:5432,two:5433/agora", "postgres://agora@%2Frun%2Fone:1,%2Frun%2Ftwo:2/agora"]
        {
            check_url(url).unwrap();
            let connector = Connector::new(url, &Options::default()).unwrap();
            let attributes = connector.servers.iter().map(|server| server.config.get_target_session_attrs());
            assert!(attributes.eq([TargetSessionAttrs::ReadWrite; 2]), "{url}");
        }
        for url in ["postgres://agora@one:x,two/agora", "postgres://agora@one,two:x/agora", "postgres"] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn parameters_about_tls_that_would_have_no_effect_are_refused_by_name() {
        let connector = |parameters: &str| {
            let url = format!("postgres://agora:hunter2@localhost/agora?{parameters}");
            Connector::new(&url, &Options::default()).map(drop)
        };
        for name in ["sslcert", "sslkey", "sslpassword", "sslcrl", "sslcrldir", "sslnegotiation", "sslsni", "ssl"] {
            let error = connector(&format!("sslmode=verify-full&{name}=hunter2")).unwrap_err();
            assert!(matches!(&error, OpenError::Parameter(refused) if refused == name), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
        connector("sslmode=disable&application_name=other").unwrap();
    }
}
