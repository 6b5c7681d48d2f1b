//! Profiles, and the rules of what a viewer sees of them.

use crate::accounts::{Biography, DisplayName, Member, ProfilePicture, Username};
use crate::clock::Timestamp;
use crate::error::{Result, Violation, ViolationKind};
use crate::id::UserId;
use crate::posts::{Audience, Visibility};
use crate::relation::Standing;

/// The numbers of a user's posts, by who may view them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostCounts {
    /// Posts for everybody.
    pub public: u64,
    /// Posts for the user's followers.
    pub followers: u64,
    /// Posts for the user alone.
    pub private: u64,
}

impl PostCounts {
    /// Returns how many posts an audience may view.
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

/// The relationship between a viewer and another user.
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

/// A user as stored, with the relationship of a viewer to them, from which a [`Profile`] is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The name that is shown beside the username.
    pub display_name: Option<DisplayName>,
    /// The user's description of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// When the account was registered.
    pub created_at: Timestamp,
    /// False once an ADMIN has disabled the account.
    pub enabled: bool,
    /// Whether the user wants to be found by others.
    pub discoverable: bool,
    /// Whether the numbers of followers and followed users are hidden from others.
    pub hide_counts: bool,
    /// The numbers of the user's posts.
    pub posts: PostCounts,
    /// The number of the user's followers.
    pub follower_count: u64,
    /// The number of users whom the user follows.
    pub followed_count: u64,
    /// The relationship between the viewer and the user.
    pub relationship: Relationship,
    /// Whether the user blocks the viewer.
    pub blocks_viewer: bool,
}

/// A user as a viewer sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The id of the account.
    pub id: UserId,
    /// The user's name.
    pub username: Username,
    /// The name that is shown beside the username.
    pub display_name: Option<DisplayName>,
    /// The user's description of themselves.
    pub biography: Option<Biography>,
    /// The user's picture.
    pub profile_picture: Option<ProfilePicture>,
    /// When the account was registered.
    pub created_at: Timestamp,
    /// The number of the user's posts that the viewer may view.
    pub post_count: u64,
    /// The number of the user's followers; `None` if it is hidden from the viewer.
    pub follower_count: Option<u64>,
    /// The number of users whom the user follows; `None` if it is hidden from the viewer.
    pub followed_count: Option<u64>,
    /// The relationship between the viewer and the user; `None` if they are the same.
    pub relationship: Option<Relationship>,
}

impl Person {
    /// Returns whether a search for users finds the user. It finds enabled accounts that are discoverable and not separated
    /// from the viewer by a block; ADMIN finds all that are enabled (`contract`: Search).
    pub fn is_found_by(&self, viewer: &Member) -> bool {
        let is_public = self.discoverable && self.audience(viewer) != Audience::Blocked;
        self.enabled && (is_public || viewer.is_admin())
    }

    /// Returns what a viewer sees of the user; `None` of a disabled account, and of a user who blocks the viewer (`contract`:
    /// Safety). ADMIN sees both.
    pub fn seen_by(self, viewer: &Member) -> Option<Profile> {
        let is_seen = self.is_there_for(viewer) && (self.enabled || viewer.is_admin());
        is_seen.then(|| self.profile(viewer))
    }

    /// Returns whether the user exists as far as the viewer can tell: a user who blocks the viewer does not, unless the
    /// viewer is ADMIN (`contract`: Safety).
    pub fn is_there_for(&self, viewer: &Member) -> bool {
        !self.blocks_viewer || viewer.is_admin()
    }

    /// Returns what a viewer sees of the user in lists; `None` if there is nothing to see, and if a block separates the two.
    pub fn listed_for(self, viewer: &Member) -> Option<Profile> {
        let is_blocked = self.audience(viewer) == Audience::Blocked;
        self.seen_by(viewer).filter(|_| !is_blocked)
    }

    fn audience(&self, viewer: &Member) -> Audience {
        let is_blocked = self.relationship.blocking || self.blocks_viewer;
        Audience::of(viewer, self.id, Standing::of(self.relationship.following, is_blocked))
    }

    /// Returns what a viewer sees of the user, provided that the viewer may see the user at all.
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

/// The ids of users whose profiles are requested, without duplicates, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIds(Vec<UserId>);

impl UserIds {
    /// The maximum number of ids in a request.
    pub const MAX: usize = 100;

    /// Parses the ids that a client sent.
    ///
    /// # Errors
    /// The violation, in words for the client, when there are none or too many.
    pub fn parse(requested: Vec<UserId>) -> Result<Self, Violation> {
        match requested.len() {
            0 => Err(Violation::new(ViolationKind::Required, "At least one user is required")),
            1..=Self::MAX => {
                let mut ids = Vec::with_capacity(requested.len());
                for id in requested {
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

    /// Returns the ids in their order.
    pub fn as_slice(&self) -> &[UserId] {
        &self.0
    }

    /// Returns the ids that come after one of them; none if it is not among them.
    pub fn after(&self, id: UserId) -> &[UserId] {
        self.0.iter().position(|other| *other == id).map_or(&[], |last| &self.0[last + 1..])
    }
}
