//! The rules of who may see what, as the contract has them, over everything that happened so far.

/// An account, by its number. The first is an administrator to whom nothing happens.
pub(super) type Who = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    Public,
    Followers,
    Private,
}

impl Visibility {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Public => "PUBLIC",
            Self::Followers => "FOLLOWERS",
            Self::Private => "PRIVATE",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) is_user: bool,
    pub(super) is_admin: bool,
    pub(super) enabled: bool,
}

#[derive(Debug)]
pub(super) struct Post {
    pub(super) id: String,
    /// The number of the request that made it: its text and its key.
    pub(super) request: usize,
    pub(super) author: Who,
    pub(super) visibility: Visibility,
    pub(super) deleted: bool,
    /// Who likes it, by when they began to.
    pub(super) likes: Vec<Who>,
    /// Oldest first.
    pub(super) comments: Vec<Comment>,
}

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) id: String,
    pub(super) author: Who,
    pub(super) text: String,
    /// The comment at the top of its thread, and the one answered.
    pub(super) reply: Option<(String, String)>,
    /// Who wrote the comment answered.
    pub(super) answered: Option<Who>,
    /// Who likes it, by when they began to.
    pub(super) likes: Vec<Who>,
}

impl Post {
    /// The replies in the thread of a comment, oldest first.
    pub(super) fn replies(&self, thread: &str) -> Vec<&Comment> {
        let is_in = |comment: &&Comment| comment.reply.as_ref().is_some_and(|(parent, _)| parent == thread);
        self.comments.iter().filter(is_in).collect()
    }
}

/// An act of which somebody is told: its type, the post and the comment it is about, and who acted.
pub(super) type Told = (&'static str, Option<String>, Option<String>, Who);

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) accounts: Vec<Account>,
    /// Follower and followed, by when they began to.
    pub(super) follows: Vec<(Who, Who)>,
    /// Oldest first.
    pub(super) posts: Vec<Post>,
    /// Whose bookmark it is, and the number of the post, by when it was set.
    pub(super) bookmarks: Vec<(Who, usize)>,
}

impl Model {
    /// The status that somebody gets who asks for what those with a role may ask for, when it is this for them.
    pub(super) fn status(&self, caller: Who, of_member: u16) -> u16 {
        match self.accounts[caller] {
            Account { enabled: false, .. } => 401,
            Account { is_user: false, is_admin: false, .. } => 403,
            _ => of_member,
        }
    }

    pub(super) fn is_admin(&self, who: Who) -> bool {
        self.accounts[who].is_admin
    }

    pub(super) fn is_following(&self, follower: Who, followed: Who) -> bool {
        self.follows.contains(&(follower, followed))
    }

    pub(super) fn may_view(&self, viewer: Who, post: &Post) -> bool {
        let is_follower = || self.is_following(viewer, post.author);
        viewer == post.author
            || self.is_admin(viewer)
            || match post.visibility {
                Visibility::Public => true,
                Visibility::Followers => is_follower(),
                Visibility::Private => false,
            }
    }

    /// The status of what is for those who may view a post.
    pub(super) fn status_of_view(&self, viewer: Who, post: &Post) -> u16 {
        let of_member = match post {
            Post { deleted: true, .. } => 404,
            post if self.may_view(viewer, post) => 200,
            _ => 403,
        };
        self.status(viewer, of_member)
    }

    /// Whether somebody may read whom another one follows, and by whom that one is followed.
    pub(super) fn may_read_follows(&self, caller: Who, of: Who) -> bool {
        caller == of || self.is_following(caller, of) || self.is_admin(caller)
    }

    /// The posts of a list that shows what the viewer may view, newest first.
    pub(super) fn list(&self, viewer: Who, belongs: impl Fn(&Post) -> bool) -> Vec<&Post> {
        let shown = |post: &&Post| !post.deleted && belongs(post) && self.may_view(viewer, post);
        self.posts.iter().rev().filter(shown).collect()
    }

    pub(super) fn feed(&self, viewer: Who) -> Vec<&Post> {
        self.list(viewer, |post| self.is_following(viewer, post.author))
    }

    /// What the viewer has bookmarked, newest bookmark first.
    pub(super) fn bookmarked(&self, viewer: Who) -> Vec<&Post> {
        let posts = self.bookmarks.iter().rev().filter(|(by, _)| *by == viewer).map(|(_, n)| &self.posts[*n]);
        posts.filter(|post| !post.deleted && self.may_view(viewer, post)).collect()
    }

    /// Of which acts somebody is told: the type, the post, the comment, who acted; in no order.
    pub(super) fn told(&self, recipient: Who) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        let followers = self.follows.iter().filter(|(_, followed)| *followed == recipient);
        told.extend(followers.map(|(follower, _)| ("follow", None, None, *follower)));
        let viewed = self.posts.iter().filter(|post| !post.deleted && self.may_view(recipient, post));
        for post in viewed {
            let on_post = || Some(post.id.clone());
            if post.author == recipient {
                told.extend(post.likes.iter().map(|who| ("like", on_post(), None, *who)));
            }
            for comment in &post.comments {
                let on_comment = || Some(comment.id.clone());
                if comment.author == recipient {
                    told.extend(comment.likes.iter().map(|who| ("commentLike", on_post(), on_comment(), *who)));
                }
                let kind = match comment.answered {
                    Some(answered) if answered == recipient => "reply",
                    _ if post.author == recipient => "comment",
                    _ => continue,
                };
                told.push((kind, on_post(), on_comment(), comment.author));
            }
        }
        told.retain(|(.., actor)| *actor != recipient);
        told.sort();
        told
    }

    /// Newest first.
    pub(super) fn public(&self) -> Vec<&Post> {
        let is_shown =
            |post: &&Post| !post.deleted && post.visibility == Visibility::Public && self.accounts[post.author].enabled;
        self.posts.iter().rev().filter(is_shown).collect()
    }

    /// Newest first.
    pub(super) fn followers(&self, of: Who) -> Vec<Who> {
        self.follows.iter().rev().filter(|(_, followed)| *followed == of).map(|(follower, _)| *follower).collect()
    }

    /// Newest first.
    pub(super) fn followed(&self, by: Who) -> Vec<Who> {
        self.follows.iter().rev().filter(|(follower, _)| *follower == by).map(|(_, followed)| *followed).collect()
    }
}

/// Puts a relation in, or takes it out; nothing happens when there is nothing to do.
pub(super) fn set<T: PartialEq>(relations: &mut Vec<T>, relation: T, on: bool) {
    match relations.iter().position(|it| *it == relation) {
        None if on => relations.push(relation),
        Some(place) if !on => drop(relations.remove(place)),
        _ => {}
    }
}
