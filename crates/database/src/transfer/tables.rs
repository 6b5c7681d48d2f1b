//! Every table, with every column: what is moved.

use agora_domain::clock::Timestamp;
use agora_domain::{Error, Result};
use diesel::{Insertable, Queryable, Selectable};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::schema::{comments, follows, likes, posts, product_images, product_variants, products, sessions, users};
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

/// Makes a type for the rows of each table, and what is done with every table alike. Tables come after those that their
/// foreign keys name.
macro_rules! tables {
    ($(
        $(#[$doc:meta])*
        $Table:ident($table:ident, $Row:ident) by ($($key:ident: $Key:ty),+) { $($column:ident: $Type:ty),+ $(,)? }
    )+) => {
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

// `unnamed_images` is left out on purpose: a database must never delete images on the word of another one, and what is
// copied of it is soon no longer true. So is `idempotency`, which is of use for a day, and to clients of the service that
// wrote it.
tables! {
    /// The accounts, with their password hashes.
    Users(users, UserRecord) by (id: DbId) {
        id: DbId,
        username: String,
        username_key: String,
        email: String,
        email_key: String,
        password_hash: String,
        biography: Option<String>,
        profile_picture: Option<String>,
        is_admin: bool,
        is_user: bool,
        enabled: bool,
        created_at: DbInstant,
    }
    /// The logins that tokens name.
    Sessions(sessions, SessionRecord) by (id: DbId) {
        id: DbId,
        user_id: DbId,
        opened_at: DbInstant,
        revoked_at: Option<DbInstant>,
    }
    /// The posts, with their counts.
    Posts(posts, PostRecord) by (id: DbId) {
        id: DbId,
        author_id: DbId,
        content: String,
        image: Option<String>,
        visibility: i16,
        created_at: DbInstant,
        updated_at: DbInstant,
        like_count: i64,
        comment_count: i64,
        deleted_at: Option<DbInstant>,
    }
    /// The likes.
    Likes(likes, LikeRecord) by (post_id: DbId, user_id: DbId) {
        post_id: DbId,
        user_id: DbId,
        id: DbId,
        created_at: DbInstant,
    }
    /// The comments.
    Comments(comments, CommentRecord) by (id: DbId) {
        id: DbId,
        post_id: DbId,
        author_id: DbId,
        content: String,
        created_at: DbInstant,
        updated_at: DbInstant,
    }
    /// Who follows whom.
    Follows(follows, FollowRecord) by (follower_id: DbId, followed_id: DbId) {
        follower_id: DbId,
        followed_id: DbId,
        id: DbId,
        created_at: DbInstant,
    }
    /// The catalog.
    Products(products, ProductRecord) by (id: DbId) {
        id: DbId,
        sku: String,
        sku_key: String,
        name: String,
        description: String,
        price: i64,
        category: String,
        category_key: String,
        stock: i32,
        search_key: String,
        created_at: DbInstant,
        updated_at: DbInstant,
    }
    /// The variants of products.
    ProductVariants(product_variants, VariantRecord) by (product_id: DbId, position: i32) {
        product_id: DbId,
        position: i32,
        color: String,
        size: String,
        stock: i32,
    }
    /// The addresses of products' images.
    ProductImages(product_images, ProductImageRecord) by (product_id: DbId, position: i32) {
        product_id: DbId,
        position: i32,
        url: String,
    }
}
