//! Users as others see them, with their counts.

use agora_domain::accounts::{Account, Privacy, Viewer};
use agora_domain::id::{PostId, UserId};
use agora_domain::page::PageRequest;
use agora_domain::people::{Person, PostCounts, Relationship};
use agora_domain::posts::{PostEdit, Visibility};

use crate::Repositories;
use crate::run::{concurrently, done_or_missing, pages};
use crate::world::{ANYBODY, World, biography, display_name, pseudo_random, username};

/// Returns an account as a person, with this relationship to the viewer and all counts zero.
fn uncounted(account: &Account, relationship: Relationship) -> Person {
    let Account { id, username, display_name, biography, profile_picture, created_at, enabled, .. } = account.clone();
    Person {
        id,
        username,
        display_name,
        biography,
        profile_picture,
        created_at,
        enabled,
        discoverable: account.privacy.discoverable,
        hide_counts: account.privacy.hide_counts,
        posts: PostCounts::default(),
        follower_count: 0,
        followed_count: 0,
        relationship,
        blocks_viewer: false,
    }
}

async fn person(db: &Repositories, id: UserId) -> Person {
    db.people.find(id, id).await.unwrap().unwrap()
}

fn seen_as(visibility: Visibility) -> PostEdit {
    PostEdit { visibility: Some(visibility), ..PostEdit::default() }
}

/// Checks the counts of a user against the rows that exist.
async fn expect_exact(db: &Repositories, user: UserId) {
    let found = person(db, user).await;
    let posts = async |visible| {
        let read = async |page| db.posts.list_by_author(user, visible, Viewer::ordinary(user), page).await;
        u64::try_from(pages(100, read).await.len()).unwrap()
    };
    let counted = PostCounts {
        public: posts(&[Visibility::Public]).await,
        followers: posts(&[Visibility::Followers]).await,
        private: posts(&[Visibility::Private]).await,
    };
    let followers = pages(100, async |page| db.follows.list_followers(user, ANYBODY, page).await).await.len();
    let followed = pages(100, async |page| db.follows.list_followed(user, ANYBODY, page).await).await.len();
    assert_eq!(found.posts, counted);
    assert_eq!((found.follower_count, found.followed_count), (followers as u64, followed as u64));
}

pub async fn a_person_is_found_with_every_field_and_the_relationship_to_the_viewer(db: Repositories) {
    let w = World::new(&db);
    let ada = w
        .account_with("Ada", |account| {
            account.display_name = display_name("Ada L. 'the' \"first\"");
            account.biography = biography("Counts");
            account.profile_picture = Some(w.new_picture());
            account.privacy = Privacy { hide_counts: true, ..Privacy::default() };
        })
        .await;
    let [bob, cleo, dan] = w.users().await;
    w.follow(bob, ada.id).await;
    w.follow(ada.id, cleo).await;
    for (viewer, following, followed_by) in
        [(bob, true, false), (cleo, false, true), (dan, false, false), (ada.id, false, false)]
    {
        let relationship = Relationship { following, followed_by, ..Relationship::default() };
        let expected = Person { follower_count: 1, followed_count: 1, ..uncounted(&ada, relationship) };
        assert_eq!(db.people.find(ada.id, viewer).await.unwrap(), Some(expected));
    }
    assert_eq!(db.people.find(w.id(), bob).await.unwrap(), None);
    db.accounts.set_enabled(ada.id, false, &w.entry()).await.unwrap();
    assert!(!person(&db, ada.id).await.enabled);
}

pub async fn a_person_is_found_by_name_in_any_letter_case(db: Repositories) {
    let w = World::new(&db);
    let (ada, bob) = (w.account("Ada Ünïcode").await, w.account("bob").await);
    for name in ["Ada Ünïcode", "ADA ÜNÏCODE", "ada u\u{308}nïcode"] {
        let found = db.people.find_by_username(&username(name), bob.id).await.unwrap();
        assert_eq!(found, Some(uncounted(&ada, Relationship::default())), "{name}");
    }
    for name in ["Ada Unicode", "Ada", "%"] {
        assert_eq!(db.people.find_by_username(&username(name), bob.id).await.unwrap(), None, "{name}");
    }
}

