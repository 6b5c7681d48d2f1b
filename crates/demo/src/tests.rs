use std::collections::{BTreeMap, HashMap, HashSet};

use agora_database::Rows;
use agora_domain::accounts::PasswordHash;
use agora_domain::comments::CommentText;
use agora_domain::posts::{PostText, Visibility};
use serde_json::Value;

use super::network::{END, FOLLOWS_UNTIL, START};
use super::*;

/// The rows of each table.
type Made = HashMap<&'static str, Vec<Value>>;

/// The text of all rows, table by table.
fn lines(seed: u64, users: usize, posts: u64, celebrity: u64) -> Vec<(Table, String)> {
    let mut made: Vec<(Table, String)> = Vec::new();
    let mut random = StdRng::seed_from_u64(seed);
    let network = Network::new(users, celebrity, &mut random).unwrap();
    let mut take = |rows: Rows| {
        let text = String::from_utf8(rows.to_lines()?)?;
        made.push((rows.table(), text));
        Ok(())
    };
    rows::make(&network, posts, &PasswordHash::new("hash".to_owned()), &mut random, &mut take).unwrap();
    made
}

fn make(seed: u64, users: usize, posts: u64) -> Made {
    make_with(seed, users, posts, 0)
}

/// Generates a network whose celebrity makes that many posts.
fn make_with(seed: u64, users: usize, posts: u64, celebrity: u64) -> Made {
    let mut made = Made::new();
    for (table, text) in lines(seed, users, posts, celebrity) {
        let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
        made.entry(table.name()).or_default().extend(rows);
    }
    made
}

fn text<'a>(row: &'a Value, column: &str) -> &'a str {
    row[column].as_str().unwrap_or_else(|| panic!("no {column}: {row}"))
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("no {column}: {row}"))
}

fn by_id(rows: &[Value]) -> HashMap<&str, &Value> {
    rows.iter().map(|row| (text(row, "id"), row)).collect()
}

/// Counts how often each value of a column occurs.
fn tally<'a>(rows: &'a [Value], column: &str) -> HashMap<&'a str, usize> {
    let mut tally = HashMap::new();
    for row in rows {
        *tally.entry(text(row, column)).or_default() += 1;
    }
    tally
}

#[test]
fn the_same_arguments_give_the_same_rows() {
    let first = lines(1, 40, 200, 0);
    assert!(first == lines(1, 40, 200, 0));
    for (seed, users, posts, celebrity) in [(2, 40, 200, 0), (1, 41, 200, 0), (1, 40, 201, 0), (1, 40, 200, 1)] {
        assert!(first != lines(seed, users, posts, celebrity));
    }
}

#[test]
fn references_and_counts_of_rows_are_consistent() {
    let made = make_with(7, 200, 3_000, 500);
    let users = by_id(&made["users"]);
    for column in ["id", "username_key", "email_key"] {
        assert!(tally(&made["users"], column).values().all(|count| *count == 1), "{column}");
    }
    let posts = by_id(&made["posts"]);
    assert_eq!(posts.len(), 3_500);
    let follows: HashMap<_, _> = made["follows"]
        .iter()
        .map(|row| ((text(row, "follower_id"), text(row, "followed_id")), number(row, "created_at")))
        .collect();
    assert_eq!(follows.len(), made["follows"].len(), "twice the same follow");
    for ((follower, followed), at) in &follows {
        assert_ne!(follower, followed);
        let joined = [follower, followed].map(|id| number(users[*id], "created_at"));
        assert!((joined[0].max(joined[1])..FOLLOWS_UNTIL).contains(at));
    }

    let pairs: HashSet<_> = made["likes"].iter().map(|row| (text(row, "post_id"), text(row, "user_id"))).collect();
    assert_eq!(pairs.len(), made["likes"].len(), "twice the same like");
    let reactions = [("likes", "user_id", "like_count"), ("comments", "author_id", "comment_count")];
    for (table, who, count) in reactions {
        for row in &made[table] {
            let (post, by) = (posts[text(row, "post_id")], text(row, who));
            let author = text(post, "author_id");
            assert!((number(post, "created_at")..=END).contains(&number(row, "created_at")));
            assert!(users.contains_key(by));
            let may_view = match number(post, "visibility") {
                0 => true,
                1 => by == author || follows.contains_key(&(by, author)),
                _ => false,
            };
            assert!(may_view, "{row} and {post}");
            assert!(table == "comments" || by != author);
        }
        let counts = tally(&made[table], "post_id");
        for (id, post) in &posts {
            assert_eq!(number(post, count), counts.get(id).copied().unwrap_or_default() as i64, "{post}");
        }
    }
}

