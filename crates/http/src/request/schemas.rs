//! The bodies of requests, as clients should send them. Handlers understand more, to name every invalid field at once
//! and to take the spellings of older examples.

#![expect(dead_code, reason = "these describe what handlers read")]

use utoipa::ToSchema;
use uuid::Uuid;

use crate::core::schema;

/// An account to register.
#[derive(ToSchema)]
pub(crate) struct Registration {
    #[schema(schema_with = schema::username)]
    username: String,
    #[schema(schema_with = schema::username_alias)]
    name: Option<String>,
    #[schema(schema_with = schema::email)]
    email: String,
    #[schema(schema_with = schema::password)]
    password: String,
    #[schema(schema_with = schema::new_biography)]
    biography: Option<String>,
}

/// An account's credentials.
#[derive(ToSchema)]
pub(crate) struct Credentials {
    #[schema(schema_with = schema::identifier)]
    identifier: String,
    #[schema(schema_with = schema::identifier_as_email)]
    email: Option<String>,
    #[schema(schema_with = schema::identifier_as_username)]
    username: Option<String>,
    #[schema(schema_with = schema::attempted_password)]
    password: String,
}

/// What changes of the own account; what is absent stays.
#[derive(ToSchema)]
pub(crate) struct ProfileChange {
    #[schema(schema_with = schema::new_biography)]
    biography: Option<String>,
}

/// What changes of the own account; what is absent stays.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct ProfileForm {
    #[schema(schema_with = schema::new_biography)]
    biography: Option<String>,
    #[schema(schema_with = schema::image_file)]
    profile_picture: Option<Vec<u8>>,
}

/// A new password.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PasswordChange {
    #[schema(schema_with = schema::attempted_password)]
    current_password: String,
    #[schema(schema_with = schema::password)]
    new_password: String,
}

/// A role to give or to take away.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct RoleChange {
    #[schema(schema_with = schema::role)]
    role_id: String,
    #[schema(schema_with = schema::role_action)]
    action: String,
}

/// Whether an account is enabled.
#[derive(ToSchema)]
pub(crate) struct EnabledChange {
    /// False ends every session of the account.
    enabled: bool,
}

/// A post without an image.
#[derive(ToSchema)]
pub(crate) struct NewPost {
    #[schema(schema_with = schema::post_text)]
    text: String,
    #[schema(schema_with = schema::post_text_alias)]
    content: Option<String>,
    #[schema(schema_with = schema::new_visibility)]
    visibility: Option<String>,
}

/// A post with text, an image, or both.
#[derive(ToSchema)]
pub(crate) struct NewPostForm {
    #[schema(schema_with = schema::form_text)]
    text: Option<String>,
    #[schema(schema_with = schema::post_text_alias)]
    content: Option<String>,
    #[schema(schema_with = schema::image_file)]
    image: Option<Vec<u8>>,
    #[schema(schema_with = schema::new_visibility)]
    visibility: Option<String>,
}

/// What changes of a post; what is absent stays.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PostChange {
    #[schema(schema_with = schema::form_text)]
    text: Option<String>,
    #[schema(schema_with = schema::post_text_alias)]
    content: Option<String>,
    #[schema(schema_with = schema::visibility)]
    visibility: Option<String>,
    /// True removes the image.
    #[schema(value_type = bool, required = false)]
    remove_image: Option<bool>,
}

/// What changes of a post; what is absent stays.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct PostChangeForm {
    #[schema(schema_with = schema::form_text)]
    text: Option<String>,
    #[schema(schema_with = schema::post_text_alias)]
    content: Option<String>,
    #[schema(schema_with = schema::image_file)]
    image: Option<Vec<u8>>,
    #[schema(schema_with = schema::visibility)]
    visibility: Option<String>,
    /// `true` removes the image, unless another one comes with it.
    #[schema(value_type = bool, required = false)]
    remove_image: Option<bool>,
}

/// A comment on a post.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct NewComment {
    /// Names the post.
    post_id: Uuid,
    #[schema(schema_with = schema::comment_text)]
    content: String,
}

/// A new text of a comment, which is named by `commentId`, or by `postId` alone as the caller's newest on that post.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(crate) struct CommentChange {
    /// Names the comment. With it, `postId` means nothing.
    #[schema(value_type = Uuid, required = false)]
    comment_id: Option<Uuid>,
    /// Another name of `commentId`, which wins.
    #[schema(value_type = Uuid, required = false)]
    id: Option<Uuid>,
    /// Names the post whose newest comment by the caller is meant.
    #[schema(value_type = Uuid, required = false)]
    post_id: Option<Uuid>,
    #[schema(schema_with = schema::comment_text)]
    content: String,
}

/// A product for the catalog. `stock` is required without variants; with them, it is the sum of theirs and may be left
/// out.
#[derive(ToSchema)]
pub(crate) struct NewProduct {
    #[schema(schema_with = schema::sku)]
    sku: String,
    #[schema(schema_with = schema::product_name)]
    name: String,
    #[schema(schema_with = schema::product_description)]
    description: Option<String>,
    #[schema(schema_with = schema::price)]
    price: f64,
    #[schema(schema_with = schema::category)]
    category: String,
    #[schema(schema_with = schema::stock)]
    stock: Option<i32>,
    /// The forms it is sold in.
    #[schema(value_type = Vec<NewVariant>, required = false)]
    variants: Option<Vec<NewVariant>>,
    #[schema(schema_with = schema::product_images)]
    images: Option<Vec<String>>,
}

/// What changes of a product; what is absent stays.
#[derive(ToSchema)]
pub(crate) struct ProductChange {
    #[schema(schema_with = schema::sku)]
    sku: Option<String>,
    #[schema(schema_with = schema::product_name)]
    name: Option<String>,
    #[schema(schema_with = schema::product_description)]
    description: Option<String>,
    #[schema(schema_with = schema::price)]
    price: Option<f64>,
    #[schema(schema_with = schema::category)]
    category: Option<String>,
    #[schema(schema_with = schema::stock)]
    stock: Option<i32>,
    /// The forms it is sold in from now on: all of them.
    #[schema(value_type = Vec<NewVariant>, required = false)]
    variants: Option<Vec<NewVariant>>,
    #[schema(schema_with = schema::product_images)]
    images: Option<Vec<String>>,
}

/// One form in which a product is sold.
#[derive(ToSchema)]
pub(crate) struct NewVariant {
    #[schema(schema_with = schema::color)]
    color: Option<String>,
    #[schema(schema_with = schema::size)]
    size: Option<String>,
    #[schema(schema_with = schema::stock)]
    stock: i32,
}
