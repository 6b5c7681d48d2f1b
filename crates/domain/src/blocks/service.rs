//! The use cases of blocks and mutes.

use std::sync::Arc;

use super::{BlockRepository, MuteHours, NewBlock, NewMute};
use crate::accounts::Member;
use crate::clock::{Clock, Timestamp};
use crate::error::{Disallowed, Error, Resource, Result};
use crate::id::{IdGenerator, RelationId, UserId};
use crate::page::{Page, PageRequest};
use crate::people::{PeopleRepository, Profile};

const NO_USER: Error = Error::NotFound(Resource::User);

/// Blocks, unblocks, mutes and unmutes users.
pub struct Blocks {
    /// Stores blocks and mutes.
    pub blocks: Arc<dyn BlockRepository>,
    /// Reads users as others see them.
    pub people: Arc<dyn PeopleRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes the identifiers of blocks and mutes.
    pub ids: Arc<dyn IdGenerator>,
}

/// A user whom a viewer mutes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MutedProfile {
    /// The user.
    pub profile: Profile,
    /// When the mute ends; `None` if it does not.
    pub until: Option<Timestamp>,
}

/// A user whom a caller is about to mute: proof that the caller may.
#[derive(Debug)]
pub struct ToMute {
    muter: UserId,
    other: UserId,
}

impl Blocks {
    /// Blocks a user, also one who blocks the caller; nothing happens when the caller blocks the user already.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user; [`Error::Disallowed`] for oneself, and beyond
    /// [`MAX_BLOCKED`](super::MAX_BLOCKED).
    pub async fn block(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::BlockSelf)?;
        let block = NewBlock { id: self.new_id(), at: self.clock.now() };
        self.blocks.block(caller.id(), other, block).await
    }

    /// Unblocks a user; nothing happens when the caller does not block the user.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who [is not there for the caller](crate::people::Person::is_there_for) and whom the
    /// caller did not block; [`Error::Disallowed`] for oneself.
    pub async fn unblock(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::BlockSelf)?;
        match self.blocks.unblock(caller.id(), other).await? {
            true => Ok(()),
            false => self.ensure_there(caller, other).await,
        }
    }

    /// Returns the profiles of the users whom the caller blocks, newest block first, also of those who block the caller.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_blocked(&self, caller: &Member, page: PageRequest) -> Result<Page<Profile>> {
        let found = self.blocks.list_blocked(caller.viewer(), page).await?;
        Ok(found.map(|person| person.profile(caller)))
    }

    /// Returns the proof that the caller may mute a user.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who is not there for the caller; [`Error::Disallowed`] for oneself.
    pub async fn to_mute(&self, caller: &Member, other: UserId) -> Result<ToMute> {
        ensure_not_oneself(caller, other, Disallowed::MuteSelf)?;
        self.ensure_there(caller, other).await?;
        Ok(ToMute { muter: caller.id(), other })
    }

    /// Mutes a user, for some hours or for good: the user's posts are left out of the caller's timelines, and what the user
    /// does out of the caller's notifications. A mute that exists already gets the new end.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the user is deleted meanwhile; [`Error::Disallowed`] beyond [`MAX_MUTED`](super::MAX_MUTED).
    pub async fn mute(&self, ToMute { muter, other }: ToMute, hours: Option<MuteHours>) -> Result<()> {
        let at = self.clock.now();
        let mute = NewMute { id: self.new_id(), at, until: hours.map(|hours| hours.after(at)) };
        self.blocks.mute(muter, other, mute).await
    }

    /// Unmutes a user; nothing happens when the caller does not mute the user.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who [is not there for the caller](crate::people::Person::is_there_for) and whom the
    /// caller did not mute; [`Error::Disallowed`] for oneself.
    pub async fn unmute(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::MuteSelf)?;
        match self.blocks.unmute(caller.id(), other).await? {
            true => Ok(()),
            false => self.ensure_there(caller, other).await,
        }
    }

    /// Returns the profiles of the users whom the caller mutes, newest mute first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_muted(&self, caller: &Member, page: PageRequest) -> Result<Page<MutedProfile>> {
        let found = self.blocks.list_muted(caller.viewer(), page).await?;
        Ok(found.map(|(person, until)| MutedProfile { profile: person.profile(caller), until }))
    }

    async fn ensure_there(&self, caller: &Member, other: UserId) -> Result<()> {
        let found = self.people.find(other, caller.id()).await?;
        found.filter(|person| person.is_there_for(caller)).map(drop).ok_or(NO_USER)
    }

    fn new_id(&self) -> RelationId {
        RelationId::new(self.ids.generate())
    }
}

/// Removes mutes that have ended.
pub struct MuteExpiry {
    /// Stores the mutes.
    pub blocks: Arc<dyn BlockRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl MuteExpiry {
    /// Removes the mutes that have ended by now.
    ///
    /// # Errors
    /// Those of the repository: then some may have been removed.
    pub async fn run(&self) -> Result<()> {
        while self.blocks.end_mutes(self.clock.now()).await? > 0 {}
        Ok(())
    }
}

/// Checks that callers do not block or mute themselves.
fn ensure_not_oneself(caller: &Member, other: UserId, disallowed: Disallowed) -> Result<()> {
    if caller.id() == other { Err(Error::Disallowed(disallowed)) } else { Ok(()) }
}
