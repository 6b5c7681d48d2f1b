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

/// Blocks and mutes users, and takes it back.
pub struct Blocks {
    /// Where blocks and mutes are kept.
    pub blocks: Arc<dyn BlockRepository>,
    /// Where users are read as others see them.
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
    /// When the mute ends; `None` where it does not.
    pub until: Option<Timestamp>,
}

/// A user whom somebody may mute.
#[derive(Debug)]
pub struct ToMute {
    muter: UserId,
    other: UserId,
}

impl Blocks {
    /// Keeps a user apart from the caller, also one who blocks the caller; nothing happens when that is so already.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown user; [`Error::Disallowed`] for oneself, and beyond
    /// [`MAX_BLOCKED`](super::MAX_BLOCKED).
    pub async fn block(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::BlockSelf)?;
        let block = NewBlock { id: self.new_id(), at: self.clock.now() };
        self.blocks.block(caller.id(), other, block).await
    }

    /// Takes a block back; nothing happens when there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who is not there for the caller and whom the caller has not blocked; [`Error::Disallowed`] for oneself.
    pub async fn unblock(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::BlockSelf)?;
        match self.blocks.unblock(caller.id(), other).await? {
            true => Ok(()),
            false => self.ensure_there(caller, other).await,
        }
    }

    /// Returns the profiles of those whom the caller blocks, whoever of them blocks the caller; newest block first.
    ///
    /// # Errors
    /// Those of the repository.
    pub async fn list_blocked(&self, caller: &Member, page: PageRequest) -> Result<Page<Profile>> {
        let found = self.blocks.list_blocked(caller.viewer(), page).await?;
        Ok(found.map(|person| person.profile(caller)))
    }

    /// Returns a user whom the caller may mute.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who is not there for the caller; [`Error::Disallowed`] for oneself.
    pub async fn to_mute(&self, caller: &Member, other: UserId) -> Result<ToMute> {
        ensure_not_oneself(caller, other, Disallowed::MuteSelf)?;
        self.ensure_there(caller, other).await?;
        Ok(ToMute { muter: caller.id(), other })
    }

    /// Leaves the posts of a user out of the caller's timelines and what the user does out of the caller's notifications, for
    /// some hours, or for good. Who is muted already gets the new end.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the user is deleted meanwhile; [`Error::Disallowed`] beyond [`MAX_MUTED`](super::MAX_MUTED).
    pub async fn mute(&self, ToMute { muter, other }: ToMute, hours: Option<MuteHours>) -> Result<()> {
        let at = self.clock.now();
        let mute = NewMute { id: self.new_id(), at, until: hours.map(|hours| hours.after(at)) };
        self.blocks.mute(muter, other, mute).await
    }

    /// Takes a mute back; nothing happens when there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`] for a user who is not there for the caller and whom the caller has not muted; [`Error::Disallowed`] for oneself.
    pub async fn unmute(&self, caller: &Member, other: UserId) -> Result<()> {
        ensure_not_oneself(caller, other, Disallowed::MuteSelf)?;
        match self.blocks.unmute(caller.id(), other).await? {
            true => Ok(()),
            false => self.ensure_there(caller, other).await,
        }
    }

    /// Returns the profiles of those whom the caller mutes, newest mute first.
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

/// Takes back mutes that have ended.
pub struct MuteExpiry {
    /// Where mutes are kept.
    pub blocks: Arc<dyn BlockRepository>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl MuteExpiry {
    /// Takes back those that have ended by now.
    ///
    /// # Errors
    /// Those of the repository: then some may have been taken back.
    pub async fn run(&self) -> Result<()> {
        while self.blocks.end_mutes(self.clock.now()).await? > 0 {}
        Ok(())
    }
}

/// The rule that nobody blocks or mutes themselves.
fn ensure_not_oneself(caller: &Member, other: UserId, disallowed: Disallowed) -> Result<()> {
    if caller.id() == other { Err(Error::Disallowed(disallowed)) } else { Ok(()) }
}
