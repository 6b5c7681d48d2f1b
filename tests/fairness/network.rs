//! A service with a network in it that holds all that is dear to read.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use agora_domain::{
    accounts::{TokenClaims, TokenIssuer as _},
    clock::Timestamp,
    id::{SessionId, UserId},
};
use agora_security::JwtIssuer;
use reqwest::Method;

use crate::{
    api::{PASSWORD, User, key, list, text},
    names::{Changing, Names, digits, id},
    pictures::noise,
    process::{AGORA, Home, Service, run},
    seed,
    store::Store,
};

/// Who looks at what, and where.
pub(crate) struct Network {
    home: Home,
    pub(crate) store: Store,
    pub(crate) names: Names,
    /// An administrator.
    pub(crate) root: User,
    /// Whose requests are ordinary.
    pub(crate) alice: User,
    /// Who costs others what they get.
    pub(crate) mallory: User,
    issuer: JwtIssuer,
    products: Vec<String>,
}

impl Network {
    /// Makes it, in a fresh database.
    pub(crate) async fn new(store: Store) -> Self {
        let home = Home::new();
        let service = start(&home, &store);
        let api = &service.api;
        let root = api.log_in("root").await;
        let (alice, mallory) = (api.user("alice").await, api.user("mallory").await);
        api.register("bob").await.expect(201);
        let picture = noise();
        let [seen, own] = [api.post(&alice, "Hello", None).await, api.post(&mallory, "Hello", Some(&picture)).await];
        service.stop();

        let names = Names::new([
            ("alice", alice.id.clone()),
            ("mallory", mallory.id.clone()),
            ("seen", text(&seen["id"])),
            ("own", text(&own["id"])),
            ("image", key(&own["image"])),
            ("password", PASSWORD.to_owned()),
            ("among hidden", "2026-01-01T00:04:10Z".to_owned()),
            ("before all", "2025-12-31T00:00:00Z".to_owned()),
        ]);
        store.fill(&home, &names, seed::ROWS);
        fs::write(home.path("catalog.jsonl"), seed::catalog()).unwrap();
        let mut import = program(&home, &store);
        run(
            {
                import.args(["products", "import", "catalog.jsonl"]);
                import
            },
            "",
        )
        .expect_success();

        let issuer = JwtIssuer::new(home.secret().trim().as_bytes(), Duration::from_secs(3600));
        let mut network = Self { home, store, names, root, alice, mallory, issuer, products: Vec::new() };
        let service = network.start();
        let products = service.api.call(&network.mallory, Method::GET, "/api/products").await.expect(200).json();
        network.products = list(&products["products"]).iter().map(|product| text(&product["id"])).collect();
        service.stop();
        network
    }

    /// Starts a service that has done nothing yet.
    pub(crate) fn start(&self) -> Service {
        self.store.settle();
        start(&self.home, &self.store)
    }

    /// What a word stands for in the request of a number.
    pub(crate) fn changing(&self, changing: Changing, number: u64) -> String {
        match changing {
            Changing::Number => digits(number),
            Changing::Product => self.products[number as usize % self.products.len()].clone(),
            Changing::Token => {
                let user = UserId::new(id("user", 2).parse().unwrap());
                let session = SessionId::new(id("session", number).parse().unwrap());
                self.issuer.issue(TokenClaims { user, session }, now()).unwrap()
            }
        }
    }
}

/// A program that serves these data, with all other settings as they are by default. Clients say where they come from.
fn program(home: &Home, store: &Store) -> std::process::Command {
    let mut command = home.program(&std::env::var("AGORA_FAIRNESS_BINARY").unwrap_or(AGORA.to_owned()));
    command.envs(store.variable()).env("AGORA_DATA_DIR", home.data_dir()).env("AGORA_LISTEN", "127.0.0.1:0");
    command.env("AGORA_TRUSTED_PROXIES", "127.0.0.1");
    command
}

fn start(home: &Home, store: &Store) -> Service {
    let mut command = program(home, store);
    command.env("AGORA_ADMIN_USERNAME", "root").env("AGORA_ADMIN_EMAIL", "root@example.org");
    command.env("AGORA_ADMIN_PASSWORD", PASSWORD);
    Service::start(command)
}

#[allow(clippy::disallowed_methods, reason = "tokens are made beside the service, whose clock is the system's")]
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp::from_unix_millis(i64::try_from(since.as_millis()).unwrap())
}