#[test]
fn replies_are_to_earlier_top_level_comments_of_the_same_post() {
    let made = make(4, 60, 2_000);
    let comments = by_id(&made["comments"]);
    let replies: Vec<_> = made["comments"].iter().filter(|row| !row["parent_id"].is_null()).collect();
    assert!(replies.len() > 100 && replies.len() < made["comments"].len() / 2, "{}", replies.len());
    for reply in &replies {
        let parent = comments[text(reply, "parent_id")];
        assert!(parent["parent_id"].is_null() && reply["reply_to_id"] == reply["parent_id"], "{reply}");
        assert_eq!(parent["post_id"], reply["post_id"]);
        assert!(number(parent, "created_at") <= number(reply, "created_at"));
    }
    for (id, comment) in comments {
        let count = replies.iter().filter(|reply| reply["parent_id"] == *id).count();
        assert_eq!(number(comment, "reply_count"), count as i64, "{comment}");
    }
}

#[test]
fn identifiers_are_of_version_7_and_sort_by_time() {
    let made = make(3, 60, 2_000);
    for (table, rows) in &made {
        let mut by_id: Vec<_> = rows.iter().filter_map(|row| Some((row.get("id")?.as_str()?, row))).collect();
        by_id.sort_unstable_by_key(|(id, _)| *id);
        for (id, row) in &by_id {
            let id = uuid::Uuid::parse_str(id).unwrap();
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
            assert_eq!((id.as_u128() >> 80) as i64, number(row, "created_at"));
            assert!((START..=END).contains(&number(row, "created_at")));
        }
        assert!(by_id.windows(2).all(|pair| pair[0].0 < pair[1].0), "{table}");
    }
    for table in ["users", "posts", "products"] {
        assert!(made[table].is_sorted_by_key(|row| text(row, "id")), "{table} are made in their order");
    }
}

#[test]
fn special_accounts_follow_the_number_of_accounts_in_their_names() {
    const USERS: usize = 5_100;
    let network = Network::new(USERS, 0, &mut StdRng::seed_from_u64(1)).unwrap();
    let names: Vec<_> = network.names().collect();
    let mut follows = vec![HashSet::new(); names.len()];
    let mut followers = vec![0; names.len()];
    for (follower, followed) in network.follows() {
        assert!(follower != followed && follows[follower].insert(followed));
        followers[followed] += 1;
    }
    let posters: HashSet<_> = network.posters.iter().copied().collect();

    let mut special = BTreeMap::<&str, usize>::new();
    for (account, name) in names.iter().enumerate().skip(USERS) {
        let kind = name.rsplit_once('_').map_or(&**name, |(kind, _)| kind);
        *special.entry(kind).or_default() += 1;
        let expected = kind.split_once('_').map_or(0, |(_, follows)| follows.parse().unwrap());
        let followed = &follows[account];
        assert_eq!(followed.len(), expected, "{name}");
        assert!(followed.iter().all(|account| *account < USERS), "{name} follows ordinary accounts");
        let expected = if kind == "writer" { network::FOLLOWERS_OF_WRITER } else { 0 };
        assert_eq!(followers[account], expected, "{name}");
        if kind == "silent_5000" {
            assert_eq!(followed.iter().filter(|account| posters.contains(account)).count(), 250, "{name}");
        }
    }
    let expected = [
        ("hermit", 1),
        ("reader_10", 64),
        ("reader_100", 64),
        ("reader_1000", 64),
        ("reader_20", 64),
        ("reader_5000", 16),
        ("silent_5000", 4),
        ("writer", 64),
    ];
    assert_eq!(special.into_iter().collect::<Vec<_>>(), expected);
    assert!(names[..USERS].iter().all(|name| !name.contains('_')));

    let few = make(1, 20, 10);
    assert_eq!(few["users"].len(), 20 + 64 + 64 + 1, "nobody is to follow more than there are");
}

