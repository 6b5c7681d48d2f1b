//! Every table with its columns, one for both databases, and the rows that they hold.

use agora_domain::clock::Timestamp;
use agora_domain::{Error, Result};
use diesel::{Insertable, Queryable, Selectable, allow_tables_to_appear_in_same_query, joinable, table};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::sql_types::{DbId, DbInstant};

impl Serialize for DbId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DbId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(Self)
    }
}

impl Serialize for DbInstant {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.unix_millis().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DbInstant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        i64::deserialize(deserializer).map(|millis| Self(Timestamp::from_unix_millis(millis)))
    }
}

/// Makes of each table a type for its rows, which is also what is moved from one database to another, and what is done with
/// every table alike. Tables come after those that their foreign keys name.
macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $Table:ident($table:ident, $Row:ident) by ($($key:ident: $Key:ty),+) {
            $($column:ident: $Type:ty [$($Sql:tt)+]),+ $(; $($other:ident [$($Other:tt)+]),+)? $(,)?
        }
    )+) => {
        $(
            table! {
                use diesel::sql_types::*;
                use crate::sql_types::{Id, Instant};

                $table ($($key),+) {
                    $($column -> $($Sql)+,)+
                    $($($other -> $($Other)+,)+)?
                }
            }
        )+

        /// A table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Table {
            $($(#[$doc])* $Table,)+
        }

        impl Table {
            /// All of them, each after those that its rows refer to.
            pub const ALL: [Self; [$(Self::$Table),+].len()] = [$(Self::$Table),+];

            /// Returns its name in the database.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Table => stringify!($table),)+
                }
            }
        }

        $(
            #[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
            #[diesel(table_name = $table, treat_none_as_default_value = false)]
            #[serde(deny_unknown_fields)]
            pub(crate) struct $Row {
                $(pub(crate) $column: $Type,)+
            }
        )+

        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) enum AnyRows {
            $($Table(Vec<$Row>),)+
        }

        /// The primary key of a row.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum AnyKey {
            $($Table($($Key),+),)+
        }

        impl AnyRows {
            pub(crate) fn table(&self) -> Table {
                match self {
                    $(Self::$Table(_) => Table::$Table,)+
                }
            }

            pub(crate) fn len(&self) -> usize {
                match self {
                    $(Self::$Table(rows) => rows.len(),)+
                }
            }

            pub(crate) fn last_key(&self) -> Option<AnyKey> {
                match self {
                    $(Self::$Table(rows) => rows.last().map(|row| AnyKey::$Table($(row.$key),+)),)+
                }
            }

            pub(crate) fn write_lines(&self, text: &mut Vec<u8>) -> Result<()> {
                match self {
                    $(Self::$Table(rows) => rows.iter().try_for_each(|row| {
                        serde_json::to_writer(&mut *text, row).map_err(Error::internal)?;
                        text.push(b'\n');
                        Ok(())
                    }),)+
                }
            }

            pub(crate) fn parse_lines(table: Table, text: &str) -> serde_json::Result<Self> {
                match table {
                    $(Table::$Table => text.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>()
                        .map(Self::$Table),)+
                }
            }
        }
    };
}

// Of these all rows are moved. `unnamed_images` is left out on purpose: a database must never delete images on the word of another one, and what is
// copied of it is soon no longer true. So is `idempotency`, which is of use for a day, and to clients of the service that
// wrote it.
tables! {
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
        created_at: DbInstant [Instant];
        // Not moved: which state the account's follows are in.
        follow_version [BigInt]
    }
    /// The logins that tokens name.
    Sessions(sessions, SessionRecord) by (id: DbId) {
        id: DbId [Id],
        user_id: DbId [Id],
        opened_at: DbInstant [Instant],
        revoked_at: Option<DbInstant> [Nullable<Instant>],
    }
    /// The posts, with their counts.
    Posts(posts, PostRecord) by (id: DbId) {
        id: DbId [Id],
        author_id: DbId [Id],
        content: String [Text],
        image: Option<String> [Nullable<Text>],
        visibility: i16 [SmallInt],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant],
        like_count: i64 [BigInt],
        comment_count: i64 [BigInt],
        deleted_at: Option<DbInstant> [Nullable<Instant>],
    }
    /// The likes.
    Likes(likes, LikeRecord) by (post_id: DbId, user_id: DbId) {
        post_id: DbId [Id],
        user_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
    }
    /// The comments.
    Comments(comments, CommentRow) by (id: DbId) {
        id: DbId [Id],
        post_id: DbId [Id],
        author_id: DbId [Id],
        content: String [Text],
        created_at: DbInstant [Instant],
        updated_at: DbInstant [Instant],
    }
    /// Who follows whom.
    Follows(follows, FollowRecord) by (follower_id: DbId, followed_id: DbId) {
        follower_id: DbId [Id],
        followed_id: DbId [Id],
        id: DbId [Id],
        created_at: DbInstant [Instant],
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
        updated_at: DbInstant [Instant],
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
