//! A TCP proxy between a service and a server, by which tests simulate network failures.

#![allow(dead_code, reason = "each test uses a part")]

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, tcp};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::port::{Open, Port};

/// The behaviour of the simulated network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// Everything is forwarded.
    Works,
    /// Nothing is forwarded, and no error occurs: data is held back until the network works again.
    Swallows,
    /// New connections are refused.
    Refuses,
}

/// A TCP port whose connections are forwarded to another one.
pub(crate) struct Proxy {
    /// The address to connect to.
    pub(crate) address: SocketAddr,
    network: watch::Sender<Network>,
    /// How often all connections have been closed.
    cuts: watch::Sender<usize>,
    /// How often all connections have been lost silently.
    losses: watch::Sender<usize>,
    run: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let port = Port::new();
        let (address, open) = (port.address(), port.open());
        let network = watch::Sender::new(Network::Works);
        let (cuts, losses) = (watch::Sender::new(0), watch::Sender::new(0));
        let ends = Ends { cuts: cuts.subscribe(), losses: losses.subscribe() };
        let run = tokio::spawn(run(port, open, target, network.subscribe(), ends));
        Self { address, network, cuts, losses, run }
    }

    pub(crate) fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Closes all current connections.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Loses all current connections: they stay open, but nothing is forwarded over them any more. New ones work.
    pub(crate) fn lose(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.run.abort();
    }
}

/// The events that end a connection.
#[derive(Clone)]
struct Ends {
    cuts: watch::Receiver<usize>,
    losses: watch::Receiver<usize>,
}

async fn run(port: Port, mut open: Open, target: SocketAddr, mut network: watch::Receiver<Network>, ends: Ends) {
    let mut connections = JoinSet::new();
    loop {
        let refuses = network.clone();
        tokio::select! {
            accepted = open.accept() => {
                let stream = accepted.unwrap();
                connections.spawn(until_it_ends(ends.clone(), carry(stream, target, network.clone())));
            }
            () = reaches(refuses, Network::Refuses) => {
                drop(open);
                network.wait_for(|network| *network != Network::Refuses).await.unwrap();
                open = port.open();
            }
        }
    }
}

async fn reaches(mut network: watch::Receiver<Network>, wanted: Network) {
    network.wait_for(|network| *network == wanted).await.unwrap();
}

async fn until_it_ends(mut ends: Ends, carry: impl Future<Output = ()>) {
    ends.cuts.mark_unchanged();
    ends.losses.mark_unchanged();
    let mut carry = pin!(carry);
    tokio::select! {
        _ = ends.cuts.changed() => {}
        _ = ends.losses.changed() => std::future::pending().await,
        () = &mut carry => {}
    }
}

async fn carry(near: TcpStream, target: SocketAddr, network: watch::Receiver<Network>) {
    // A connection that is opened while the network swallows waits.
    let far = async {
        let mut works = network.clone();
        works.wait_for(|network| *network != Network::Swallows).await.ok()?;
        TcpStream::connect(target).await.ok()
    };
    let Some(far) = far.await else { return };
    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
    // The end of either direction closes both.
    tokio::select! {
        () = copy(near_in, far_out, network.clone()) => {}
        () = copy(far_in, near_out, network.clone()) => {}
    }
}

async fn copy(mut from: tcp::OwnedReadHalf, mut to: tcp::OwnedWriteHalf, mut network: watch::Receiver<Network>) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let works = network.wait_for(|network| *network != Network::Swallows).await.is_ok();
        if !works || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
