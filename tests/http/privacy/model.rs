//! A model of the service: everything that happened so far, and the rules of the contract about who may see what of it.

/// The number of accounts.
pub(super) const PEOPLE: usize = 5;

/// The index of an account. The first is an administrator who always stays one.
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
    /// The number of the request that created it, from which its text and its `Idempotency-Key` derive.
    pub(super) request: usize,
    pub(super) author: Who,
    pub(super) visibility: Visibility,
    pub(super) deleted: bool,
    /// Whether the author's account was deleted. The index of the author then belongs to another account.
    pub(super) is_author_deleted: bool,
    pub(super) hidden: bool,
    /// Who likes it, oldest like first.
    pub(super) likes: Vec<Who>,
    /// Oldest first.
    pub(super) comments: Vec<Comment>,
}

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) id: String,
    pub(super) author: Who,
    pub(super) text: String,
    /// If it is a reply, the ids of the comment at the top of its thread and of the comment that it answers.
    pub(super) reply: Option<(String, String)>,
    /// The author of the comment that it answers.
    pub(super) answered: Option<Who>,
    pub(super) hidden: bool,
    /// Who likes it, oldest like first.
    pub(super) likes: Vec<Who>,
}

impl Post {
    /// Returns the comment at the top of a reply's thread.
    fn thread(&self, comment: &Comment) -> Option<&Comment> {
        let (thread, _) = comment.reply.as_ref()?;
        self.comments.iter().find(|it| it.id == *thread)
    }

    /// Returns whether a comment or its thread is hidden.
    pub(super) fn hides(&self, comment: &Comment) -> bool {
        comment.hidden || self.thread(comment).is_some_and(|thread| thread.hidden)
    }

    /// Returns the number of comments without hidden ones.
    pub(super) fn comment_count(&self) -> usize {
        self.comments.iter().filter(|comment| !self.hides(comment)).count()
    }

    /// Returns the number of replies in a thread without hidden ones.
    pub(super) fn reply_count(&self, thread: &str) -> usize {
        self.replies(thread).into_iter().filter(|comment| !comment.hidden).count()
    }

    /// Returns the replies in a thread, oldest first.
    pub(super) fn replies(&self, thread: &str) -> Vec<&Comment> {
        let is_in = |comment: &&Comment| comment.reply.as_ref().is_some_and(|(parent, _)| parent == thread);
        self.comments.iter().filter(is_in).collect()
    }
}

/// What a notification is about: its type, the post, the comment, and the account that acted.
pub(super) type Act = (&'static str, Option<String>, Option<String>, Who);

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) accounts: Vec<Account>,
    /// Follower and followed, oldest first.
    pub(super) follows: Vec<(Who, Who)>,
    /// Oldest first.
    pub(super) posts: Vec<Post>,
    /// The account and the index of the post, oldest bookmark first.
    pub(super) bookmarks: Vec<(Who, usize)>,
    /// Blocker and blocked, oldest first.
    pub(super) blocks: Vec<(Who, Who)>,
    /// Muter and muted, oldest first.
    pub(super) mutes: Vec<(Who, Who)>,
    /// The acts of which a recipient is never notified, since there was a mute or a block when they happened.
    suppressed: Vec<(Who, Act)>,
}

impl Model {
    /// Returns the status of a request that requires a role: `of_member` for a caller who has one.
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

    /// Returns whether one of two accounts blocks the other.
    pub(super) fn are_blocked(&self, one: Who, other: Who) -> bool {
        self.blocks.contains(&(one, other)) || self.blocks.contains(&(other, one))
    }

    /// Returns whether an account is visible to a viewer.
    pub(super) fn sees(&self, viewer: Who, other: Who) -> bool {
        self.is_admin(viewer) || !self.are_blocked(viewer, other)
    }

    /// Returns whether a post is hidden from a viewer by an administrator.
    pub(super) fn is_hidden(&self, viewer: Who, post: &Post) -> bool {
        post.hidden && viewer != post.author && !self.is_admin(viewer)
    }

    /// Returns whether a comment, its thread or its post is hidden from a viewer by an administrator.
    pub(super) fn is_comment_hidden(&self, viewer: Who, post: &Post, comment: &Comment) -> bool {
        let hidden = |it: &Comment| it.hidden && viewer != it.author && !self.is_admin(viewer);
        hidden(comment) || post.thread(comment).is_some_and(hidden) || self.is_hidden(viewer, post)
    }

    /// Returns whether lists of comments show a comment to a viewer who may view the post.
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

    /// Returns whether timelines show an author's posts to a viewer, if the viewer may view them: there is no block or mute.
    fn is_in_timelines(&self, viewer: Who, author: Who) -> bool {
        self.sees(viewer, author) && !self.mutes.contains(&(viewer, author))
    }

    /// Returns the status of a request for which the caller must be allowed to view a post.
    pub(super) fn status_of_view(&self, viewer: Who, post: &Post) -> u16 {
        let of_member = match post {
            Post { deleted: true, .. } => 404,
            post if !self.sees(viewer, post.author) || self.is_hidden(viewer, post) => 404,
            post if self.may_view(viewer, post) => 200,
            _ => 403,
        };
        self.status(viewer, of_member)
    }

    /// Returns the status of a request for which the caller must be allowed to see a comment on a post.
    pub(super) fn status_of_comment(&self, viewer: Who, post: &Post, comment: &Comment) -> u16 {
        let status = self.status_of_view(viewer, post);
        if [200, 403].contains(&status) && !self.shows(viewer, post, comment) {
            return self.status(viewer, 404);
        }
        status
    }