pub async fn existing_people_are_found_among_many_ids(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob, cleo] = w.users().await;
    w.follow(ada, bob).await;
    for (asked, expected) in [
        (vec![], vec![]),
        (vec![cleo], vec![cleo]),
        (vec![w.id()], vec![]),
        (vec![bob, w.id(), ada, cleo], vec![ada, bob, cleo]),
    ] {
        let mut found = db.people.find_all(&asked, ada).await.unwrap();
        found.sort_by_key(|person| person.id.uuid());
        assert!(found.iter().all(|person| person.relationship.following == (person.id == bob)));
        assert_eq!(found.into_iter().map(|person| person.id).collect::<Vec<_>>(), expected);
    }
}

pub async fn posts_are_counted_by_who_may_view_them(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    w.post(bob).await;
    let mut posts = Vec::new();
    for visibility in [Visibility::Public, Visibility::Followers, Visibility::Followers, Visibility::Private] {
        posts.push(w.post_with(ada, |post| post.visibility = visibility).await.id);
    }
    let counts = async || person(&db, ada).await.posts;
    assert_eq!(counts().await, PostCounts { public: 1, followers: 2, private: 1 });
    db.posts.edit(posts[1], ANYBODY, &seen_as(Visibility::Private), w.now()).await.unwrap();
    assert_eq!(counts().await, PostCounts { public: 1, followers: 1, private: 2 });
    db.posts.edit(posts[1], ANYBODY, &seen_as(Visibility::Private), w.now()).await.unwrap();
    w.like(posts[1], bob).await;
    w.comment(posts[1], bob).await;
    assert_eq!(counts().await, PostCounts { public: 1, followers: 1, private: 2 });
    for (post, expected) in [(posts[0], (0, 1, 2)), (posts[1], (0, 1, 1)), (posts[3], (0, 1, 0))] {
        db.posts.delete(post, w.now()).await.unwrap();
        let PostCounts { public, followers, private } = counts().await;
        assert_eq!((public, followers, private), expected);
    }
    assert_eq!(person(&db, bob).await.posts, PostCounts { public: 1, ..PostCounts::default() });
}

pub async fn a_post_marked_as_deleted_is_no_longer_counted(db: Repositories) {
    let w = World::new(&db);
    let [ada, bob] = w.users().await;
    w.post(ada).await;
    let post = w.post(ada).await.id;
    for _ in 0..501 {
        w.comment(post, bob).await;
    }
    assert_eq!(person(&db, ada).await.posts.public, 2);
    db.posts.delete(post, w.now()).await.unwrap();
    let mut steps = 0;
    loop {
        assert_eq!(person(&db, ada).await.posts.public, 1, "after {steps} steps");
        if db.posts.erase_deleted().await.unwrap() == 0 {
            break;
        }
        steps += 1;
    }
    assert!(steps > 1, "deleted entries were marked first, and erased later");
}

pub async fn follows_are_counted_on_both_sides(db: Repositories) {
    let w = World::new(&db);
    let users: [UserId; 20] = w.users().await;
    let (host, others) = (users[0], &users[1..]);
    for other in others {
        w.follow(*other, host).await;
        w.follow(*other, host).await;
    }
    w.follow(host, others[0]).await;
    let counts = async |user| {
        let person = person(&db, user).await;
        (person.follower_count, person.followed_count)
    };
    assert_eq!((counts(host).await, counts(others[0]).await, counts(others[1]).await), ((19, 1), (1, 1), (0, 1)));
    for (n, other) in others.iter().enumerate() {
        match n % 2 {
            0 => db.follows.unset(*other, host).await.unwrap(),
            _ => assert!(!db.follows.toggle(*other, host, w.new_relation(), None).await.unwrap()),
        }
        db.follows.unset(*other, host).await.unwrap();
        assert_eq!(counts(host).await, (18 - n as u64, 1));
    }
    assert_eq!((counts(others[0]).await, counts(others[1]).await), ((1, 0), (0, 0)));
}

