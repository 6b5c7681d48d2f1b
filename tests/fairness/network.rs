//! A service with a social network that has everything that is expensive to read.

use std::fs;

use reqwest::Method;

use crate::client::{PASSWORD, User, key, list, text};
use crate::names::Names;
use crate::picture::noise;
use crate::process::{AGORA, Home, Service, run};
use crate::requests::KnownIds;
use crate::seed;
use crate::store::Store;

/// The stored network, and the accounts that send requests.
pub(crate) struct Network {
    pub(crate) home: Home,
    pub(crate) store: Store,
    /// The user who sends ordinary requests.
    pub(crate) alice: User,
    /// The tokens and identifiers for the expensive requests.
    pub(crate) known: KnownIds,
}

impl Network {
    /// Creates the network in an empty database.
    pub(crate) async fn new(store: Store) -> Self {
        let home = Home::new();
        let service = start(&home, &store);
        let api = &service.api;
        let root = api.log_in("root").await;
        let (alice, mallory) = (api.user("alice").await, api.user("mallory").await);
        api.register("bob").await.expect(201);
        let administrator = api.get(&root, "/api/users/me").await.expect(200).data();
        let picture = noise(1180);
        let seen = api.post(&alice, "Hello", None).await;
        let shown = api.post(&mallory, "Hello", Some(&picture)).await;
        let own = api.post(&mallory, "Hello", Some(&picture)).await;
        service.stop();

        let names = Names::new([
            ("alice", alice.id.clone()),
            ("mallory", mallory.id.clone()),
            ("root", text(&administrator["id"])),
            ("seen", text(&seen["id"])),
            ("own", text(&own["id"])),
            ("image", key(&shown["image"])),
            ("password", PASSWORD.to_owned()),
            ("among hidden", "2026-01-01T00:04:10Z".to_owned()),
            ("before all", "2025-12-31T00:00:00Z".to_owned()),
        ]);
        store.fill(&home, &names, seed::ROWS);
        fs::write(home.path("catalog.jsonl"), seed::catalog()).unwrap();
        let mut import = program(&home, &store);
        import.args(["products", "import", "catalog.jsonl"]);
        run(import, "").expect_success();

        let service = start(&home, &store);
        let products = service.api.call(&mallory, Method::GET, "/api/products").await.expect(200).json();
        let products = list(&products["products"]).iter().map(|product| text(&product["id"])).collect();
        service.stop();
        let secret = home.secret().trim().to_owned();
        let known = KnownIds { names, mallory: mallory.token, root: root.token, secret, products };
        Self { home, store, alice, known }
    }

    /// Starts a fresh service process on the network.
    pub(crate) fn start(&self) -> Service {
        self.store.settle();
        start(&self.home, &self.store)
    }
}

/// Returns a command for the service on these data, with default settings otherwise. Clients choose their addresses by
/// `X-Forwarded-For`. The service runs in a session of its own, by which Linux schedules; the clients run in another.
fn program(home: &Home, store: &Store) -> std::process::Command {
    let mut command = home.program("setsid");
    command.arg(std::env::var("AGORA_FAIRNESS_BINARY").unwrap_or(AGORA.to_owned()));
    command.envs(store.variable()).env("AGORA_DATA_DIR", home.data_dir()).env("AGORA_LISTEN", "127.0.0.1:0");
    command.env("AGORA_TRUSTED_PROXIES", "127.0.0.1");
    // An unreachable server: mails stay queued, and are retried repeatedly.
    command.env("AGORA_SMTP_URL", "smtp://127.0.0.1:9?tls=none").env("AGORA_MAIL_FROM", "agora@example.org");
    command
}

fn start(home: &Home, store: &Store) -> Service {
    let mut command = program(home, store);
    command.env("AGORA_ADMIN_USERNAME", "root").env("AGORA_ADMIN_EMAIL", "root@example.org");
    command.env("AGORA_ADMIN_PASSWORD", PASSWORD);
    Service::start(command)
}
