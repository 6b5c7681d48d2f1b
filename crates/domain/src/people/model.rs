//! Profiles, and the rules of what a viewer sees of them.

use crate::accounts::{Biography, DisplayName, Member, ProfilePicture, Username};
use crate::clock::Timestamp;
use crate::error::{Result, Violation, ViolationKind};
use crate::id::UserId;
use crate::posts::{Audience, Visibility};
use crate::relation::Standing;

/// How many posts a user has, by who may view them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostCounts {
    /// Those for everybody.
    pub public: u64,
    /// Those for the user's followers.
    pub followers: u64,
    /// Those for the user alone.
    pub private: u64,
}

impl PostCounts {
    /// Returns how many an audience may view.
    pub fn viewable_by(&self, audience: Audience) -> u64 {
        audience.may_view().iter().map(|visibility| self.with(*visibility)).sum()
    }

    const fn with(&self, visibility: Visibility) -> u64 {
        match visibility {
            Visibility::Public => self.public,
            Visibility::Followers => self.followers,
            Visibility::Private => self.private,
        }
    }
}

/// How a viewer stands to another user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relationship {
    /// Whether the viewer follows the user.
    pub following: bool,
    /// Whether the user follows the viewer.
    pub followed_by: bool,
    /// Whether the viewer blocks the user.
    pub blocking: bool,
    /// Whether the viewer mutes the user.
    pub muting: bool,
}

/// A user as stored, with how a viewer stands to them: what a [`Profile`] is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// What others are shown beside the username.
    pub display_name: Option<DisplayName>,
    /// What the user says of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// When the account was registered.
    pub created_at: Timestamp,
    /// Whether an ADMIN has not disabled the account.
    pub enabled: bool,
    /// Whether the user wants to be found by others.
    pub discoverable: bool,
    /// Whether others are not told how many follow the user, and how many the user follows.
    pub hide_counts: bool,
    /// How many posts the user has.
    pub posts: PostCounts,
    /// How many follow the user.
    pub follower_count: u64,
    /// How many the user follows.
    pub followed_count: u64,
    /// How the viewer stands to the user.
    pub relationship: Relationship,
    /// Whether the user blocks the viewer.
    pub blocks_viewer: bool,
}

/// A user as a viewer sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Names the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// What others are shown beside the username.
    pub display_name: Option<DisplayName>,
    /// What the user says of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// When the account was registered.
    pub created_at: Timestamp,
    /// How many posts of the user the viewer may view.
    pub post_count: u64,
    /// How many follow the user; `None` where the viewer is not told.
    pub follower_count: Option<u64>,
    /// How many the user follows; `None` where the viewer is not told.
    pub followed_count: Option<u64>,
    /// How the viewer stands to the user; `None` of oneself.
    pub relationship: Option<Relationship>,
}

impl Person {
    /// The rule of whom a search for users finds: enabled accounts that are discoverable, and for ADMIN the others as well
    /// that are enabled (`contract`: Search).
    pub fn is_found_by(&self, viewer: &Member) -> bool {
        let is_public = self.discoverable && self.audience(viewer) != Audience::Apart;
        self.enabled && (is_public || viewer.is_admin())
    }

    /// Returns what a viewer sees of the user; `None` of a disabled account, and of a user who blocks the viewer (`contract`:
    /// Safety). ADMIN sees both.
    pub fn seen_by(self, viewer: &Member) -> Option<Profile> {
        let is_seen = self.is_there_for(viewer) && (self.enabled || viewer.is_admin());
        is_seen.then(|| self.profile(viewer))
    }

    /// The rule that to whom they block users are not there, but to ADMIN (`contract`: Safety).
    pub fn is_there_for(&self, viewer: &Member) -> bool {
        !self.blocks_viewer || viewer.is_admin()
    }

    /// Returns what a viewer sees of the user in lists; `None` where there is nothing to see, and of those apart from the viewer.
    pub fn listed_for(self, viewer: &Member) -> Option<Profile> {
        let is_apart = self.audience(viewer) == Audience::Apart;
        self.seen_by(viewer).filter(|_| !is_apart)
    }

    fn audience(&self, viewer: &Member) -> Audience {
        let are_apart = self.relationship.blocking || self.blocks_viewer;
        Audience::of(viewer, self.id, Standing::of(self.relationship.following, are_apart))
    }

    /// Returns what a viewer is shown of the user who may see them.
    pub(crate) fn profile(self, viewer: &Member) -> Profile {
        let audience = self.audience(viewer);
        let may_see_counts = !self.hide_counts || audience == Audience::Privileged;
        Profile {
            id: self.id,
            username: self.username,
            display_name: self.display_name,
            biography: self.biography,
            profile_picture: self.profile_picture,
            created_at: self.created_at,
            post_count: self.posts.viewable_by(audience),
            follower_count: may_see_counts.then_some(self.follower_count),
            followed_count: may_see_counts.then_some(self.followed_count),
            relationship: (self.id != viewer.id()).then_some(self.relationship),
        }
    }
}

/// Some users whose profiles are asked for, each once, in the order they were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIds(Vec<UserId>);

impl UserIds {
    /// The most that may be named at once.
    pub const MAX: usize = 100;

    /// Returns the users that a client named.
    ///
    /// # Errors
    /// The violation, in words for the client, when there are none or too many.
    pub fn parse(named: Vec<UserId>) -> Result<Self, Violation> {
        match named.len() {
            0 => Err(Violation::new(ViolationKind::Required, "At least one user is required")),
            1..=Self::MAX => {
                let mut ids = Vec::with_capacity(named.len());
                for id in named {
                    if !ids.contains(&id) {
                        ids.push(id);
                    }
                }
                Ok(Self(ids))
            }
            _ => {
                let message = format!("At most {} users may be named", Self::MAX);
                Err(Violation::new(ViolationKind::TooLong, message))
            }
        }
    }

    /// Returns them in their order.
    pub fn as_slice(&self) -> &[UserId] {
        &self.0
    }

    /// Returns those behind one of them.
    pub fn after(&self, id: UserId) -> &[UserId] {
        self.0.iter().position(|named| *named == id).map_or(&[], |last| &self.0[last + 1..])
    }
}
