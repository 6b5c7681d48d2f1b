//! The tables and columns, the same for both databases, and the record types of their rows.

use agora_domain::Error;
use diesel::{AsChangeset, Insertable, Queryable, Selectable, allow_tables_to_appear_in_same_query, joinable, table};
use serde::{Deserialize, Serialize};

use crate::sql_types::{DbId, DbInstant};
use crate::tables::tables;

// Copies and backups move all rows of these tables. On purpose, these are not among them:
//
// - `unnamed_images`: a database must never delete images because of another one's records, and a copy of them is soon
//   outdated;
// - `idempotency`, which is useful for a day, to clients of the service that wrote it;
// - `mails` and `mail_tokens`: those in a backup may have been sent or used after it was made;
// - `notification_withdrawals`, which are useful for a day;
// - `user_counts`, which the database derives from the other rows;
// - what the service derives from texts: `post_tags`, `posts.entities`, `comments.entities`, `search_tail`, `search_texts`,
//   `search_buckets`, `search_postings` and `search_deletions`.
tables! { $
    /// The accounts, with their password hashes.
    Users(users, UserRecord) by (id: DbId) {
        id: DbId [Id],
        username: String [Text],
        username_key: String [Text],
        email: String [Text],
        email_key: String [Text],
        password_hash: String [Text],
        biography: Option<String> [Nullable<Text>],
        profile_picture: Option<String> [Nullable<Text>],
        is_admin: bool [Bool],
        is_user: bool [Bool],
        enabled: bool [Bool],
        created_at: DbInstant [Instant],
        display_name: Option<String> [Nullable<Text>],
        discoverable: bool [Bool],
        searchable: bool [Bool],
        hide_counts: bool [Bool],
        email_verified: bool [Bool],
        small_picture: Option<String> [Nullable<Text>];
        // Not moved: the version of the account's follows and mutes, whether it is indexed for search, and whether it was
        // deleted, which follows from `erasures`.
        follow_version [BigInt],
        indexed [Bool],
        is_deleted [Bool]
    }
    /// The deleted accounts whose data is being erased.
    Erasures(erasures, ErasureRecord) by (user_id: DbId) {
        user_id: DbId [Id],
        deleted_at: DbInstant [Instant],
    }
    /// The names and addresses of deleted accounts, as digests.
    KeptNames(kept_names, KeptNameRecord) by (digest: DbId) {
        digest: DbId [Id],
        kept_until: DbInstant [Instant],
    }
    /// The audit log of administrative actions.
    Audit(audit, AuditRecord) by (id: DbId) {
        id: DbId [Id],
        created_at: DbInstant [Instant],
        actor_id: Option<DbId> [Nullable<Id>],
        action: i16 [SmallInt],
        target_kind: i16 [SmallInt],
        target_id: Option<DbId> [Nullable<Id>],
        details: Option<String> [Nullable<Text>],
    }
    /// The reports that users make.
    Reports(reports, ReportRecord) by (id: DbId) {
        id: DbId [Id],
        created_at: DbInstant [Instant],
        reporter_id: DbId [Id],
        target_kind: i16 [SmallInt],
        target_id: DbId [Id],
        category: i16 [SmallInt],
        comment: Option<String> [Nullable<Text>],
        status: i16 [SmallInt],
        note: Option<String> [Nullable<Text>],
    }
    /// The sessions that tokens refer to.
    Sessions(sessions, SessionRecord) by (id: DbId) {
        id: DbId [Id],
        user_id: DbId [Id],
        opened_at: DbInstant [Instant],
        revoked_at: Option<DbInstant> [Nullable<Instant>],
        last_seen_at: Option<DbInstant> [Nullable<Instant>],
        user_agent: Option<String> [Nullable<Text>],
    }
    /// The posts, with their counts.
    Posts(posts, PostRecord) by (id: DbId) {
        id: DbId [Id],
        author_id: DbId [Id],
        content: String [Text],
        image: Option<String> [Nullable<Text>],
        attachments: Option<String> [Nullable<Text>],
        visibility: i16 [SmallInt],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant],
        like_count: i64 [BigInt],
        comment_count: i64 [BigInt],
        deleted_at: Option<DbInstant> [Nullable<Instant>],
        hidden_visibility: Option<i16> [Nullable<SmallInt>];
        // Not moved: extracted from the text.
        entities [Nullable<Text>],
        // Not moved: whether it is indexed for search.
        indexed [Bool]
    }
    /// The images of posts, except the first of each post.
    PostImages(post_images, PostImageRecord) by (post_id: DbId, position: i32) {
        post_id: DbId [Id],
        position: i32 [Integer],
        key: String [Text],
    }
    /// The likes.
    Likes(likes, LikeRecord) by (post_id: DbId, user_id: DbId) {
        post_id: DbId [Id],
        user_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
    }
    /// The bookmarks.
    Bookmarks(bookmarks, BookmarkRecord) by (user_id: DbId, post_id: DbId) {
        user_id: DbId [Id],
        post_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
    }
    /// The comments, with their counts.
    Comments(comments, CommentRecord) by (id: DbId) {
        id: DbId [Id],
        post_id: DbId [Id],
        author_id: DbId [Id],
        content: String [Text],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant],
        parent_id: Option<DbId> [Nullable<Id>],
        reply_to_id: Option<DbId> [Nullable<Id>],
        reply_count: i64 [BigInt],
        like_count: i64 [BigInt],
        is_hidden: bool [Bool];
        // Not moved: extracted from the text.
        entities [Nullable<Text>]
    }
    /// The likes of comments.
    CommentLikes(comment_likes, CommentLikeRecord) by (comment_id: DbId, user_id: DbId) {
        comment_id: DbId [Id],
        user_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
    }
    /// Who follows whom.
    Follows(follows, FollowRecord) by (follower_id: DbId, followed_id: DbId) {
        follower_id: DbId [Id],
        followed_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
    }
    /// The blocks between users, with a row in each direction. A row has an id if its user blocks the other.
    Blocks(blocks, BlockRecord) by (user_id: DbId, other_id: DbId) {
        user_id: DbId [Id],
        other_id: DbId [Id],
        id: Option<DbId> [Nullable<Id>],
        created_at: Option<DbInstant> [Nullable<Instant>],
    }
    /// Who mutes whom.
    Mutes(mutes, MuteRecord) by (muter_id: DbId, muted_id: DbId) {
        muter_id: DbId [Id],
        muted_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
        ends_at: Option<DbInstant> [Nullable<Instant>],
    }
    /// The notifications of users.
    Notifications(notifications, NotificationRecord) by (id: DbId) {
        id: DbId [Id],
        recipient_id: DbId [Id],
        kind: i16 [SmallInt],
        actor_id: Option<DbId> [Nullable<Id>],
        post_id: Option<DbId> [Nullable<Id>],
        comment_id: Option<DbId> [Nullable<Id>],
        day: Option<i32> [Nullable<Integer>],
        target_id: Option<DbId> [Nullable<Id>],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant],
        count: i64 [BigInt],
        is_empty: bool [Bool],
        is_read: bool [Bool],
    }
    /// The users whose likes and follows a notification gathers.
    NotificationActors(notification_actors, ActorRecord) by (notification_id: DbId, id: DbId) {
        notification_id: DbId [Id],
        id: DbId [Id],
        actor_id: DbId [Id],
    }
    /// From whom users want notifications of a kind, where that is not everybody.
    NotificationSettings(notification_settings, SettingRecord) by (user_id: DbId, kind: i16) {
        user_id: DbId [Id],
        kind: i16 [SmallInt],
        policy: i16 [SmallInt],
    }
    /// The catalog.
    Products(products, ProductRow) by (id: DbId) {
        id: DbId [Id],
        sku: String [Text],
        sku_key: String [Text],
        name: String [Text],
        description: String [Text],
        price: i64 [BigInt],
        category: String [Text],
        category_key: String [Text],
        stock: i32 [Integer],
        search_key: String [Text],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant];
        // Not moved: whether it is indexed for search.
        indexed [Bool]
    }
    /// The variants of products.
    ProductVariants(product_variants, VariantRow) by (product_id: DbId, position: i32) {
        product_id: DbId [Id],
        position: i32 [Integer],
        color: String [Text],
        size: String [Text],
        stock: i32 [Integer],
    }
    /// The addresses of products' images.
    ProductImages(product_images, ImageRow) by (product_id: DbId, position: i32) {
        product_id: DbId [Id],
        position: i32 [Integer],
        url: String [Text],
    }
}

