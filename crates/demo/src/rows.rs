//! The network as rows, table by table.

use agora_database::{Rows, Table};
use agora_domain::accounts::{Email, PasswordHash, Username};
use agora_domain::posts::Visibility;
use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::people::FollowTimes;
use super::posts::{Network, Reactions};
use super::random::{Purpose, Random};
use super::{catalog, words};

/// How many rows are handed over at once.
const BATCH: usize = 1_000;

#[derive(Serialize)]
struct UserLine<'a> {
    id: Uuid,
    username: &'a str,
    username_key: String,
    email: &'a str,
    email_key: String,
    password_hash: &'a str,
    biography: Option<String>,
    profile_picture: Option<String>,
    is_admin: bool,
    is_user: bool,
    enabled: bool,
    created_at: i64,
}

#[derive(Serialize)]
struct PostLine {
    id: Uuid,
    author_id: Uuid,
    content: String,
    image: Option<String>,
    visibility: i16,
    created_at: i64,
    updated_at: i64,
    like_count: usize,
    comment_count: usize,
}

#[derive(Serialize)]
struct LikeLine {
    post_id: Uuid,
    user_id: Uuid,
    id: Uuid,
    created_at: i64,
}

#[derive(Serialize)]
struct CommentLine {
    id: Uuid,
    post_id: Uuid,
    author_id: Uuid,
    content: String,
    created_at: i64,
    updated_at: i64,
}

#[derive(Serialize)]
struct FollowLine {
    follower_id: Uuid,
    followed_id: Uuid,
    id: Uuid,
    created_at: i64,
}

/// Collects the rows of a table and hands them over, some at a time.
struct Batches<'a> {
    table: Table,
    take: &'a mut dyn FnMut(Rows) -> Result<()>,
    lines: Vec<u8>,
    count: usize,
}

impl<'a> Batches<'a> {
    fn new(table: Table, take: &'a mut dyn FnMut(Rows) -> Result<()>) -> Self {
        Self { table, take, lines: Vec::new(), count: 0 }
    }

    fn add(&mut self, row: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.lines, row)?;
        self.lines.push(b'\n');
        self.count += 1;
        if self.count == BATCH { self.hand_over() } else { Ok(()) }
    }

    fn hand_over(&mut self) -> Result<()> {
        let rows = Rows::from_lines(self.table, std::str::from_utf8(&self.lines)?)
            .with_context(|| format!("{} are not what the database has", self.table.name()))?;
        self.lines.clear();
        self.count = 0;
        (self.take)(rows)
    }

    fn end(mut self) -> Result<()> {
        if self.count == 0 { Ok(()) } else { self.hand_over() }
    }
}

impl Network {
    /// Returns how many rows there are.
    pub(super) fn count(&self) -> u64 {
        let posts = self.posts().map(|post| 1 + post.likes + post.comments).sum::<usize>();
        let follows = self.people.follows().map(|followed| followed.len()).sum::<usize>();
        let variants = catalog::products(self.seed).flatten().map(|product| 1 + product.variants.len()).sum::<usize>();
        (self.people.ids.len() + posts + follows + variants) as u64
    }

    /// Makes all rows, every table after those that it refers to.
    ///
    /// # Errors
    /// Those of `take`.
    pub(super) fn rows(&self, hash: &PasswordHash, take: &mut dyn FnMut(Rows) -> Result<()>) -> Result<()> {
        self.users(hash, Batches::new(Table::Users, take))?;
        self.post_rows(Batches::new(Table::Posts, take))?;
        self.likes(Batches::new(Table::Likes, take))?;
        self.comments(Batches::new(Table::Comments, take))?;
        self.follows(Batches::new(Table::Follows, take))?;
        self.products(Batches::new(Table::Products, take))?;
        self.variants(Batches::new(Table::ProductVariants, take))
    }

    /// Returns the usernames of all accounts, by their number, each with its biography.
    pub(super) fn names(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let mut random = Random::new(self.seed, Purpose::Profiles);
        let ordinary = (1..=self.people.users).map(move |number| {
            let name = words::username(&mut random, number);
            (name, random.percent(60).then(|| words::biography(&mut random)))
        });
        ordinary.chain(self.people.specials.iter().map(|(name, _)| (name.clone(), None)))
    }