#[test]
fn followers_posts_and_likes_are_unevenly_distributed() {
    let mut random = StdRng::seed_from_u64(1);
    let network = Network::new(10_000, 0, &mut random).unwrap();
    let mut followers: Vec<_> = (0..10_000).map(|user| network.followers[user].len()).collect();
    followers.sort_unstable();
    let mean = followers.iter().sum::<usize>() / followers.len();
    assert!((25..=36).contains(&mean), "{mean} follows each");
    assert!(followers[5_000] < mean && followers[9_999] > 2_000, "{} {}", followers[5_000], followers[9_999]);

    let posts: Vec<_> = (0..100_000).map(|_| network.post(FOLLOWS_UNTIL, &mut random)).collect();
    let likes: Vec<_> = posts.iter().map(|post| post.likes).collect();
    let comments: Vec<_> = posts.iter().map(|post| post.comments).collect();
    for (counts, mean, most) in [(likes, 4.0..6.0, 2_000), (comments, 1.6..2.4, 400)] {
        let (total, highest) = (counts.iter().sum::<usize>(), counts.iter().copied().max());
        assert!(mean.contains(&(total as f64 / posts.len() as f64)), "{total}");
        assert!(highest > Some(most), "{highest:?}");
        let none = counts.iter().filter(|count| **count == 0).count();
        assert!((40_000..80_000).contains(&none), "{none} posts have none");
    }
    let public = posts.iter().filter(|post| post.visibility == Visibility::Public).count();
    assert!((84_000..86_000).contains(&public), "{public}");
    let mut by_author = HashMap::<usize, usize>::new();
    posts.iter().for_each(|post| *by_author.entry(post.author).or_default() += 1);
    assert!(by_author.len() > 3_500 && by_author.len() <= 4_000, "{} authors", by_author.len());
    assert!(by_author.values().max() > Some(&1_000));
}

#[test]
fn a_celebrity_is_liked_by_some_and_likes_every_public_post_of_others() {
    let made = make_with(1, 40, 1_000, 2_500);
    let celebrity = made["users"].iter().find(|row| row["username"] == "celebrity").unwrap();
    let id = text(celebrity, "id");
    let (own, others): (Vec<_>, Vec<_>) = made["posts"].iter().partition(|row| text(row, "author_id") == id);
    assert_eq!(own.len(), 2_500);
    assert!(own.iter().all(|post| number(post, "like_count") == 10));
    let public = others.iter().filter(|post| number(post, "visibility") == 0).count();
    assert_eq!(tally(&made["likes"], "user_id")[id], public);
}

#[test]
fn generated_texts_are_valid() {
    let made = make(5, 100, 4_000);
    let lengths: Vec<_> = made["posts"].iter().map(|row| text(row, "content").chars().count()).collect();
    assert!(lengths.iter().all(|length| (20..=500).contains(length)), "{:?}", lengths.iter().max());
    assert!(lengths.iter().any(|length| *length < 40) && lengths.iter().any(|length| *length > 300));
    for row in &made["posts"] {
        assert_eq!(PostText::parse(text(row, "content")).unwrap().as_str(), text(row, "content"));
    }
    for row in &made["comments"] {
        assert_eq!(CommentText::parse(text(row, "content")).unwrap().as_str(), text(row, "content"));
    }
    assert!(made["users"].iter().any(|row| row["biography"].is_string()));
    assert_eq!(made["products"].len(), catalog::PRODUCTS);
    assert_eq!(tally(&made["products"], "category").len(), 8);
    assert_eq!(tally(&made["products"], "name").len(), catalog::PRODUCTS, "each product has a name of its own");
    for product in &made["products"] {
        let variants = made["product_variants"].iter().filter(|row| row["product_id"] == product["id"]);
        let stocks: Vec<_> = variants.map(|row| number(row, "stock")).collect();
        assert!(stocks.is_empty() || stocks.iter().sum::<i64>() == number(product, "stock"), "{product}");
    }
}
