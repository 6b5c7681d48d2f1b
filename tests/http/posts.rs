//! `/api/posts`: posts and likes.

mod changing;
mod creation;
mod likes;
mod reading;

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::Value;

use crate::support::{Server, User};

/// Returns a form with text fields, in this order.
pub(crate) fn form(fields: &[(&'static str, &str)]) -> Form {
    fields.iter().fold(Form::new(), |form, (name, value)| form.text(*name, (*value).to_owned()))
}

/// Returns a form with an image and text fields.
pub(crate) fn form_with_image(image: Vec<u8>, fields: &[(&'static str, &str)]) -> Form {
    form(fields).part("image", Part::bytes(image).file_name("picture.png"))
}

/// Returns the ids of the posts in a list, in its order.
fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|entry| entry["id"].as_str().expect("an id")).collect()
}

/// Publishes a text with an image. Returns the post.
async fn publish_with_image(server: &Server, author: &User, text: &str) -> Value {
    let form = form_with_image(crate::images::png(), &[("text", text)]);
    server.call_form(author, Method::POST, "/api/posts/create", form).await.expect(201).data()
}

/// Returns a post as a viewer sees it.
pub(crate) async fn seen(server: &Server, viewer: &User, id: &str) -> Value {
    server.get(viewer, &format!("/api/posts/by-id/{id}")).await.expect(200).data()
}
