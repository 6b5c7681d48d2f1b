//! Images that must no longer be served.

use std::collections::HashSet;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, header};
use serde_json::{Value, json};

use crate::support::{PUBLIC_URL, Server, User};

/// Returns an image, a different one for each number.
fn picture(n: u8) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(2, 2, image::Rgb([n, n, n])).write_to(&mut file, image::ImageFormat::Png).unwrap();
    file.into_inner()
}

fn form(n: u8) -> Form {
    Form::new().part("image", Part::bytes(picture(n)).file_name("holiday at home.png"))
}

async fn publish(server: &Server, by: &User, n: u8) -> (String, String) {
    let post = server.call_form(by, Method::POST, "/api/posts/create", form(n)).await.expect(201).data();
    (post["id"].as_str().unwrap().to_owned(), path(&post["image"]))
}

/// Returns the path of an image on the server.
fn path(address: &Value) -> String {
    address.as_str().unwrap().strip_prefix(PUBLIC_URL).unwrap().to_owned()
}

/// Checks that an image and its thumbnail are not served: neither whole, nor in part, nor as 304 for a matching tag.
async fn expect_gone(server: &Server, path: &str, tag: &str) {
    for method in [Method::GET, Method::HEAD] {
        for (name, value) in [("x-plain", ""), ("range", "bytes=0-9"), ("if-none-match", tag), ("if-none-match", "*")] {
            for file in [path, &format!("{path}.thumb.jpg")] {
                server.send(server.request(method.clone(), file).header(name, value)).await.expect(404);
            }
        }
    }
}

/// Returns the entity tag of an image.
async fn tag(server: &Server, path: &str) -> String {
    let answer = server.fetch(path).await.expect(200);
    answer.header(header::ETAG).unwrap().to_owned()
}

#[tokio::test]
async fn the_image_of_a_deleted_post_is_gone_at_once() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let (post, image) = publish(&server, &alice, 1).await;
    let tag = tag(&server, &image).await;
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    expect_gone(&server, &image, &tag).await;
}

#[tokio::test]
async fn an_image_that_was_replaced_or_removed_is_gone_at_once() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let (post, first) = publish(&server, &alice, 1).await;
    let first_tag = tag(&server, &first).await;
    let update = format!("/api/posts/update/{post}");
    let second = path(&server.call_form(&alice, Method::PUT, &update, form(2)).await.expect(200).data()["image"]);
    let second_tag = tag(&server, &second).await;
    expect_gone(&server, &first, &first_tag).await;
    server.call_json(&alice, Method::PUT, &update, json!({ "removeImage": true, "text": "No more" })).await.expect(200);
    expect_gone(&server, &second, &second_tag).await;

    let profile = |n| Form::new().part("profilePicture", Part::bytes(picture(n)).file_name("me.png"));
    let mut pictures = Vec::new();
    for n in [3, 4] {
        let user = server.call_form(&alice, Method::PUT, "/api/users/me", profile(n)).await.expect(200).data();
        let path = path(&user["profilePicture"]);
        pictures.push((tag(&server, &path).await, path));
    }
    expect_gone(&server, &pictures[0].1, &pictures[0].0).await;
}

#[tokio::test]
async fn the_image_of_a_hidden_post_is_gone_at_once_and_has_another_address_when_it_is_shown() {
    let server = Server::start().await;
    let (alice, root) = (server.user("alice").await, server.root().await);
    let (post, shown) = publish(&server, &alice, 1).await;
    let tag = tag(&server, &shown).await;
    let served = server.fetch(&shown).await.expect(200).body;
    let hide = async |hidden: bool| {
        let body = json!({ "hidden": hidden, "reason": "Not for children" });
        let path = format!("/api/admin/posts/{post}/hidden");
        server.call_json(&root, Method::PUT, &path, body).await.expect(200);
    };
    hide(true).await;
    expect_gone(&server, &shown, &tag).await;
    for viewer in [&alice, &root] {
        assert_eq!(server.view(viewer, &post).await["image"], Value::Null);
    }
    hide(false).await;
    let again = path(&server.view(&alice, &post).await["image"]);
    assert_ne!(again, shown);
    expect_gone(&server, &shown, &tag).await;
    assert_eq!(server.fetch(&again).await.expect(200).body, served);
    hide(true).await;
    server.call(&alice, Method::DELETE, &format!("/api/posts/delete/{post}")).await.expect(200);
    expect_gone(&server, &again, &tag).await;
}

#[tokio::test]
async fn the_image_of_a_post_with_reduced_visibility_keeps_its_address_but_is_not_linked() {
    let server = Server::start().await;
    let (alice, bob) = (server.user("alice").await, server.user("bob").await);
    let (post, image) = publish(&server, &alice, 1).await;
    let update = format!("/api/posts/update/{post}");
    server.call_json(&alice, Method::PUT, &update, json!({ "visibility": "PRIVATE" })).await.expect(200);
    let refused = server.get(&bob, &format!("/api/posts/by-id/{post}")).await.expect(403);
    assert!(!String::from_utf8_lossy(&refused.body).contains("/media/"));
    // Clients that know the address can still read the image, as docs/api.md says, until another image replaces it.
    let tag = tag(&server, &image).await;
    let other = path(&server.call_form(&alice, Method::PUT, &update, form(1)).await.expect(200).data()["image"]);
    assert_ne!(other, image, "the same picture has another address each time");
    expect_gone(&server, &image, &tag).await;
}

#[tokio::test]
async fn image_addresses_share_no_pattern() {
    let server = Server::start().await;
    let alice = server.user("alice").await;
    let mut digits = HashSet::new();
    let mut addresses = HashSet::new();
    for _ in 0..32 {
        let (post, image) = publish(&server, &alice, 1).await;
        let name = image.strip_prefix("/media/").unwrap().strip_suffix(".png").unwrap().to_owned();
        assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "128 bits: {name}");
        // An address contains nothing that others know: the post, its author, the file.
        for known in [&post, &alice.id] {
            assert!(!name.contains(&known.replace('-', "")[..12]), "{name} has something of {known}");
        }
        digits.extend(name.bytes().enumerate());
        assert!(addresses.insert(name));
    }
    // A digit that is the same in all 32 addresses would be chance once in 10^38.
    for place in 0..32 {
        assert!(digits.iter().filter(|(at, _)| *at == place).count() > 1, "digit {place} is always the same");
    }
}