pub async fn counts_are_exact_under_concurrency(db: Repositories) {
    let w = World::new(&db);
    let users: [UserId; 6] = w.users().await;
    let mut roll = pseudo_random();
    let mut pick = |sides: usize| usize::try_from(roll(i64::try_from(sides).unwrap())).unwrap();
    let mut posts: Vec<PostId> = Vec::new();
    for user in users {
        for _ in 0..6 {
            let visibility = Visibility::ALL[pick(3)];
            posts.push(w.post_with(user, |post| post.visibility = visibility).await.id);
        }
    }
    concurrently((0..16).map(|_| {
        let steps: Vec<_> = (0..625)
            .map(|_| {
                let (one, other) = (users[pick(6)], users[pick(6)]);
                let mut new = w.new_post(one);
                new.visibility = Visibility::ALL[pick(3)];
                posts.push(new.id);
                (pick(6), one, other, new, posts[pick(posts.len())], w.new_relation(), w.now())
            })
            .collect();
        let db = db.clone();
        async move {
            for (step, one, other, new, post, relation, now) in steps {
                match step {
                    0 => db.posts.create(&new, &[], None).await.map(drop).unwrap(),
                    1 => done_or_missing(db.posts.edit(post, ANYBODY, &seen_as(new.visibility), now).await).unwrap(),
                    2 => done_or_missing(db.posts.delete(post, now).await).unwrap(),
                    _ if one == other => {}
                    3 => db.follows.set(one, other, relation).await.unwrap(),
                    4 => db.follows.unset(one, other).await.unwrap(),
                    _ => db.follows.toggle(one, other, relation, None).await.map(drop).unwrap(),
                }
            }
        }
    }))
    .await;
    for user in users {
        expect_exact(&db, user).await;
    }
}

pub async fn the_directory_lists_enabled_discoverable_accounts_newest_first(db: Repositories) {
    let w = World::new(&db);
    let old = w.account("Old").await;
    let hermit = w.account_with("Hermit", |account| account.privacy.discoverable = false).await;
    let disabled = w.account_with("Disabled", |account| account.enabled = false).await;
    let shy = w.account_with("Shy", |account| account.privacy.searchable = false).await;
    let listed = async |size| {
        let found = pages(size, async |page| db.people.list_discoverable(Viewer::ordinary(old.id), page).await).await;
        found.into_iter().map(|person| person.id).collect::<Vec<_>>()
    };
    for size in [1, 10] {
        assert_eq!(listed(size).await, [shy.id, old.id]);
    }
    db.accounts.set_enabled(disabled.id, true, &w.entry()).await.unwrap();
    assert_eq!(listed(10).await, [shy.id, disabled.id, old.id]);
    assert!(!listed(10).await.contains(&hermit.id));
}

pub async fn lists_of_followers_exclude_disabled_accounts_unless_requested(db: Repositories) {
    let w = World::new(&db);
    let users: [UserId; 40] = w.users().await;
    let (host, viewer, others) = (users[0], users[1], &users[2..]);
    for other in others {
        w.follow(*other, host).await;
        w.follow(host, *other).await;
        w.follow(viewer, *other).await;
    }
    // More disabled accounts in a row than a page reads at first.
    let hidden: Vec<_> = others.iter().copied().enumerate().filter(|(n, _)| n % 16 > 0).map(|(_, user)| user).collect();
    for user in hidden.clone() {
        db.accounts.set_enabled(user, false, &w.entry()).await.unwrap();
    }
    for with_disabled in [false, true] {
        let viewer = Viewer { id: viewer, sees_all: with_disabled };
        let expected: Vec<_> =
            others.iter().rev().copied().filter(|user| with_disabled || !hidden.contains(user)).collect();
        for size in [1, 2, 100] {
            let followers = pages(size, async |page| db.people.list_followers(host, viewer, page).await).await;
            let followed = pages(size, async |page| db.people.list_followed(host, viewer, page).await).await;
            for listed in [followers, followed] {
                assert!(listed.iter().all(|person| person.relationship.following && person.follower_count == 2));
                assert_eq!(listed.iter().map(|person| person.id).collect::<Vec<_>>(), expected, "{size} at a time");
            }
        }
    }
    let none =
        db.people.list_followers(viewer, Viewer { sees_all: true, ..ANYBODY }, PageRequest::FIRST).await.unwrap();
    assert!(none.items.is_empty());
}