    fn users(&self, hash: &PasswordHash, mut batches: Batches<'_>) -> Result<()> {
        let known = |violation| anyhow::anyhow!("{violation}");
        for (account, (name, biography)) in self.names().enumerate() {
            let username = Username::parse(&name).map_err(known)?;
            let email = Email::parse(&format!("{name}@example.org")).map_err(known)?;
            batches.add(&UserLine {
                id: self.people.ids[account],
                username: username.as_str(),
                username_key: username.key(),
                email: email.as_str(),
                email_key: email.key(),
                password_hash: hash.as_str(),
                biography,
                profile_picture: None,
                is_admin: false,
                is_user: true,
                enabled: true,
                created_at: self.people.joined(account),
            })?;
        }
        batches.end()
    }

    fn post_rows(&self, mut batches: Batches<'_>) -> Result<()> {
        let mut random = Random::new(self.seed, Purpose::PostTexts);
        for post in self.posts() {
            batches.add(&PostLine {
                id: post.id,
                author_id: self.people.ids[post.author],
                content: words::post(&mut random),
                image: None,
                visibility: match post.visibility {
                    Visibility::Public => 0,
                    Visibility::Followers => 1,
                    Visibility::Private => 2,
                },
                created_at: post.at,
                updated_at: post.at,
                like_count: post.likes,
                comment_count: post.comments,
            })?;
        }
        batches.end()
    }

    fn likes(&self, mut batches: Batches<'_>) -> Result<()> {
        let mut reactions = Reactions::new(self, Purpose::Likes);
        for post in self.posts() {
            for like in reactions.likes(&post) {
                let user_id = self.people.ids[like.by];
                batches.add(&LikeLine { post_id: post.id, user_id, id: like.id, created_at: like.at })?;
            }
        }
        batches.end()
    }

    fn comments(&self, mut batches: Batches<'_>) -> Result<()> {
        let mut reactions = Reactions::new(self, Purpose::Comments);
        for post in self.posts() {
            for comment in reactions.comments(&post) {
                batches.add(&CommentLine {
                    id: comment.id,
                    post_id: post.id,
                    author_id: self.people.ids[comment.by],
                    content: words::comment(&mut reactions.random),
                    created_at: comment.at,
                    updated_at: comment.at,
                })?;
            }
        }
        batches.end()
    }

    fn follows(&self, mut batches: Batches<'_>) -> Result<()> {
        let mut times = FollowTimes::new(self.seed);
        for (follower, followed) in self.people.follows().enumerate() {
            for followed in followed.into_iter().map(|number| number as usize) {
                let (id, created_at) = times.next(self.people.joined(follower.max(followed)));
                let (follower_id, followed_id) = (self.people.ids[follower], self.people.ids[followed]);
                batches.add(&FollowLine { follower_id, followed_id, id, created_at })?;
            }
        }
        batches.end()
    }

    fn products(&self, mut batches: Batches<'_>) -> Result<()> {
        for product in catalog::products(self.seed) {
            let product = product?;
            batches.add(&json!({
                "id": product.id.uuid(),
                "sku": product.sku.as_str(),
                "sku_key": product.sku.key(),
                "name": product.name.as_str(),
                "description": product.description.as_str(),
                "price": product.price.hundredths(),
                "category": product.category.as_str(),
                "category_key": product.category.key(),
                "stock": product.stock.get(),
                "search_key": product.search_key(),
                "created_at": product.created_at.unix_millis(),
                "updated_at": product.updated_at.unix_millis(),
            }))?;
        }
        batches.end()
    }

    fn variants(&self, mut batches: Batches<'_>) -> Result<()> {
        for product in catalog::products(self.seed) {
            let product = product?;
            for (position, variant) in product.variants.iter().enumerate() {
                batches.add(&json!({
                    "product_id": product.id.uuid(),
                    "position": position,
                    "color": variant.color.as_str(),
                    "size": variant.size.as_str(),
                    "stock": variant.stock.get(),
                }))?;
            }
        }
        batches.end()
    }
}
