//! Clients that disconnect before they get a response.

use agora_domain::replica::MockReadReplica;

use super::*;

/// Sends a request over a new connection.
async fn begin(api: &Client, request: &[u8]) -> net::TcpStream {
    let mut connection = net::TcpStream::connect(api.url().trim_start_matches("http://")).await.unwrap();
    connection.write_all(request).await.unwrap();
    connection
}

/// Resets the connection, so that the server sees that the client is gone, and not merely done with sending.
fn disconnect(connection: net::TcpStream) {
    connection.set_zero_linger().unwrap();
}

/// Waits until the only worker thread answers a request, so that it has processed what happened before.
async fn wait_for_worker(api: &Client) {
    get(api, "/health/live").await.expect(200);
}

/// A hasher whose calls of `verify` are reported as well, and wait for a permit too.
struct SteppedVerifier(Arc<SteppedHasher>);

#[async_trait]
impl PasswordHasher for SteppedVerifier {
    async fn hash(&self, password: &Password, requester: &Requester) -> Result<PasswordHash> {
        self.0.hash(password, requester).await
    }

    async fn verify(
        &self,
        attempt: &PasswordAttempt,
        hash: Option<PasswordHash>,
        requester: &Requester,
    ) -> Result<bool> {
        self.0.calls.send(()).unwrap();
        self.0.permits.acquire().await.unwrap().forget();
        self.0.verify(attempt, hash, requester).await
    }

    fn needs_rehash(&self, hash: &PasswordHash) -> bool {
        self.0.needs_rehash(hash)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_under_a_key_is_completed_after_its_client_disconnects() {
    let (hasher, mut calls) = SteppedHasher::new(|| Ok(PasswordHash::new("hashed".to_owned())));
    let mut ports = Ports { passwords: hasher.clone(), ..Ports::default() };
    ports.accounts.expect_find_id().returning(|_| Ok(None));
    ports.idempotency.expect_begin().once().returning(|_, _, _, _| Ok(Begun::First));
    let (created, mut was_created) = mpsc::unbounded_channel();
    ports.accounts.expect_create().once().returning(move |_, attempt| {
        created.send(attempt).unwrap();
        Ok(())
    });
    let api = ports.start();
    let impatient = tokio::spawn(async move { register_once(&api).await });
    calls.recv().await.unwrap();
    impatient.abort();
    assert!(impatient.await.unwrap_err().is_cancelled());
    hasher.permits.add_permits(1);
    assert!(was_created.recv().await.unwrap().is_some(), "it is part of the attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_completed_after_its_client_disconnects() {
    let (hasher, mut calls) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    let mut ports = Ports { passwords: Arc::new(SteppedVerifier(hasher.clone())), ..with_member() };
    ports.accounts.expect_find_password().returning(|_| Ok(Some(PasswordHash::new("stored".to_owned()))));
    ports.sessions.expect_invalidate_account().return_const(());
    let (deleted, mut was_deleted) = mpsc::unbounded_channel();
    ports.deletions.expect_delete().once().returning(move |_, _| {
        deleted.send(()).unwrap();
        Ok(None)
    });
    let api = ports.start();
    let fields = format!("{JSON}Authorization: Bearer token\r\n");
    let body = json!({ "currentPassword": PASSWORD }).to_string();
    let impatient = begin(&api, &request_bytes("DELETE /api/users/me", &fields, body)).await;
    calls.recv().await.unwrap();
    disconnect(impatient);
    wait_for_worker(&api).await;
    hasher.permits.add_permits(1);
    was_deleted.recv().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_replica_a_write_is_recorded_at_its_end_even_if_its_client_disconnects() {
    let (hasher, mut calls) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    let mut ports = Ports { passwords: Arc::new(SteppedVerifier(hasher.clone())), ..with_member() };
    ports.accounts.expect_find_password().returning(|_| Ok(Some(PasswordHash::new("stored".to_owned()))));
    let (recorded, mut was_recorded) = mpsc::unbounded_channel();
    let mut replica = MockReadReplica::new();
    replica.expect_record_write().once().returning(move |user| {
        recorded.send(user).unwrap();
        Ok(())
    });
    let services = Ports::default().services();
    let api = ports.start_with_replica(Some(ReplicaServices { replica: Arc::new(replica), services }));
    let fields = format!("{JSON}Authorization: Bearer token\r\n");
    let body = json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD }).to_string();
    let impatient = begin(&api, &request_bytes("PUT /api/users/me/password", &fields, body)).await;
    calls.recv().await.unwrap();
    disconnect(impatient);
    wait_for_worker(&api).await;
    assert!(was_recorded.is_empty());
    // The password is checked, and the new one is hashed.
    hasher.permits.add_permits(2);
    assert_eq!(was_recorded.recv().await.unwrap(), UserId::new(Uuid::from_u128(1)));
}

/// A service where registrations under an `Idempotency-Key` wait for a permit to hash, which ends as `outcome` says.
pub(super) struct SlowRegistrations {
    api: Client,
    hasher: Arc<SteppedHasher>,
    calls: mpsc::UnboundedReceiver<()>,
    abandoned: mpsc::UnboundedReceiver<()>,
}

impl SlowRegistrations {
    pub(super) fn start(load: LoadLimits, outcome: fn() -> Result<PasswordHash>) -> Self {
        let (hasher, calls) = SteppedHasher::new(outcome);
        let mut ports = Ports { passwords: hasher.clone(), load, ..Ports::default() };
        ports.accounts.expect_find_id().returning(|_| Ok(None));
        ports.idempotency.expect_begin().returning(|_, _, _, _| Ok(Begun::First));
        let (told, abandoned) = mpsc::unbounded_channel();
        ports.idempotency.expect_abandon().returning(move |_| {
            told.send(()).unwrap();
            Ok(())
        });
        Self { api: ports.start(), hasher, calls, abandoned }
    }

    /// Begins a registration, disconnects its client while it waits, and returns once the service has noticed.
    pub(super) async fn begin_and_disconnect(&mut self) {
        let fields = format!("{JSON}Idempotency-Key: key\r\n");
        let request = request_bytes("POST /api/auth/register", &fields, registration("alice").to_string());
        let impatient = begin(&self.api, &request).await;
        self.calls.recv().await.unwrap();
        disconnect(impatient);
        wait_for_worker(&self.api).await;
    }

    /// Lets the registration finish, and waits for it.
    pub(super) async fn finish(&mut self) {
        self.hasher.permits.add_permits(1);
        self.abandoned.recv().await.unwrap();
        wait_for_worker(&self.api).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_counts_as_in_flight_until_its_end_even_if_its_client_disconnects() {
    let load = LoadLimits { requests: 1, ..LoadLimits::default() };
    let mut slow = SlowRegistrations::start(load, || Err(Error::unavailable(SECRET)));
    slow.begin_and_disconnect().await;
    assert_eq!(slow.api.fetch("/api/users/me").await.status, 503);
    slow.finish().await;
    assert_eq!(slow.api.fetch("/api/users/me").await.status, 401);
}
