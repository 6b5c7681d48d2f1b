//! The schema, one for both databases.

use diesel::{allow_tables_to_appear_in_same_query, joinable, table};

table! {
    use diesel::sql_types::{BigInt, Bool, Nullable, Text};
    use crate::sql_types::{Id, Instant};

    users (id) {
        id -> Id,
        username -> Text,
        username_key -> Text,
        email -> Text,
        email_key -> Text,
        password_hash -> Text,
        biography -> Nullable<Text>,
        profile_picture -> Nullable<Text>,
        is_admin -> Bool,
        is_user -> Bool,
        enabled -> Bool,
        created_at -> Instant,
        follow_version -> BigInt,
    }
}

table! {
    use diesel::sql_types::Nullable;
    use crate::sql_types::{Id, Instant};

    sessions (id) {
        id -> Id,
        user_id -> Id,
        opened_at -> Instant,
        revoked_at -> Nullable<Instant>,
    }
}

table! {
    use diesel::sql_types::{BigInt, Nullable, SmallInt, Text};
    use crate::sql_types::{Id, Instant};

    posts (id) {
        id -> Id,
        author_id -> Id,
        content -> Text,
        image -> Nullable<Text>,
        visibility -> SmallInt,
        created_at -> Instant,
        updated_at -> Instant,
        like_count -> BigInt,
        comment_count -> BigInt,
        deleted_at -> Nullable<Instant>,
    }
}

table! {
    use crate::sql_types::{Id, Instant};

    likes (post_id, user_id) {
        post_id -> Id,
        user_id -> Id,
        id -> Id,
        created_at -> Instant,
    }
}

table! {
    use diesel::sql_types::Text;
    use crate::sql_types::{Id, Instant};

    comments (id) {
        id -> Id,
        post_id -> Id,
        author_id -> Id,
        content -> Text,
        created_at -> Instant,
        updated_at -> Instant,
    }
}

table! {
    use crate::sql_types::{Id, Instant};

    follows (follower_id, followed_id) {
        follower_id -> Id,
        followed_id -> Id,
        id -> Id,
        created_at -> Instant,
    }
}

table! {
    use diesel::sql_types::{BigInt, Integer, Text};
    use crate::sql_types::{Id, Instant};

    products (id) {
        id -> Id,
        sku -> Text,
        sku_key -> Text,
        name -> Text,
        description -> Text,
        price -> BigInt,
        category -> Text,
        category_key -> Text,
        stock -> Integer,
        search_key -> Text,
        created_at -> Instant,
        updated_at -> Instant,
    }
}

table! {
    use diesel::sql_types::{Integer, Text};
    use crate::sql_types::Id;

    product_variants (product_id, position) {
        product_id -> Id,
        position -> Integer,
        color -> Text,
        size -> Text,
        stock -> Integer,
    }
}

table! {
    use diesel::sql_types::{Integer, Text};
    use crate::sql_types::Id;

    product_images (product_id, position) {
        product_id -> Id,
        position -> Integer,
        url -> Text,
    }
}

table! {
    use diesel::sql_types::SmallInt;
    use crate::sql_types::Id;

    catalog_version (singleton) {
        singleton -> SmallInt,
        version -> Id,
    }
}

table! {
    use diesel::sql_types::{Bool, Text};
    use crate::sql_types::Instant;

    unnamed_images (key) {
        key -> Text,
        since -> Instant,
        condemned -> Bool,
    }
}

table! {
    use diesel::sql_types::{Binary, Nullable, Text};
    use crate::sql_types::{Id, Instant};

    idempotency (attempt) {
        attempt -> Id,
        caller -> Id,
        route -> Text,
        key -> Text,
        fingerprint -> Binary,
        begun_at -> Instant,
        #[sql_name = "answer"]
        outcome -> Nullable<Binary>,
    }
}

joinable!(sessions -> users (user_id));
joinable!(posts -> users (author_id));
joinable!(likes -> users (user_id));
joinable!(likes -> posts (post_id));
joinable!(comments -> users (author_id));
joinable!(comments -> posts (post_id));

allow_tables_to_appear_in_same_query!(users, sessions, posts, likes, comments, follows);
allow_tables_to_appear_in_same_query!(products, product_variants, product_images);
