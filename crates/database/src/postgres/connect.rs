//! Making connections to PostgreSQL: parsing of the URL, TLS by its `sslmode`, session settings, and failover.

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

/// TCP keepalive, by which either side notices that the other vanished: after this much silence, it sends this number of probes
/// at this interval.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(3);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
const KEEPALIVE_PROBES: u32 = 3;

/// How long sent data may stay unacknowledged before the other side counts as gone.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the server that took the last connection is tried alone before the other servers of the URL are tried as well.
const HEAD_START: Duration = Duration::from_secs(1);

/// Makes the server check every second whether the client of a running statement is still connected, and cancel statements
/// that nobody waits for. Servers before version 14 do not have the setting; some systems cannot do it.
const CHECK_CLIENT: &str = "SELECT set_config(name, '1000', false) FROM pg_settings \
    WHERE name = 'client_connection_check_interval' AND source <> 'client'";

/// Returns the settings of every session: how long a statement may take and wait for a lock, and that what a lost client
/// left open ends soon after. Settings in the URL take precedence.
///
/// They are made after the connection, since poolers refuse a connection that begins with settings.
fn settings(options: &Options) -> Vec<(&'static str, String)> {
    vec![
        ("TimeZone", "UTC".to_owned()),
        ("statement_timeout", options.statement_timeout.as_millis().to_string()),
        ("lock_timeout", options.lock_timeout().as_millis().to_string()),
        ("idle_in_transaction_session_timeout", "30s".to_owned()),
        ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().to_string()),
        ("tcp_keepalives_interval", KEEPALIVE_INTERVAL.as_secs().to_string()),
        ("tcp_keepalives_count", KEEPALIVE_PROBES.to_string()),
        ("tcp_user_timeout", TCP_USER_TIMEOUT.as_millis().to_string()),
    ]
}

/// Returns the statement that makes these settings, except those that the connection began with.
fn set_config_statement(settings: &[(&str, String)]) -> String {
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
        _ => return Err(OpenError::Url("sslmode must be disable, allow, prefer, require, verify-ca or verify-full")),
    })
}

/// How to avoid the most frequent mistake in a URL.
const URL_HINT: &str =
    "in a user name or password, write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, % as %25 and a space as %20";

/// Returns the URL of each server that a URL names, as in `postgres://user@one:5432,two:5432/database`.
pub fn url_of_each_server(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return vec![url.to_owned()] };
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{rest}")).collect()
}

/// The parsed URL of one server.
struct Target {
    config: tokio_postgres::Config,
    proof: Proof,
    /// The PEM file of the trusted certificate authorities.
    authorities: Option<String>,
    /// Whether the URL configures TCP keepalive.
    has_keepalives: bool,
    server: String,
}

impl Target {
    fn parse(url: &str) -> Result<Self, OpenError> {
        let mut url = Url::parse(url).map_err(|_| OpenError::Url(URL_HINT))?;
        // In a PostgreSQL URL, unlike in an encoded form, a plus sign does not mean a space.
        let query = url.query().map(|query| query.replace('+', "%2B"));
        url.set_query(query.as_deref());
        let parameters: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let get = |name: &str| parameters.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str());
        let (ssl_mode, proof) = parse_ssl_mode(get("sslmode").unwrap_or("prefer"))?;
        let authorities = get("sslrootcert").map(str::to_owned);
        let has_keepalives = parameters.iter().any(|(name, _)| name.starts_with("keepalives"));
        let (of_tls, others): (Vec<_>, Vec<_>) = parameters.iter().partition(|(name, _)| name.starts_with("ssl"));
        // Ignoring a parameter that somebody relies on, such as a list of revoked certificates, would be worse than refusing
        // the URL.
        if let Some((name, _)) = of_tls.iter().find(|(name, _)| !matches!(name.as_str(), "sslmode" | "sslrootcert")) {
            return Err(OpenError::Parameter(name.clone()));
        }
        url.query_pairs_mut().clear().extend_pairs(others);
        let query = url.query().filter(|query| !query.is_empty()).map(|query| query.replace('+', "%20"));
        url.set_query(query.as_deref());
        let mut config = tokio_postgres::Config::from_str(url.as_str())
            .map_err(|_| OpenError::Url("it must look like postgres://user:password@host:5432/database"))?;
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

/// A connection, and the handle of the task that drives it; aborting that ends the connection.
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
        // Unused if the URL disables TLS.
        let (client, connection) = self.config.connect(tls.clone()).await?;
        let driver = tokio::spawn(connection).abort_handle();
        let conn = AsyncPgConnection::try_from(client).await?;
        let settings = set_config_statement(settings);
        // Both in one round trip.
        let (mut one, mut other) = (&conn, &conn);
        let (set, checks) = join(one.batch_execute(&settings), other.batch_execute(CHECK_CLIENT)).await;
        set?;
        if let Err(error) = checks {
            tracing::debug!(%error, "could not set client_connection_check_interval");
        }
        Ok((conn, driver))
    }
}

