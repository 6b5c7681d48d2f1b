//! The steps of random histories: requests that change something, whether allowed or not.

use proptest::prelude::*;
use proptest::sample::select;

use super::model::{PEOPLE, Visibility, Who};

/// A request of an account that may or may not be allowed. Posts and comments are chosen by a number, modulo how many there are.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Publish {
        by: Who,
        visibility: Visibility,
    },
    /// Repeats the request that created a post, under the same `Idempotency-Key`: as its author or as another account.
    Retry {
        by: Who,
        post: usize,
    },
    SetVisibility {
        by: Who,
        post: usize,
        to: Visibility,
    },
    Delete {
        by: Who,
        post: usize,
    },
    Like {
        by: Who,
        post: usize,
        on: bool,
    },
    Bookmark {
        by: Who,
        post: usize,
        on: bool,
    },
    Comment {
        by: Who,
        post: usize,
    },
    /// Replies to a comment, by the path of threads.
    Reply {
        by: Who,
        post: usize,
        comment: usize,
    },
    LikeComment {
        by: Who,
        post: usize,
        comment: usize,
        on: bool,
    },
    DeleteComment {
        by: Who,
        post: usize,
        comment: usize,
    },
    HidePost {
        by: Who,
        post: usize,
        on: bool,
    },
    HideComment {
        by: Who,
        post: usize,
        comment: usize,
        on: bool,
    },
    Follow {
        by: Who,
        whom: Who,
        on: bool,
    },
    Block {
        by: Who,
        whom: Who,
        on: bool,
    },
    Mute {
        by: Who,
        whom: Who,
        on: bool,
    },
    SetUserRole {
        to: Who,
        given: bool,
    },
    SetAdminRole {
        to: Who,
        given: bool,
    },
    Enable {
        who: Who,
        enabled: bool,
    },
    /// Deletes the own account. A new account takes over its index.
    DeleteAccount {
        who: Who,
    },
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let anybody = || 0..PEOPLE;
    // All but the administrator who always stays one.
    let other = || 1..PEOPLE;
    let visibility = || select(vec![Visibility::Public, Visibility::Followers, Visibility::Private]);
    let mostly = || prop::bool::weighted(0.7);
    prop_oneof![
        4 => (anybody(), visibility()).prop_map(|(by, visibility)| Step::Publish { by, visibility }),
        2 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Retry { by, post }),
        3 => (anybody(), any::<usize>(), visibility()).prop_map(|(by, post, to)| Step::SetVisibility { by, post, to }),
        1 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Delete { by, post }),
        4 => (anybody(), any::<usize>(), mostly()).prop_map(|(by, post, on)| Step::Like { by, post, on }),
        3 => (anybody(), any::<usize>(), mostly()).prop_map(|(by, post, on)| Step::Bookmark { by, post, on }),
        4 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Comment { by, post }),
        4 => (anybody(), any::<usize>(), any::<usize>())
            .prop_map(|(by, post, comment)| Step::Reply { by, post, comment }),
        4 => (anybody(), any::<usize>(), any::<usize>(), mostly())
            .prop_map(|(by, post, comment, on)| Step::LikeComment { by, post, comment, on }),
        1 => (anybody(), any::<usize>(), any::<usize>())
            .prop_map(|(by, post, comment)| Step::DeleteComment { by, post, comment }),
        // Most often by the administrator who always stays one.
        3 => (prop_oneof![3 => Just(0), 1 => anybody()], any::<usize>(), mostly())
            .prop_map(|(by, post, on)| Step::HidePost { by, post, on }),
        4 => (prop_oneof![3 => Just(0), 1 => anybody()], any::<usize>(), any::<usize>(), mostly())
            .prop_map(|(by, post, comment, on)| Step::HideComment { by, post, comment, on }),
        6 => (anybody(), anybody(), mostly()).prop_map(|(by, whom, on)| Step::Follow { by, whom, on }),
        3 => (anybody(), anybody(), any::<bool>()).prop_map(|(by, whom, on)| Step::Block { by, whom, on }),
        2 => (anybody(), anybody(), any::<bool>()).prop_map(|(by, whom, on)| Step::Mute { by, whom, on }),
        1 => (other(), mostly()).prop_map(|(to, given)| Step::SetUserRole { to, given }),
        1 => (other(), any::<bool>()).prop_map(|(to, given)| Step::SetAdminRole { to, given }),
        1 => (other(), mostly()).prop_map(|(who, enabled)| Step::Enable { who, enabled }),
        2 => other().prop_map(|who| Step::DeleteAccount { who }),
    ]
}
