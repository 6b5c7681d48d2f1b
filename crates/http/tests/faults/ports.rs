//! The service on mocked ports.

use std::net::TcpListener;

use agora_domain::Error;
use agora_domain::products::CatalogVersion;
use agora_http::{LoadLimits, ReplicaServices, Settings, serve};
use uuid::Uuid;

pub(super) use super::services::Ports;
use super::services::settings;
use crate::client::{Client, PUBLIC_URL};
use crate::contract;

impl Ports {
    /// Starts a server on these ports. Returns a client, which checks responses against the OpenAPI document.
    pub(super) fn start(self) -> Client {
        self.start_with_replica(None)
    }

    /// Does the same, with lists read from a replica if there is one.
    pub(super) fn start_with_replica(self, replica: Option<ReplicaServices>) -> Client {
        let settings = Settings {
            request_time: self.request_time,
            load: LoadLimits { body_time: self.request_time, ..self.load },
            stopping: self.stopping.clone(),
            ..settings(PUBLIC_URL)
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap())).checking(contract::check);
        tokio::spawn(serve(listener, self.services(), replica, settings).unwrap());
        client
    }

    /// Starts a server whose catalog cannot be listed, with this error. Returns a client.
    pub(super) fn with_failing_listing(error: impl Fn() -> Error + Send + 'static) -> Client {
        let mut ports = Self::default();
        ports.products.expect_version().returning(|| Ok(CatalogVersion::new(Uuid::nil())));
        ports.products.expect_list().returning(move |_, _| Err(error()));
        ports.start()
    }
}
