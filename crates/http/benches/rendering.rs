//! Benchmarks of rendering a page of posts, encoding and decoding cursors, and counting a request:
//! `cargo bench -p agora-http --features bench`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use agora_domain::accounts::{Author, Email, Username};
use agora_domain::clock::Timestamp;
use agora_domain::id::{PostId, UserId};
use agora_domain::page::{Keyset, Page, Position};
use agora_domain::posts::{Liker, Post, PostText, PostView, Visibility};
use agora_http::MacKeys;
use agora_http::bench::{Rendering, count, decode_cursor, encode_cursor};
use divan::Bencher;
use prometheus_client::registry::Registry;
use uuid::Uuid;

use crate::services::{Ports, settings};

#[allow(dead_code, reason = "no service is started")]
#[path = "../tests/faults/services.rs"]
mod services;

const AT: Timestamp = Timestamp::from_unix_millis(1_752_539_094_124);

/// Returns a post with this many likers.
fn post(likers: u128) -> PostView {
    let liker = |n| Liker {
        id: UserId::new(Uuid::from_u128(n)),
        username: Username::parse(&format!("somebody{n}")).unwrap(),
        profile_picture: None,
    };
    let author = UserId::new(Uuid::from_u128(1));
    PostView {
        post: Post {
            id: PostId::new(Uuid::from_u128(2)),
            author,
            text: PostText::parse("A post of ordinary length, as people write them: a sentence or two.").unwrap(),
            entities: None,
            attachments: Vec::new(),
            visibility: Visibility::Public,
            is_hidden: false,
            created_at: AT,
            updated_at: AT,
        },
        author: Author {
            id: author,
            username: Username::parse("author").unwrap(),
            email: Email::parse("author@example.org").unwrap(),
            display_name: None,
            biography: None,
            profile_picture: None,
        },
        liked_by: (0..likers).map(liker).collect(),
        like_count: 50,
        liked_by_viewer: false,
        comment_count: 3,
        bookmarked_by_viewer: false,
    }
}

/// Renders a page of 20 posts, each with this many likers.
#[divan::bench(args = [0, 5, 50])]
fn page_of_posts(bencher: Bencher, likers: u128) {
    let rendering = Rendering::new(Ports::default().services(), settings("https://agora.example.org")).unwrap();
    let page = Page { items: (0..20).map(|_| post(likers)).collect(), keys: Vec::new(), prev: None, next: None };
    bencher.bench_local(|| assert!(rendering.posts(&page)));
}

#[divan::bench]
fn cursor(bencher: Bencher) {
    let mac_keys = MacKeys::new(b"a secret");
    let position = Position::After(Keyset { at: AT, id: Uuid::from_u128(7) });
    bencher.bench(|| {
        let cursor = encode_cursor(&mac_keys, divan::black_box(position)).unwrap();
        decode_cursor(&mac_keys, &cursor).unwrap()
    });
}

/// Counts a request, as if metrics are exported.
#[divan::bench]
fn counted_request(bencher: Bencher) {
    let metrics = agora_http::metrics::HttpMetrics::register(&mut Registry::default());
    bencher.bench(|| count(&metrics, divan::black_box("/api/posts/by-id/{postId}")));
}

fn main() {
    divan::main();
}