    /// Returns the status of a request for the follow lists of an account.
    pub(super) fn status_of_follows(&self, caller: Who, of: Who) -> u16 {
        match caller == of || self.is_following(caller, of) || self.is_admin(caller) {
            true => 200,
            false if self.sees(caller, of) => 403,
            false => 404,
        }
    }

    /// Returns the posts that belong to a list and that the viewer may view, newest first.
    pub(super) fn list(&self, viewer: Who, belongs: impl Fn(&Post) -> bool) -> Vec<&Post> {
        let shown = |post: &&Post| !post.deleted && belongs(post) && self.may_view(viewer, post);
        self.posts.iter().rev().filter(shown).collect()
    }

    /// Returns the same for a list of posts by all authors, from which blocked and muted ones are left out.
    pub(super) fn timeline(&self, viewer: Who, belongs: impl Fn(&Post) -> bool) -> Vec<&Post> {
        self.list(viewer, |post| self.is_in_timelines(viewer, post.author) && belongs(post))
    }

    pub(super) fn feed(&self, viewer: Who) -> Vec<&Post> {
        self.timeline(viewer, |post| self.is_following(viewer, post.author))
    }

    /// Returns the viewer's bookmarked posts, newest bookmark first.
    pub(super) fn bookmarked(&self, viewer: Who) -> Vec<&Post> {
        let posts = self.bookmarks.iter().rev().filter(|(by, _)| *by == viewer).map(|(_, n)| &self.posts[*n]);
        let is_shown = |post: &&Post| self.may_view(viewer, post) && self.is_in_timelines(viewer, post.author);
        posts.filter(|post| !post.deleted && is_shown(post)).collect()
    }

    pub(super) fn is_bookmarked(&self, viewer: Who, post: &Post) -> bool {
        self.bookmarks.iter().any(|(by, n)| *by == viewer && self.posts[*n].id == post.id)
    }

    /// Returns the acts of which a recipient has notifications, sorted.
    pub(super) fn notified_acts(&self, recipient: Who) -> Vec<Act> {
        let may_view = |post: &Post| self.may_view(recipient, post);
        let is_shown = |post: &Post, comment: &Comment| !self.is_comment_hidden(recipient, post, comment);
        let mut acts = self.acts(recipient, may_view, is_shown);
        acts.retain(|act| !self.suppressed.contains(&(recipient, act.clone())));
        acts
    }

    /// Updates the suppressed acts: adds those of accounts that are now muted or blocked, and drops those that were undone.
    pub(super) fn update_suppressed(&mut self) {
        let mut suppressed = Vec::new();
        for recipient in 0..self.accounts.len() {
            for act in self.acts(recipient, |_| true, |_, _| true) {
                let actor = act.3;
                let is_suppressed = self.mutes.contains(&(recipient, actor)) || self.are_blocked(recipient, actor);
                let act = (recipient, act);
                if is_suppressed || self.suppressed.contains(&act) {
                    suppressed.push(act);
                }
            }
        }
        self.suppressed = suppressed;
    }

    /// Removes everything that an account has stored. Its index belongs to a new account from then on.
    pub(super) fn delete_account(&mut self, who: Who) {
        self.accounts[who] = Account { is_user: true, is_admin: false, enabled: true };
        for post in &mut self.posts {
            if post.author == who {
                (post.deleted, post.is_author_deleted) = (true, true);
            }
            post.likes.retain(|by| *by != who);
            // The replies in a thread are deleted with the comment at its top.
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
        self.suppressed.retain(|(recipient, (.., actor))| *recipient != who && *actor != who);
    }

    /// Returns the acts of others on posts that exist which the recipient could be notified of.
    fn acts(
        &self,
        recipient: Who,
        is_shown: impl Fn(&Post) -> bool,
        is_comment_shown: impl Fn(&Post, &Comment) -> bool,
    ) -> Vec<Act> {
        let mut acts: Vec<Act> = Vec::new();
        let followers = self.follows.iter().filter(|(_, followed)| *followed == recipient);
        acts.extend(followers.map(|(follower, _)| ("follow", None, None, *follower)));
        let viewed = self.posts.iter().filter(|post| !post.deleted && is_shown(post));
        for post in viewed {
            let on_post = || Some(post.id.clone());
            if post.author == recipient {
                acts.extend(post.likes.iter().map(|who| ("like", on_post(), None, *who)));
            }
            for comment in post.comments.iter().filter(|comment| is_comment_shown(post, comment)) {
                let on_comment = || Some(comment.id.clone());
                if comment.author == recipient {
                    acts.extend(comment.likes.iter().map(|who| ("commentLike", on_post(), on_comment(), *who)));
                }
                let kind = match comment.answered {
                    Some(answered) if answered == recipient => "reply",
                    _ if post.author == recipient => "comment",
                    _ => continue,
                };
                acts.push((kind, on_post(), on_comment(), comment.author));
            }
        }
        acts.retain(|(.., actor)| *actor != recipient);
        acts.sort();
        acts
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

/// Adds or removes a relation. Does nothing if it is already as wanted.
pub(super) fn set<T: PartialEq>(relations: &mut Vec<T>, relation: T, on: bool) {
    match relations.iter().position(|it| *it == relation) {
        None if on => relations.push(relation),
        Some(place) if !on => drop(relations.remove(place)),
        _ => {}
    }
}
