//! The network as rows, table by table.

use agora_database::{Rows, Table};
use agora_domain::accounts::{Email, PasswordHash, Username};
use agora_domain::posts::Visibility;
use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::posts::{Network, Reactions};
use super::random::{FOLLOWS_UNTIL, Ids, Purpose, Random};
use super::{catalog, words};

/// How many rows are handed over at once.
const BATCH: usize = 1_000;

/// Hands over the rows of a table, some at a time.
fn hand_over(
    table: Table,
    rows: impl Iterator<Item = Result<Value>>,
    take: &mut dyn FnMut(Rows) -> Result<()>,
) -> Result<()> {
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut lines = String::new();
        for row in rows.by_ref().take(BATCH) {
            lines += &row?.to_string();
            lines.push('\n');
        }
        let rows = Rows::from_lines(table, &lines);
        take(rows.with_context(|| format!("{} are not what the database has", table.name()))?)?;
    }
    Ok(())
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
        hand_over(Table::Users, self.users(hash), take)?;
        hand_over(Table::Posts, self.post_rows().map(Ok), take)?;
        hand_over(Table::Likes, self.likes().map(Ok), take)?;
        hand_over(Table::Comments, self.comments().map(Ok), take)?;
        hand_over(Table::Follows, self.follows().map(Ok), take)?;
        hand_over(Table::Products, self.products(), take)?;
        hand_over(Table::ProductVariants, self.variants(), take)
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

    fn users(&self, hash: &PasswordHash) -> impl Iterator<Item = Result<Value>> {
        self.names().enumerate().map(|(account, (name, biography))| {
            let username = Username::parse(&name).map_err(|violation| anyhow!("{violation}"))?;
            let email = Email::parse(&format!("{name}@example.org")).map_err(|violation| anyhow!("{violation}"))?;
            Ok(json!({
                "id": self.people.ids[account],
                "username": username.as_str(),
                "username_key": username.key(),
                "email": email.as_str(),
                "email_key": email.key(),
                "password_hash": hash.as_str(),
                "biography": biography,
                "profile_picture": null,
                "is_admin": false,
                "is_user": true,
                "enabled": true,
                "created_at": self.people.joined(account),
                "display_name": null,
                "discoverable": true,
                "searchable": true,
                "hide_counts": false,
            }))
        })
    }

    fn post_rows(&self) -> impl Iterator<Item = Value> {
        let mut random = Random::new(self.seed, Purpose::PostTexts);
        self.posts().map(move |post| {
            json!({
                "id": post.id,
                "author_id": self.people.ids[post.author],
                "content": words::post(&mut random),
                "image": null,
                "visibility": match post.visibility {
                    Visibility::Public => 0,
                    Visibility::Followers => 1,
                    Visibility::Private => 2,
                },
                "created_at": post.at,
                "updated_at": post.at,
                "like_count": post.likes,
                "comment_count": post.comments,
            })
        })
    }

    fn likes(&self) -> impl Iterator<Item = Value> {
        let mut reactions = Reactions::new(self, Purpose::Likes);
        self.posts().flat_map(move |post| {
            let likes = reactions.likes(&post).into_iter();
            likes.map(move |like| {
                let user_id = self.people.ids[like.by];
                json!({ "post_id": post.id, "user_id": user_id, "id": like.id, "created_at": like.at })
            })
        })
    }

    fn comments(&self) -> impl Iterator<Item = Value> {
        let mut reactions = Reactions::new(self, Purpose::Comments);
        self.posts().flat_map(move |post| {
            let comments = reactions.comments(&post).into_iter().map(|comment| {
                json!({
                    "id": comment.id,
                    "post_id": post.id,
                    "author_id": self.people.ids[comment.by],
                    "content": words::comment(&mut reactions.random),
                    "created_at": comment.at,
                    "updated_at": comment.at,
                })
            });
            comments.collect::<Vec<_>>()
        })
    }

    fn follows(&self) -> impl Iterator<Item = Value> {
        let (mut random, mut ids) = (Random::new(self.seed, Purpose::FollowTimes), Ids::default());
        self.people.follows().enumerate().flat_map(move |(follower, followed)| {
            let follows = followed.into_iter().map(|number| {
                let (people, followed) = (&self.people, number as usize);
                let both_joined = people.joined(follower.max(followed));
                let at = both_joined + random.below((FOLLOWS_UNTIL - both_joined).unsigned_abs()) as i64;
                let id = ids.next(&mut random, at);
                let (by, whom) = (people.ids[follower], people.ids[followed]);
                json!({ "follower_id": by, "followed_id": whom, "id": id, "created_at": at })
            });
            follows.collect::<Vec<_>>()
        })
    }

    fn products(&self) -> impl Iterator<Item = Result<Value>> {
        catalog::products(self.seed).map(|product| {
            let product = product?;
            Ok(json!({
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
            }))
        })
    }

    fn variants(&self) -> impl Iterator<Item = Result<Value>> {
        // A product that cannot be is refused before.
        catalog::products(self.seed).flatten().flat_map(|product| {
            let rows = product.variants.iter().enumerate().map(|(position, variant)| {
                Ok(json!({
                    "product_id": product.id.uuid(),
                    "position": position,
                    "color": variant.color.as_str(),
                    "size": variant.size.as_str(),
                    "stock": variant.stock.get(),
                }))
            });
            rows.collect::<Vec<_>>()
        })
    }
}