/// Declares tables as `diesel::table!` does, with our column types in scope.
macro_rules! other_tables {
    ($($(#[$note:meta])* $name:ident ($($key:ident),+) { $($columns:tt)+ })+) => {
        $(table! {
            use diesel::sql_types::*;
            use crate::sql_types::{Id, Instant};

            $(#[$note])*
            $name ($($key),+) { $($columns)+ }
        })+
    };
}

// Tables that copies and backups leave out: they are derived from other rows, or belong to the running service.
other_tables! {
    notification_withdrawals (notification_id, actor_id) {
        notification_id -> Id,
        actor_id -> Id,
    }

    catalog_version (singleton) {
        singleton -> SmallInt,
        version -> Id,
    }

    user_counts (user_id, counter) {
        user_id -> Id,
        counter -> SmallInt,
        value -> BigInt,
    }

    post_tags (tag, created_at, id) {
        tag -> Text,
        created_at -> Instant,
        /// The id of the post.
        #[sql_name = "post_id"]
        id -> Id,
        author_id -> Id,
        visibility -> SmallInt,
    }

    search_tail (kind, created_at, id) {
        kind -> SmallInt,
        created_at -> Instant,
        id -> Id,
        words -> Text,
    }

    search_texts (kind, document) {
        kind -> SmallInt,
        document -> BigInt,
        created_at -> Instant,
        id -> Id,
        words -> Text,
    }

    search_buckets (kind, bucket) {
        kind -> SmallInt,
        bucket -> BigInt,
        documents -> SmallInt,
        oldest_at -> Instant,
        oldest_id -> Id,
        newest_at -> Instant,
        newest_id -> Id,
    }

    search_postings (kind, bucket, word) {
        kind -> SmallInt,
        bucket -> BigInt,
        word -> Text,
        documents -> Binary,
    }

    search_deletions (kind, document) {
        kind -> SmallInt,
        document -> BigInt,
        deleted_at -> Instant,
    }

    /// On PostgreSQL only, as are `event_log`, `write_positions` and `leases`.
    events (id) {
        id -> BigInt,
        number -> Nullable<BigInt>,
        kind -> SmallInt,
        post_id -> Nullable<Id>,
        comment_id -> Nullable<Id>,
        user_id -> Nullable<Id>,
        notification_id -> Nullable<Id>,
        detail -> Nullable<SmallInt>,
    }

    event_log (id) {
        id -> SmallInt,
        epoch -> BigInt,
        last_number -> BigInt,
        trimmed -> BigInt,
    }

    write_positions (user_id) {
        user_id -> Id,
        position -> BigInt,
        written_at -> Timestamptz,
    }

    leases (name) {
        name -> Text,
        holder -> Id,
        expires_at -> Timestamptz,
    }

    used_tickets (id) {
        id -> Id,
        expires_at -> Instant,
    }

    mails (id) {
        id -> Id,
        created_at -> Instant,
        user_id -> Nullable<Id>,
        kind -> SmallInt,
        address -> Text,
        status -> SmallInt,
        attempts -> BigInt,
        due_at -> Instant,
        give_up_at -> Instant,
        failure -> Nullable<Text>,
    }

    mail_tokens (digest) {
        digest -> Text,
        user_id -> Id,
        kind -> SmallInt,
        address -> Text,
        expires_at -> Instant,
    }

    unnamed_images (key) {
        key -> Text,
        since -> Instant,
        condemned -> Bool,
        owner -> Nullable<Id>,
        upload -> Nullable<Text>,
    }

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
joinable!(post_tags -> posts (id));
joinable!(post_images -> posts (post_id));
joinable!(likes -> users (user_id));
joinable!(likes -> posts (post_id));
joinable!(bookmarks -> posts (post_id));
joinable!(comments -> users (author_id));
joinable!(comments -> posts (post_id));
joinable!(comment_likes -> comments (comment_id));
joinable!(comment_likes -> users (user_id));
joinable!(notification_actors -> notifications (notification_id));
joinable!(notification_actors -> users (actor_id));
joinable!(reports -> users (reporter_id));
joinable!(mail_tokens -> users (user_id));
joinable!(erasures -> users (user_id));

allow_tables_to_appear_in_same_query!(
    users,
    audit,
    reports,
    sessions,
    posts,
    post_images,
    post_tags,
    likes,
    bookmarks,
    comments,
    comment_likes,
    follows,
    blocks,
    mutes,
    notifications,
    notification_actors,
    notification_withdrawals,
    notification_settings,
    search_tail,
    search_texts,
    mails,
    mail_tokens,
    erasures
);
allow_tables_to_appear_in_same_query!(products, product_variants, product_images);
allow_tables_to_appear_in_same_query!(events, event_log);
