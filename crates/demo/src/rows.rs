//! Generates the rows of the network, table by table.

use agora_database::{Rows, Table};
use agora_domain::accounts::{Email, PasswordHash, Username};
use agora_domain::posts::Visibility;
use agora_domain::products::Product;
use anyhow::{Context, Result, anyhow};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use uuid::Uuid;

use super::network::{END, FOLLOWS_UNTIL, JOINS_UNTIL, Network, Post, START};
use super::network::{later, new_id, nth_instant};
use super::{catalog, words};

/// How many rows are passed on in a batch.
const BATCH: usize = 1_000;

/// Passes the rows of a table to `take` in batches.
fn emit(
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
        take(rows.with_context(|| format!("the rows of {} do not match the schema", table.name()))?)?;
    }
    Ok(())
}

/// Generates all rows, each after those that it references, and passes them to `take`. The memory does not grow with the number
/// of posts.
///
/// # Errors
/// Those of `take`.
pub(super) fn make(
    network: &Network,
    posts: u64,
    hash: &PasswordHash,
    random: &mut StdRng,
    take: &mut dyn FnMut(Rows) -> Result<()>,
) -> Result<()> {
    let count = network.names().count() as u64;
    let joined: Vec<i64> = (0..count).map(|nth| nth_instant(START, JOINS_UNTIL, nth, count)).collect();
    let ids: Vec<Uuid> = joined.iter().map(|at| new_id(*at, random)).collect();
    let accounts = network.names().zip(ids.iter().zip(joined));
    emit(Table::Users, accounts.map(|(name, (id, at))| user(&name, *id, at, hash, random)), take)?;
    let follows = network.follows().map(|(follower, followed)| {
        let at = random.random_range(JOINS_UNTIL..FOLLOWS_UNTIL);
        let (by, whom) = (ids[follower], ids[followed]);
        Ok(json!({ "follower_id": by, "followed_id": whom, "id": new_id(at, random), "created_at": at }))
    });
    emit(Table::Follows, follows, take)?;

    let products = catalog::products(random)?;
    emit(Table::Products, products.iter().map(|made| Ok(product(made))), take)?;
    emit(Table::ProductVariants, products.iter().flat_map(variants).map(Ok), take)?;

    let mut instants = (0..posts).map(|nth| (nth, nth_instant(FOLLOWS_UNTIL, END, nth, posts))).peekable();
    while instants.peek().is_some() {
        let made = instants.by_ref().take(BATCH).flat_map(|(nth, at)| {
            let mut made = vec![network.post(at, random)];
            made.append(&mut network.posts_of_celebrity(at, nth, posts, random));
            made
        });
        let posts: Vec<_> = made.collect();
        let rows = posts.iter().map(|post| {
            Ok(json!({
                "id": post.id,
                "author_id": ids[post.author],
                "content": words::post(random),
                "image": null,
                "visibility": match post.visibility {
                    Visibility::Public => 0,
                    Visibility::Followers => 1,
                    Visibility::Private => 2,
                },
                "created_at": post.at,
                "updated_at": post.at,
                "like_count": post.likes + usize::from(network.celebrity_liking(post).is_some()),
                "comment_count": post.comments,
            }))
        });
        emit(Table::Posts, rows, take)?;
        let likes = posts.iter().flat_map(|post| {
            let likes = network.likers(post, random).into_iter().map(|user| {
                let at = later(post.at, random);
                Ok(json!({ "post_id": post.id, "user_id": ids[user], "id": new_id(at, random), "created_at": at }))
            });
            likes.collect::<Vec<_>>()
        });
        emit(Table::Likes, likes, take)?;
        let comments = posts.iter().flat_map(|post| comments(post, network, &ids, random));
        emit(Table::Comments, comments, take)?;
    }
    Ok(())
}

/// The probability that a comment is a reply to an earlier one.
const REPLIES: f64 = 0.3;

/// Generates the comments on a post, in threads.
fn comments(post: &Post, network: &Network, ids: &[Uuid], random: &mut StdRng) -> Vec<Result<Value>> {
    let mut times: Vec<_> = (0..post.comments).map(|_| later(post.at, random)).collect();
    times.sort_unstable();
    // The position of the first comment of each thread, and the number of its replies.
    let mut threads: Vec<(usize, u64)> = Vec::new();
    let mut made: Vec<(Uuid, Value)> = Vec::new();
    for (nth, at) in times.into_iter().enumerate() {
        let id = new_id(at, random);
        let is_reply = !threads.is_empty() && random.random_bool(REPLIES);
        let thread = is_reply.then(|| random.random_range(0..threads.len()));
        match thread {
            Some(thread) => threads[thread].1 += 1,
            None => threads.push((nth, 0)),
        }
        let parent = thread.map(|thread| made[threads[thread].0].0);
        let row = json!({
            "id": id,
            "post_id": post.id,
            "author_id": ids[network.viewer(post, random)],
            "content": words::comment(random),
            "created_at": at,
            "updated_at": at,
            "parent_id": parent,
            "reply_to_id": parent,
            "reply_count": 0,
            "is_hidden": false,
            "like_count": 0,
        });
        made.push((id, row));
    }
    for (nth, replies) in threads {
        made[nth].1["reply_count"] = json!(replies);
    }
    made.into_iter().map(|(_, row)| Ok(row)).collect()
}

fn user(name: &str, id: Uuid, at: i64, hash: &PasswordHash, random: &mut StdRng) -> Result<Value> {
    let username = Username::parse(name).map_err(|violation| anyhow!("{violation}"))?;
    let email = Email::parse(&format!("{name}@example.org")).map_err(|violation| anyhow!("{violation}"))?;
    Ok(json!({
        "id": id,
        "username": username.as_str(),
        "username_key": username.key(),
        "email": email.as_str(),
        "email_key": email.key(),
        "password_hash": hash.as_str(),
        "biography": random.random_bool(0.6).then(|| words::biography(random)),
        "profile_picture": null,
        "is_admin": false,
        "is_user": true,
        "enabled": true,
        "created_at": at,
        "display_name": null,
        "discoverable": true,
        "searchable": true,
        "hide_counts": false,
        "email_verified": false,
    }))
}

fn product(product: &Product) -> Value {
    json!({
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
    })
}

fn variants(product: &Product) -> impl Iterator<Item = Value> {
    product.variants.iter().enumerate().map(|(position, variant)| {
        json!({
            "product_id": product.id.uuid(),
            "position": position,
            "color": variant.color.as_str(),
            "size": variant.size.as_str(),
            "stock": variant.stock.get(),
        })
    })
}