/// Makes connections to the database of one URL.
#[derive(Clone)]
pub(crate) struct Connector {
    servers: Arc<[Server]>,
    /// Whether to wait for a failover if no server takes writes: there are several servers, or one host name leads to several.
    should_await_failover: bool,
    /// The index of the server that took the last connection.
    preferred: Arc<AtomicUsize>,
    /// When a connection last went to another server than the one before.
    last_switch: Arc<Mutex<Option<Instant>>>,
    settings: Vec<(&'static str, String)>,
    tls: MakeRustlsConnect,
    /// How long a connection may take to be made.
    timeout: Duration,
    /// How many connections were made to serve requests.
    made: Arc<AtomicU64>,
}

impl Connector {
    /// Parses a URL such as `postgres://user:password@host:5432/database?sslmode=verify-full&sslrootcert=/path/ca.pem`.
    /// `sslmode` defaults to `prefer`, `sslrootcert` to the authorities that the system trusts. Only a server that takes writes
    /// is used if the URL names several, or says `target_session_attrs=read-write`.
    pub(crate) fn new(url: &str, limits: &Options) -> Result<Self, OpenError> {
        let is_one_of_several = url_of_each_server(url).len() > 1;
        let wanted = if is_one_of_several { TargetSessionAttrs::ReadWrite } else { TargetSessionAttrs::Any };
        Self::to(wanted, url, limits)
    }

