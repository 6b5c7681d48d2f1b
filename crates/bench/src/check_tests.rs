//! Tests of the checks.

use super::*;

fn post(id: &str, at: &str) -> Value {
    json!({
        "id": id, "createdAt": at, "content": "text", "likedBy": [{}], "likeCount": 1, "likedByMe": false,
        "commentCount": 0, "author": { "id": "author" },
    })
}

#[test]
fn the_envelope_of_a_success_has_no_other_fields() {
    assert!(verify_success(&json!({ "message": "success", "data": null })).is_ok());
    assert!(verify_success(&json!({ "message": "failure", "data": null })).is_err());
    assert!(verify_success(&json!({ "message": "success", "data": null, "status": 200 })).is_err());
    assert!(verify_success(&Value::Null).is_err());
}

#[test]
fn a_post_is_the_requested_one_and_complete() {
    assert!(verify_post(&post("a", "1"), Some(&"a".to_owned())).is_ok());
    assert!(verify_post(&post("a", "1"), Some(&"b".to_owned())).is_err());
    for (field, value) in [("likeCount", json!(2)), ("content", Value::Null), ("author", json!({}))] {
        let mut wrong = post("a", "1");
        wrong[field] = value;
        assert!(verify_post(&wrong, None).is_err(), "{wrong}");
    }
}

#[test]
fn a_page_is_full_and_in_order_without_duplicates() {
    let page = |posts: &[(&str, &str)]| Value::Array(posts.iter().map(|(id, at)| post(id, at)).collect());
    assert!(verify_posts(&page(&[("a", "3"), ("c", "2"), ("b", "2")]), 3..=3).is_ok());
    for (wrong, counts) in [
        (page(&[("a", "3")]), 2..=20),
        (page(&[("a", "2"), ("b", "3")]), 2..=2),
        (page(&[("b", "2"), ("c", "2")]), 2..=2),
        (page(&[("a", "2"), ("a", "2")]), 2..=2),
    ] {
        assert!(verify_posts(&wrong, counts).is_err(), "{wrong}");
    }
}

#[test]
fn comments_are_on_the_post_oldest_first() {
    let comment = |id: &str, post: &str| {
        let (post, author) = (json!({ "id": post }), json!({ "id": "author" }));
        json!({ "id": id, "createdAt": id, "content": "text", "post": post, "author": author })
    };
    let list = |entries: &[(&str, &str)]| Value::Array(entries.iter().map(|(id, post)| comment(id, post)).collect());
    assert!(verify_comments(&list(&[("1", "p"), ("2", "p")]), "p", 2..=2).is_ok());
    assert!(verify_comments(&list(&[("2", "p"), ("1", "p")]), "p", 2..=2).is_err());
    assert!(verify_comments(&list(&[("1", "p"), ("2", "q")]), "p", 2..=2).is_err());
}

#[test]
fn likers_are_distinct() {
    let list = |ids: &[&str]| Value::Array(ids.iter().map(|id| json!({ "id": id, "username": "name" })).collect());
    assert!(verify_likers(&list(&["a", "b"]), 2).is_ok());
    assert!(verify_likers(&list(&["a", "a"]), 2).is_err());
    assert!(verify_likers(&list(&["a"]), 2).is_err());
}
