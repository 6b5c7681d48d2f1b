//! Every list, page by page.

mod world;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, LINK};
use serde_json::{Value, json};

use self::world::{FEED, Kind, List, World, entries};
use crate::support::{PUBLIC_URL, Server};

/// Returns the ids of entries.
fn ids(entries: &[Value]) -> Vec<&str> {
    entries.iter().map(|entry| entry["id"].as_str().unwrap()).collect()
}

/// Returns the decoded parameters of a query, in their order.
fn parameters(path: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(path.split_once('?').unwrap_or_default().1.as_bytes()).into_owned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_every_list_make_up_the_whole() {
    let world = World::start().await;
    for list in world.lists() {
        let whole = world.whole(&list).await;
        assert_eq!(whole.len(), if list.kind == Kind::Follows { 4 } else { 5 }, "{}", list.path);
        for size in [1, 2, 3, 4, 5, 100] {
            let mut path = format!("{}{}size={size}", list.path, if list.path.contains('?') { '&' } else { '?' });
            let mut back = String::new();
            for page in whole.chunks(size) {
                let answer = world.server.get(&list.reader, &path).await.expect(200);
                assert_eq!(entries(&list, &answer), page, "{path}");
                path = answer.next().unwrap_or_default();
                back = answer.prev().unwrap_or_default();
            }
            assert_eq!(path, "", "there is nothing after the last page");
            for page in whole.chunks(size).rev().skip(1) {
                let answer = world.server.get(&list.reader, &back).await.expect(200);
                assert_eq!(entries(&list, &answer), page, "{back}");
                assert!(answer.next().is_some(), "{back}");
                back = answer.prev().unwrap_or_default();
            }
            assert_eq!(back, "", "there is nothing before the first page");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_absolute_in_one_header_and_keep_the_query_parameters() {
    let world = World::start().await;
    for list in world.lists() {
        // Unknown and duplicate parameters are left out of links.
        let first = world.read(&list, "size=1&unknown=!!!&size=9").await.expect(200);
        let second = world.server.get(&list.reader, &first.next().unwrap()).await.expect(200);
        let link = second.header(LINK).expect("links").to_owned();
        assert_eq!(second.headers.get_all(LINK).iter().count(), 1);
        let (prev, next) = (second.prev().unwrap(), second.next().unwrap());
        assert_eq!(link, format!("<{PUBLIC_URL}{prev}>; rel=\"prev\", <{PUBLIC_URL}{next}>; rel=\"next\""));
        assert_eq!(first.header(LINK), Some(&*format!("<{PUBLIC_URL}{}>; rel=\"next\"", first.next().unwrap())));
        let mut expected = parameters(&list.path);
        expected.push(("size".to_owned(), "1".to_owned()));
        for link in [prev, next] {
            assert_eq!(link.split('?').next(), list.path.split('?').next());
            let (cursors, kept): (Vec<_>, Vec<_>) =
                parameters(&link).into_iter().partition(|(name, _)| name.as_str() == "cursor");
            assert_eq!((cursors.len(), kept), (1, expected.clone()), "{link}");
        }
        for complete in [world.server.get(&list.reader, &list.path).await, world.read(&list, "size=5").await] {
            assert_eq!(complete.expect(200).header(LINK), None, "{}", list.path);
        }
    }
}

/// Returns the cursor in a link.
fn cursor(link: &str) -> String {
    parameters(link).into_iter().find(|(name, _)| name == "cursor").unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_size_or_cursor_is_refused() {
    let world = World::start().await;
    let lists = world.lists();
    for list in &lists {
        for size in ["0", "101", "-1", "x", "1.5", "", "99999999999999999999"] {
            world.read(list, &format!("size={size}")).await.expect_invalid(&["size"]);
        }
        for cursor in ["", "x", "!!!", "AAAA", &"A".repeat(34), &"A".repeat(44)] {
            world.read(list, &format!("cursor={cursor}")).await.expect_invalid(&["cursor"]);
        }
        world.read(list, "size=0&cursor=x").await.expect_invalid(&["cursor", "size"]);
        world.read(list, "size=100").await.expect(200);
    }
    for list in &lists {
        let next = world.read(list, "size=1").await.expect(200).next().unwrap();
        for other in lists.iter().filter(|other| other.kind != list.kind) {
            world.read(other, &format!("cursor={}", cursor(&next))).await.expect_invalid(&["cursor"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modified_cursor_is_refused() {
    let world = World::start().await;
    for list in world.lists() {
        let first = world.read(&list, "size=1").await.expect(200);
        let second = world.server.get(&list.reader, &first.next().unwrap()).await.expect(200);
        for good in [second.prev(), second.next()].map(|link| cursor(&link.unwrap())) {
            world.read(&list, &format!("cursor={good}")).await.expect(200);
            // The first character encodes the list and the direction, the others the rest of the cursor.
            for place in 0..good.len() {
                let other = if &good[place..=place] == "Q" { "g" } else { "Q" };
                let changed = format!("{}{other}{}", &good[..place], &good[place + 1..]);
                world.read(&list, &format!("cursor={changed}")).await.expect_invalid(&["cursor"]);
            }
            for changed in [&good[1..], &good[..good.len() - 1], &good[..36], &format!("{good}A"), &format!("A{good}")]
            {
                world.read(&list, &format!("cursor={changed}")).await.expect_invalid(&["cursor"]);
            }
        }
        // The MAC of one direction is not valid for the other.
        let [before, after] = [second.prev(), second.next()].map(|link| cursor(&link.unwrap()));
        for (one, other) in [(&before, &after), (&after, &before)] {
            let flipped = format!("{}{}", &one[..2], &other[2..]);
            world.read(&list, &format!("cursor={flipped}")).await.expect_invalid(&["cursor"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_another_service_is_refused() {
    let (world, other) = (World::start().await, World::start().await);
    for (list, same) in world.lists().iter().zip(other.lists()) {
        let next = world.read(list, "size=1").await.expect(200).next().unwrap();
        other.read(&same, &format!("cursor={}", cursor(&next))).await.expect_invalid(&["cursor"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_added_during_a_walk_cause_no_skips_or_repetitions() {
    let world = World::start().await;
    for (i, list) in world.lists().iter().enumerate() {
        let before = world.whole(list).await;
        let mut answer = world.read(list, "size=1").await.expect(200);
        let mut walked = entries(list, &answer);
        // One entry per page: in a list that runs newest first, new entries push the old ones towards its end.
        let mut added = 0;
        while let Some(next) = answer.next() {
            if added < 3 {
                world.add(list.kind, &format!("new-{i}-{added}")).await;
                added += 1;
            }
            answer = world.server.get(&list.reader, &next).await.expect(200);
            walked.extend(entries(list, &answer));
        }
        let newest_first = matches!(
            list.kind,
            Kind::Posts | Kind::Bookmarks | Kind::Likes | Kind::Follows | Kind::Directory | Kind::Found
        );
        let after = world.whole(list).await;
        assert_eq!(after.len(), before.len() + added, "{}", list.path);
        let expected = if newest_first { &before } else { &after };
        assert_eq!(ids(&walked), ids(expected), "{}", list.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_continues_if_the_entry_at_its_cursor_was_deleted() {
    let world = World::start().await;
    let list = world.lists().into_iter().find(|list| list.kind == Kind::Comments).unwrap();
    let before = world.whole(&list).await;
    let next = world.read(&list, "size=2").await.expect(200).next().unwrap();
    let prev = world.server.get(&list.reader, &next).await.expect(200).prev().unwrap();
    for gone in [1, 2] {
        let gone = format!("/api/comments/delete/{}", before[gone]["id"].as_str().unwrap());
        world.server.call(&world.author, Method::DELETE, &gone).await.expect(200);
    }
    let rest = world.server.walk(&list.reader, &next, list.entries).await;
    assert_eq!(ids(&rest), ids(&before[3..]));
    let back = world.server.get(&list.reader, &prev).await.expect(200);
    assert_eq!(ids(&entries(&list, &back)), ids(&before[..1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_beyond_either_end_are_empty_and_link_back() {
    let world = World::start().await;
    let list = world.lists().into_iter().find(|list| list.kind == Kind::Comments).unwrap();
    let before = world.whole(&list).await;
    let delete = async |comment: &Value| {
        let path = format!("/api/comments/delete/{}", comment["id"].as_str().unwrap());
        world.server.call(&world.author, Method::DELETE, &path).await.expect(200);
    };
    let read = async |path: Option<String>| world.server.get(&list.reader, &path.unwrap()).await.expect(200);
    let first = world.read(&list, "size=2").await.expect(200);
    let second = read(first.next()).await;
    // Deletes all entries before the second page, and all after it.
    for n in [0, 1, 4] {
        delete(&before[n]).await;
    }
    let (beginning, end) = (read(second.prev()).await, read(second.next()).await);
    for (answer, prev, next) in [(&beginning, None, beginning_of(&list)), (&end, end.prev(), None)] {
        assert_eq!(entries(&list, answer), Vec::<Value>::new());
        assert_eq!((answer.prev(), answer.next()), (prev, next));
    }
    for answer in [read(beginning.next()).await, read(end.prev()).await] {
        assert_eq!(ids(&entries(&list, &answer)), ids(&before[2..4]));
        assert_eq!((answer.prev(), answer.next()), (None, None));
    }
}

/// Returns the address of a list's first page of two entries, which has no cursor.
fn beginning_of(list: &List) -> Option<String> {
    Some(format!("{}?size=2", list.path))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_size_the_feed_and_hashtags_have_20_entries_and_other_lists_have_all() {
    let world = World::start().await;
    for i in 0..18 {
        world.add(Kind::Posts, &format!("more {i}")).await;
    }
    let feed = world.server.get(&world.fan, FEED).await.expect(200);
    assert_eq!(feed.data().as_array().unwrap().len(), 20);
    let next = world.server.get(&world.fan, &feed.next().expect("a link")).await.expect(200);
    assert_eq!((next.data().as_array().unwrap().len(), next.next()), (3, None));
    let back = world.server.get(&world.fan, &next.prev().expect("a link")).await.expect(200);
    assert_eq!((back.data(), back.prev()), (feed.data(), None));

    let tagged = world.server.get(&world.fan, "/api/tags/walked/posts").await.expect(200);
    assert_eq!(tagged.data().as_array().unwrap().len(), 20);

    for path in ["/api/posts/all".to_owned(), format!("/api/posts/{}/all", world.author.id)] {
        let all = world.server.get(&world.root, &path).await.expect(200);
        assert_eq!((all.data().as_array().unwrap().len(), all.next()), (23, None), "{path}");
    }
    let feed = world.server.get(&world.fan, &format!("{FEED}?size=100")).await.expect(200);
    assert_eq!((feed.data().as_array().unwrap().len(), feed.next()), (23, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_size_a_list_has_1000_entries_at_most() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "text", "PUBLIC").await;
    for _ in 0..1001 {
        let body = json!({ "postId": post, "content": "comment" });
        server.call_json(&alice, Method::POST, "/api/comments/create", body).await.expect(201);
    }
    let first = server.get(&alice, &format!("/api/comments/all/{post}")).await.expect(200);
    assert_eq!(first.data().as_array().unwrap().len(), 1000);
    let second = server.get(&alice, &first.next().expect("a link")).await.expect(200);
    assert_eq!((second.data().as_array().unwrap().len(), second.next()), (1, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_has_no_other_pages() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let post = server.publish(&alice, "text", "PRIVATE").await;
    for (path, entries) in [
        (FEED.to_owned(), "data"),
        (format!("/api/posts/{post}/likes"), "data"),
        (format!("/api/comments/all/{post}"), "data"),
        (format!("/api/posts/{post}/comments?order=newest"), "data"),
        (format!("/api/follow/followers/{}", alice.id), "data"),
        (format!("/api/follow/followed/{}", alice.id), "data"),
        (format!("/api/posts/user/{}", server.root().await.id), "data"),
        ("/api/products/findAll".to_owned(), "products"),
        ("/api/products/category/none".to_owned(), "products"),
        ("/api/products".to_owned(), "products"),
    ] {
        let joint = if path.contains('?') { '&' } else { '?' };
        for path in [format!("{path}{joint}size=1"), path] {
            let answer = server.get(&alice, &path).await.expect(200);
            assert_eq!((&answer.json()[entries], answer.header(LINK)), (&json!([]), None), "{path}");
            assert_eq!(answer.header(CONTENT_TYPE), Some("application/json"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_before_a_time_has_only_older_posts() {
    let world = World::start().await;
    let feed = world.server.get(&world.fan, FEED).await.expect(200).data().as_array().unwrap().clone();
    let created = |post: &Value| post["createdAt"].as_str().unwrap().to_owned();
    // All instants have the same notation, so they can be compared as text.
    let older_than = |time: &str| feed.iter().filter(|post| *created(post) < *time).cloned().collect::<Vec<_>>();
    let before = async |time: &str| {
        let path = format!("{FEED}?createAt={time}");
        world.server.get(&world.fan, &path).await.expect(200).data().as_array().unwrap().clone()
    };
    for post in &feed {
        let time = created(post);
        let expected = older_than(&time);
        assert!(!expected.contains(post), "the bound itself is excluded");
        let (zulu, space) = (time.replace("+00:00", "Z"), time.replace('+', "%20"));
        for spelling in [&time, &time.replace('+', "%2B"), &space, &zulu] {
            assert_eq!(before(spelling).await, expected, "{spelling}");
        }
        let date = &time[..10];
        assert_eq!(before(date).await, older_than(&format!("{date}T00:00:00.000+00:00")), "{date}");
    }
    assert_eq!(before("2999-12-31").await, feed);
    assert_eq!(before("2999-12-31T23:59:59-08:00").await, feed);
    assert_eq!(before("2000-01-01").await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_feed_before_a_time_is_paged_too() {
    let world = World::start().await;
    let whole = world.server.get(&world.fan, FEED).await.expect(200).data().as_array().unwrap().clone();
    let path = format!("{FEED}?createAt=2999-12-31T23:59:59.000+00:00&size=2");
    let first = world.server.get(&world.fan, &path).await.expect(200);
    let kept: Vec<_> = parameters(&first.next().unwrap()).into_iter().filter(|(name, _)| name != "cursor").collect();
    assert_eq!(kept, parameters(&path));
    assert_eq!(world.server.walk(&world.fan, &path, "data").await, whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_the_feed_before_a_time_has_newer_posts() {
    let world = World::start().await;
    let whole = world.server.get(&world.fan, FEED).await.expect(200).data().as_array().unwrap().clone();
    let bound = whole[1]["createdAt"].as_str().unwrap();
    let earlier: Vec<_> = whole.iter().filter(|post| post["createdAt"].as_str().unwrap() < bound).cloned().collect();
    // A cursor of the whole feed, of the page before its last entry, is used in the feed before the time of the second post.
    let walk = world.server.get(&world.fan, &format!("{FEED}?size=4")).await.expect(200);
    let last = world.server.get(&world.fan, &walk.next().unwrap()).await.expect(200);
    let path = format!("{FEED}?createAt={bound}&cursor={}", cursor(&last.prev().unwrap()));
    let page = world.server.get(&world.fan, &path).await.expect(200);
    assert_eq!(page.data().as_array().unwrap()[..], earlier[..earlier.len().saturating_sub(1)]);
    assert_eq!(page.prev(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_time_is_refused() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    for time in [
        "",
        "yesterday",
        "2025-13-01",
        "2025-02-30",
        "1752539094",
        "2025-07-15T25:00:00Z",
        "2025-07-15T00:24:54",
        "-9999-01-01",
        "10000-01-01",
    ] {
        server.get(&alice, &format!("{FEED}?createAt={time}")).await.expect_invalid(&["createAt"]);
    }
    let all_bad = format!("{FEED}?createAt=x&size=0&cursor=x");
    server.get(&alice, &all_bad).await.expect_invalid(&["createAt", "cursor", "size"]);
}
