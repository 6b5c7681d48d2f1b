//! Clients that go away before they are answered.

use agora_domain::replica::MockReadReplica;

use super::*;

/// Sends a request over a connection of its own.
async fn begin(api: &Client, request: &[u8]) -> net::TcpStream {
    let mut connection = net::TcpStream::connect(api.url().trim_start_matches("http://")).await.unwrap();
    connection.write_all(request).await.unwrap();
    connection
}

/// Goes away: its client is not only done with sending.
fn leave(connection: net::TcpStream) {
    connection.set_zero_linger().unwrap();
}

/// Has the one thread that serves answer, whatever is in flight: what came before has been seen to then.
async fn see_to_the_rest(api: &Client) {
    get(api, "/health/live").await.expect(200);
}

/// Says when it is asked whether a password is right, and goes on when it is let.
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
        self.0.asked.send(()).unwrap();
        self.0.let_go.acquire().await.unwrap().forget();
        self.0.verify(attempt, hash, requester).await
    }

    fn needs_rehash(&self, hash: &PasswordHash) -> bool {
        self.0.needs_rehash(hash)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_is_carried_out_though_its_client_goes_away() {
    let (hasher, mut was_asked) = SteppedHasher::new(|| Ok(PasswordHash::new("hashed".to_owned())));
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
    was_asked.recv().await.unwrap();
    impatient.abort();
    assert!(impatient.await.unwrap_err().is_cancelled());
    hasher.let_go.add_permits(1);
    assert!(was_created.recv().await.unwrap().is_some(), "it is part of the attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_carried_out_though_its_client_goes_away() {
    let (hasher, mut was_asked) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    let mut ports = Ports { passwords: Arc::new(SteppedVerifier(hasher.clone())), ..with_member() };
    ports.accounts.expect_find_password().returning(|_| Ok(Some(PasswordHash::new("stored".to_owned()))));
    ports.sessions.expect_account_changed().return_const(());
    let (deleted, mut was_deleted) = mpsc::unbounded_channel();
    ports.deletions.expect_delete().once().returning(move |_, _| {
        deleted.send(()).unwrap();
        Ok(None)
    });
    let api = ports.start();
    let fields = format!("{JSON}Authorization: Bearer token\r\n");
    let body = json!({ "currentPassword": PASSWORD }).to_string();
    let impatient = begin(&api, &request_bytes("DELETE /api/users/me", &fields, body)).await;
    was_asked.recv().await.unwrap();
    leave(impatient);
    see_to_the_rest(&api).await;
    hasher.let_go.add_permits(1);
    was_deleted.recv().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_lists_are_read_from_a_replica_a_write_is_recorded_when_it_has_ended_though_its_client_goes_away() {
    let (hasher, mut was_asked) = SteppedHasher::new(|| Err(Error::unavailable(SECRET)));
    let mut ports = Ports { passwords: Arc::new(SteppedVerifier(hasher.clone())), ..with_member() };
    ports.accounts.expect_find_password().returning(|_| Ok(Some(PasswordHash::new("stored".to_owned()))));
    let (recorded, mut was_recorded) = mpsc::unbounded_channel();
    let mut replica = MockReadReplica::new();
    replica.expect_record_write().once().returning(move |user| {
        recorded.send(user).unwrap();
        Ok(())
    });
    let services = Ports::default().services();
    let api = ports.start_beside(Some(ReplicaServices { replica: Arc::new(replica), services }));
    let fields = format!("{JSON}Authorization: Bearer token\r\n");
    let body = json!({ "currentPassword": PASSWORD, "newPassword": PASSWORD }).to_string();
    let impatient = begin(&api, &request_bytes("PUT /api/users/me/password", &fields, body)).await;
    was_asked.recv().await.unwrap();
    leave(impatient);
    see_to_the_rest(&api).await;
    assert!(was_recorded.is_empty());
    // The password is checked, and the new one is hashed.
    hasher.let_go.add_permits(2);
    assert_eq!(was_recorded.recv().await.unwrap(), UserId::new(Uuid::from_u128(1)));
}

/// A service where registrations under a key wait for a hash, which then fails.
pub(super) struct SlowRegistrations {
    api: Client,
    hasher: Arc<SteppedHasher>,
    asked: mpsc::UnboundedReceiver<()>,
    abandoned: mpsc::UnboundedReceiver<()>,
}

impl SlowRegistrations {
    pub(super) fn start(load: LoadLimits, outcome: fn() -> Result<PasswordHash>) -> Self {
        let (hasher, asked) = SteppedHasher::new(outcome);
        let mut ports = Ports { passwords: hasher.clone(), load, ..Ports::default() };
        ports.accounts.expect_find_id().returning(|_| Ok(None));
        ports.idempotency.expect_begin().returning(|_, _, _, _| Ok(Begun::First));
        let (told, abandoned) = mpsc::unbounded_channel();
        ports.idempotency.expect_abandon().returning(move |_| {
            told.send(()).unwrap();
            Ok(())
        });
        Self { api: ports.start(), hasher, asked, abandoned }
    }

    /// Begins one whose client has gone when it waits, and returns when the service has seen that.
    pub(super) async fn begin_and_leave(&mut self) {
        let fields = format!("{JSON}Idempotency-Key: key\r\n");
        let request = request_bytes("POST /api/auth/register", &fields, registration("alice").to_string());
        let impatient = begin(&self.api, &request).await;
        self.asked.recv().await.unwrap();
        leave(impatient);
        see_to_the_rest(&self.api).await;
    }

    /// Lets it come to its end.
    pub(super) async fn end(&mut self) {
        self.hasher.let_go.add_permits(1);
        self.abandoned.recv().await.unwrap();
        see_to_the_rest(&self.api).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_out_after_its_client_has_gone_is_in_flight_until_then() {
    let load = LoadLimits { requests: 1, ..LoadLimits::default() };
    let mut slow = SlowRegistrations::start(load, || Err(Error::unavailable(SECRET)));
    slow.begin_and_leave().await;
    assert_eq!(slow.api.fetch("/api/users/me").await.status, 503);
    slow.end().await;
    assert_eq!(slow.api.fetch("/api/users/me").await.status, 401);
}