    /// Does the same for replicas: only servers that take no writes are used.
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
                config.tcp_user_timeout(TCP_USER_TIMEOUT);
            }
            timeout = config.get_connect_timeout().copied().unwrap_or(timeout);
            config.connect_timeout(timeout);
            if tls.is_none() {
                tls = Some(MakeRustlsConnect::new(client_config(proof, authorities.as_deref())?));
            }
            servers.push(Server { host: server, config });
        }
        let tls = tls.ok_or(OpenError::Url(URL_HINT))?;
        let should_await_failover =
            servers.iter().any(|server| server.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite);
        Ok(Self {
            servers: servers.into(),
            should_await_failover,
            preferred: Arc::default(),
            last_switch: Arc::default(),
            settings: settings(limits),
            tls,
            timeout,
            made: Arc::default(),
        })
    }

    /// Returns a connector whose connections make the server use one generic plan of a statement for all values, unless the URL
    /// says otherwise. It is for statements that look rows up by key, or walk an index up to a limit. If the limit is a
    /// parameter, the server does not see that one plan will do, and plans again each time (`plan_tests`), which takes longer
    /// than the read.
    pub(crate) fn with_generic_plans(&self) -> Self {
        let mut this = self.clone();
        this.settings.push(("plan_cache_mode", "force_generic_plan".to_owned()));
        this
    }

    /// Makes a connection, which is driven by the runtime that this is called on.
    pub(crate) async fn connect(&self) -> ConnectionResult<AsyncPgConnection> {
        Ok(self.connect_driven().await?.0)
    }

    /// Makes a connection to open or inspect the database, outside of any request.
    pub(crate) async fn connect_to_open(&self) -> Result<AsyncPgConnection, OpenError> {
        self.connect().await.map_err(|error| OpenError::Connect(error.into()))
    }

    /// Makes a connection like [`connect`](Self::connect). Aborting the returned handle ends it, whatever is in progress on it.
    pub(crate) async fn connect_driven(&self) -> ConnectionResult<Driven> {
        // The driver's own timeout does not cover the handshake, which a server that never answers would draw out.
        let mut reasons = BTreeMap::new();
        if let Ok(Some(made)) = timeout(self.timeout, self.connect_to_any(&mut reasons)).await {
            return Ok(made);
        }
        let reasons = BTreeSet::from_iter(reasons.into_values());
        let is_silent = reasons.is_empty().then(|| format!("PostgreSQL at {}: connection timed out", self.hosts()));
        Err(ConnectionError::BadConnection(Vec::from_iter(reasons.into_iter().chain(is_silent)).join("; ")))
    }

    /// Connects to the server that took the last connection. If that fails or takes longer than [`HEAD_START`], the others are
    /// tried as well, and all of them repeatedly if one may be about to take over. The first one that meets the requirements of
    /// the URL is used. The last failure of each server is left in `reasons`.
    async fn connect_to_any(&self, reasons: &mut BTreeMap<usize, String>) -> Option<Driven> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let attempt = |index: usize, wait: Option<Duration>| async move {
            if let Some(wait) = wait {
                sleep(wait).await;
            }
            (index, self.connect_to(index).await)
        };
        let mut attempts = FuturesUnordered::from_iter([attempt(preferred, None)]);
        let mut ended = timeout(HEAD_START, attempts.next()).await;
        attempts.extend((0..self.servers.len()).filter(|index| *index != preferred).map(|index| attempt(index, None)));
        loop {
            match ended {
                Ok(Some((_, Ok(made)))) => return Some(made),
                Ok(Some((index, Err(reason)))) => {
                    reasons.insert(index, reason);
                    if self.should_await_failover {
                        attempts.push(attempt(index, Some(HEAD_START / 2)));
                    }
                }
                Ok(None) => return None,
                Err(_) => {}
            }
            ended = Ok(attempts.next().await);
        }
    }

    async fn connect_to(&self, index: usize) -> Result<Driven, String> {
        let server = self.servers.get(index).ok_or("there is no such server")?;
        let made = server.connect(&self.tls, &self.settings).await;
        let made = made.map_err(|error| format!("PostgreSQL at {}{}", server.host, with_causes(&*error)))?;
        if self.preferred.swap(index, Ordering::Relaxed) != index {
            *lock(&self.last_switch) = Some(Instant::now());
        }
        Ok(made)
    }

    /// Returns whether connections lead to another server than at the time `made`. The former server may no longer take writes
    /// and not know of it yet.
    pub(crate) fn has_failed_over_since(&self, made: Instant) -> bool {
        self.servers.len() > 1 && lock(&self.last_switch).is_some_and(|last_switch| made < last_switch)
    }

    /// Returns how many connections were made to serve requests. As long as the number is the same, they lead to the same
    /// database as before, and not to an older state of it or to a replica that had not received everything.
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
fn with_causes(error: &dyn std::error::Error) -> String {
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
    let verifier = Arc::new(LenientVerifier { verifier, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Returns the authorities in a PEM file, or those that the system trusts.
fn roots(file: Option<&str>) -> Result<RootCertStore, OpenError> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let failed = |error: &dyn Display| OpenError::Tls(format!("sslrootcert {path}: {error}").into());
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
                let certificate = certificate.map_err(|error| failed(&error))?;
                roots.add(certificate).map_err(|error| failed(&error))?;
            }
            if roots.is_empty() {
                return Err(failed(&"the file contains no certificate"));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

/// Verifies what `require` and `verify-ca` ask of a certificate: nothing, or that a known authority signed it, for any
/// host. That the server has the certificate's private key is checked in any case.
#[derive(Debug)]
struct LenientVerifier {
    verifier: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for LenientVerifier {
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
