//! The rules of who may see what, as the contract has them, over everything that happened so far.

/// How many accounts there are.
pub(super) const PEOPLE: usize = 5;

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
    /// Whether the author's account is deleted, whose place is another one's.
    pub(super) is_of_gone: bool,
    pub(super) hidden: bool,
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
    pub(super) hidden: bool,
    /// Who likes it, by when they began to.
    pub(super) likes: Vec<Who>,
}

impl Post {
    /// The comment at the top of the thread of another one, if there is one.
    fn thread(&self, comment: &Comment) -> Option<&Comment> {
        let (thread, _) = comment.reply.as_ref()?;
        self.comments.iter().find(|it| it.id == *thread)
    }

    /// Whether a comment, or its thread, is hidden.
    pub(super) fn hides(&self, comment: &Comment) -> bool {
        comment.hidden || self.thread(comment).is_some_and(|thread| thread.hidden)
    }

    /// How many comments are counted.
    pub(super) fn comment_count(&self) -> usize {
        self.comments.iter().filter(|comment| !self.hides(comment)).count()
    }

    /// How many replies in the thread of a comment are counted.
    pub(super) fn reply_count(&self, thread: &str) -> usize {
        self.replies(thread).into_iter().filter(|comment| !comment.hidden).count()
    }

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
    /// Blocker and blocked, by when the block was made.
    pub(super) blocks: Vec<(Who, Who)>,
    /// Muter and muted, by when the mute was made.
    pub(super) mutes: Vec<(Who, Who)>,
    /// What a recipient is not told for good: it was done by somebody muted or apart.
    untold: Vec<(Who, Told)>,
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

    /// Whether one of two blocks the other.
    pub(super) fn are_apart(&self, one: Who, other: Who) -> bool {
        self.blocks.contains(&(one, other)) || self.blocks.contains(&(other, one))
    }

    /// Whether somebody is there for a viewer.
    pub(super) fn sees(&self, viewer: Who, other: Who) -> bool {
        self.is_admin(viewer) || !self.are_apart(viewer, other)
    }

    /// Whether a post is hidden from a viewer.
    pub(super) fn is_hidden(&self, viewer: Who, post: &Post) -> bool {
        post.hidden && viewer != post.author && !self.is_admin(viewer)
    }

    /// Whether a comment, its thread or its post is hidden from a viewer.
    pub(super) fn is_comment_hidden(&self, viewer: Who, post: &Post, comment: &Comment) -> bool {
        let hidden = |it: &Comment| it.hidden && viewer != it.author && !self.is_admin(viewer);
        hidden(comment) || post.thread(comment).is_some_and(hidden) || self.is_hidden(viewer, post)
    }

    /// Whether lists of comments show one to a viewer who may view the post.
    pub(super) fn shows(&self, viewer: Who, post: &Post, comment: &Comment) -> bool {
        self.sees(viewer, comment.author) && !self.is_comment_hidden(viewer, post, comment)
    }

    pub(super) fn may_view(&self, viewer: Who, post: &Post) -> bool {
        let is_follower = || self.is_following(viewer, post.author);
        viewer == post.author
            || self.is_admin(viewer)
            || self.sees(viewer, post.author)
                && !post.hidden
                && match post.visibility {
                    Visibility::Public => true,
                    Visibility::Followers => is_follower(),
                    Visibility::Private => false,
                }
    }

    /// Whether the posts of somebody are in the timelines of a viewer, if the viewer may view them.
    fn is_heard(&self, viewer: Who, author: Who) -> bool {
        self.sees(viewer, author) && !self.mutes.contains(&(viewer, author))
    }

    /// The status of what is for those who may view a post.
    pub(super) fn status_of_view(&self, viewer: Who, post: &Post) -> u16 {
        let of_member = match post {
            Post { deleted: true, .. } => 404,
            post if !self.sees(viewer, post.author) || self.is_hidden(viewer, post) => 404,
            post if self.may_view(viewer, post) => 200,
            _ => 403,
        };
        self.status(viewer, of_member)
    }

    /// The status of what is for those who may view a post and see the author of a comment on it.
    pub(super) fn status_of_comment(&self, viewer: Who, post: &Post, comment: &Comment) -> u16 {
        let status = self.status_of_view(viewer, post);
        if [200, 403].contains(&status) && !self.shows(viewer, post, comment) {
            return self.status(viewer, 404);
        }
        status
    }

    /// The status of whoever asks whom another one follows, or by whom that one is followed.
    pub(super) fn status_of_follows(&self, caller: Who, of: Who) -> u16 {
        match caller == of || self.is_following(caller, of) || self.is_admin(caller) {
            true => 200,
            false if self.sees(caller, of) => 403,
            false => 404,
        }
    }

