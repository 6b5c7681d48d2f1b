//! The use cases of following, and the rules about it.

use std::sync::Arc;

use super::FollowRepository;
use crate::accounts::{Member, UserSummary};
use crate::clock::Clock;
use crate::error::{Disallowed, Error, Forbidden, Resource, Result};
use crate::id::{IdGenerator, RelationId, UserId};
use crate::idempotency::{Attempt, Outcome};
use crate::notices::{Act, NotificationKind, Subject};
use crate::page::{Page, PageRequest};
use crate::posts::Audience;
use crate::relation::{NewRelation, Standing};

/// The maximum number of accounts that one account may follow. An account that followed more before keeps them.
pub const MAX_FOLLOWED: usize = 10_000;

/// The error for following more than [`MAX_FOLLOWED`] accounts.
pub const TOO_MANY_FOLLOWED: Error = Error::Disallowed(Disallowed::TooManyFollowed);

/// Checks that callers do not follow themselves.
///
/// # Errors
/// [`Error::Disallowed`] for oneself.
fn ensure_not_oneself(caller: &Member, followed: UserId) -> Result<()> {
    if caller.id() == followed { Err(Error::Disallowed(Disallowed::FollowSelf)) } else { Ok(()) }
}

/// Checks that the caller may read the follow lists of `user`: the user, the user's followers and ADMIN may.
///
/// # Errors
/// [`Error::NotFound`] when there is no such user, or a block separates the caller from the user; [`Error::Forbidden`] for
/// anybody else.
pub(crate) fn ensure_may_list(caller: &Member, user: UserId, standing: Option<Standing>) -> Result<()> {
    let standing = standing.ok_or(Error::NotFound(Resource::User))?;
    match Audience::of(caller, user, standing) {
        Audience::Privileged | Audience::Follower => Ok(()),
        Audience::Stranger => Err(Error::Forbidden(Forbidden::NotFollower)),
        Audience::Blocked => Err(Error::NotFound(Resource::User)),
    }
}

/// Follows and unfollows users, and lists followers and followed users.
pub struct Follows {
    /// Stores who follows whom.
    pub follows: Arc<dyn FollowRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes relation ids.
    pub ids: Arc<dyn IdGenerator>,
}

impl Follows {
    /// Follows a user, or unfollows when the caller does already; returns whether the caller follows now.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user, and for one separated from the caller by a block; [`Error::Disallowed`] for
    /// oneself, and beyond [`MAX_FOLLOWED`].
    pub async fn toggle(&self, caller: &Member, followed: UserId, attempt: Attempt) -> Result<bool> {
        if let Some(Outcome::FollowToggled(follows)) = attempt.outcome() {
            return Ok(follows);
        }
        ensure_not_oneself(caller, followed)?;
        self.follows.toggle(caller.id(), followed, self.new_relation(caller, followed), attempt.id()).await
    }

    /// Follows a user; nothing happens when the caller does already.
    ///
    /// # Errors
    /// Those of [`toggle`](Self::toggle).
    pub async fn follow(&self, caller: &Member, followed: UserId) -> Result<()> {
        ensure_not_oneself(caller, followed)?;
        self.follows.set(caller.id(), followed, self.new_relation(caller, followed)).await
    }

    /// Unfollows a user; nothing happens when the caller does not follow.
    ///
    /// # Errors
    /// Those of [`toggle`](Self::toggle).
    pub async fn unfollow(&self, caller: &Member, followed: UserId) -> Result<()> {
        ensure_not_oneself(caller, followed)?;
        self.follows.unset(caller.id(), followed).await
    }

    /// Returns the followers of a user, newest relation first.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user, and for one separated from the caller by a block; [`Error::Forbidden`] when the
    /// caller may not read the list.
    pub async fn list_followers(&self, caller: &Member, user: UserId, page: PageRequest) -> Result<Page<UserSummary>> {
        self.ensure_may_list(caller, user).await?;
        self.follows.list_followers(user, caller.viewer(), page).await
    }

    /// Returns the users whom a user follows, newest relation first.
    ///
    /// # Errors
    /// Those of [`list_followers`](Self::list_followers).
    pub async fn list_followed(&self, caller: &Member, user: UserId, page: PageRequest) -> Result<Page<UserSummary>> {
        self.ensure_may_list(caller, user).await?;
        self.follows.list_followed(user, caller.viewer(), page).await
    }

    async fn ensure_may_list(&self, caller: &Member, user: UserId) -> Result<()> {
        ensure_may_list(caller, user, self.follows.find_standing(caller.id(), user).await?)
    }

    fn new_relation(&self, follower: &Member, followed: UserId) -> NewRelation {
        let (id, at) = (RelationId::new(self.ids.generate()), self.clock.now());
        let act = Act { actor: follower.id(), subject: Subject::Recipient, at };
        NewRelation { id, at, notice: act.notice(&*self.ids, followed, NotificationKind::Follow) }
    }
}