    /// The posts of a list that shows what the viewer may view, newest first.
    pub(super) fn list(&self, viewer: Who, belongs: impl Fn(&Post) -> bool) -> Vec<&Post> {
        let shown = |post: &&Post| !post.deleted && belongs(post) && self.may_view(viewer, post);
        self.posts.iter().rev().filter(shown).collect()
    }

    /// The posts of a list of all authors, newest first.
    pub(super) fn timeline(&self, viewer: Who, belongs: impl Fn(&Post) -> bool) -> Vec<&Post> {
        self.list(viewer, |post| self.is_heard(viewer, post.author) && belongs(post))
    }

    pub(super) fn feed(&self, viewer: Who) -> Vec<&Post> {
        self.timeline(viewer, |post| self.is_following(viewer, post.author))
    }

    /// What the viewer has bookmarked, newest bookmark first.
    pub(super) fn bookmarked(&self, viewer: Who) -> Vec<&Post> {
        let posts = self.bookmarks.iter().rev().filter(|(by, _)| *by == viewer).map(|(_, n)| &self.posts[*n]);
        let is_shown = |post: &&Post| self.may_view(viewer, post) && self.is_heard(viewer, post.author);
        posts.filter(|post| !post.deleted && is_shown(post)).collect()
    }

    pub(super) fn is_bookmarked(&self, viewer: Who, post: &Post) -> bool {
        self.bookmarks.iter().any(|(by, n)| *by == viewer && self.posts[*n].id == post.id)
    }

    /// Of which acts somebody is told: the type, the post, the comment, who acted; in no order.
    pub(super) fn told(&self, recipient: Who) -> Vec<Told> {
        let may_view = |post: &Post| self.may_view(recipient, post);
        let is_shown = |post: &Post, comment: &Comment| !self.is_comment_hidden(recipient, post, comment);
        let mut told = self.acts(recipient, may_view, is_shown);
        told.retain(|act| !self.untold.contains(&(recipient, act.clone())));
        told
    }

    /// Keeps in mind what is not told for good: what was done until now by those who are muted or apart, but for what was taken
    /// back.
    pub(super) fn forget(&mut self) {
        let mut untold = Vec::new();
        for recipient in 0..self.accounts.len() {
            for act in self.acts(recipient, |_| true, |_, _| true) {
                let actor = act.3;
                let is_unheard = self.mutes.contains(&(recipient, actor)) || self.are_apart(recipient, actor);
                let act = (recipient, act);
                if is_unheard || self.untold.contains(&act) {
                    untold.push(act);
                }
            }
        }
        self.untold = untold;
    }

    /// Takes out all that an account has stored; the place is another one's from then on.
    pub(super) fn leave(&mut self, who: Who) {
        self.accounts[who] = Account { is_user: true, is_admin: false, enabled: true };
        for post in &mut self.posts {
            if post.author == who {
                (post.deleted, post.is_of_gone) = (true, true);
            }
            post.likes.retain(|by| *by != who);
            // What stands in a thread goes with its top.
            let own: Vec<String> = post
                .comments
                .iter()
                .filter(|comment| comment.author == who)
                .map(|comment| comment.id.clone())
                .collect();
            let is_in_own = |reply: &Option<(String, String)>| reply.as_ref().is_some_and(|(top, _)| own.contains(top));
            post.comments.retain(|comment| comment.author != who && !is_in_own(&comment.reply));
            for comment in &mut post.comments {
                comment.likes.retain(|by| *by != who);
                comment.answered = comment.answered.filter(|answered| *answered != who);
            }
        }
        for pairs in [&mut self.follows, &mut self.blocks, &mut self.mutes] {
            pairs.retain(|(one, other)| *one != who && *other != who);
        }
        self.bookmarks.retain(|(by, _)| *by != who);
        self.untold.retain(|(recipient, (.., actor))| *recipient != who && *actor != who);
    }

    /// The acts of others that concern somebody, on posts that are there.
    fn acts(
        &self,
        recipient: Who,
        is_shown: impl Fn(&Post) -> bool,
        is_comment_shown: impl Fn(&Post, &Comment) -> bool,
    ) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        let followers = self.follows.iter().filter(|(_, followed)| *followed == recipient);
        told.extend(followers.map(|(follower, _)| ("follow", None, None, *follower)));
        let viewed = self.posts.iter().filter(|post| !post.deleted && is_shown(post));
        for post in viewed {
            let on_post = || Some(post.id.clone());
            if post.author == recipient {
                told.extend(post.likes.iter().map(|who| ("like", on_post(), None, *who)));
            }
            for comment in post.comments.iter().filter(|comment| is_comment_shown(post, comment)) {
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
    pub(super) fn public(&self, viewer: Who) -> Vec<&Post> {
        let is_public = |post: &Post| post.visibility == Visibility::Public && !post.hidden;
        self.timeline(viewer, |post| is_public(post) && self.accounts[post.author].enabled)
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
