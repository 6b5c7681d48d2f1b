//! What may happen: requests that change something, allowed or not.

use proptest::prelude::*;
use proptest::sample::select;

use super::model::{PEOPLE, Visibility, Who};

/// Something that somebody does, or tries to. A post is meant by a number, in the order in which they were made.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Publish {
        by: Who,
        visibility: Visibility,
    },
    /// Sends again the request that made a post, under the same key: as its sender, or as somebody else.
    Repeat {
        by: Who,
        post: usize,
    },
    Show {
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
    /// Answers a comment, by another path.
    Answer {
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
    GiveUser {
        to: Who,
        given: bool,
    },
    GiveAdmin {
        to: Who,
        given: bool,
    },
    Enable {
        who: Who,
        enabled: bool,
    },
    /// Deletes the own account. Somebody new takes the place.
    Leave {
        who: Who,
    },
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let anybody = || 0..PEOPLE;
    // All but the one who does it.
    let other = || 1..PEOPLE;
    let visibility = || select(vec![Visibility::Public, Visibility::Followers, Visibility::Private]);
    let mostly = || prop::bool::weighted(0.7);
    prop_oneof![
        4 => (anybody(), visibility()).prop_map(|(by, visibility)| Step::Publish { by, visibility }),
        2 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Repeat { by, post }),
        3 => (anybody(), any::<usize>(), visibility()).prop_map(|(by, post, to)| Step::Show { by, post, to }),
        1 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Delete { by, post }),
        4 => (anybody(), any::<usize>(), mostly()).prop_map(|(by, post, on)| Step::Like { by, post, on }),
        3 => (anybody(), any::<usize>(), mostly()).prop_map(|(by, post, on)| Step::Bookmark { by, post, on }),
        4 => (anybody(), any::<usize>()).prop_map(|(by, post)| Step::Comment { by, post }),
        4 => (anybody(), any::<usize>(), any::<usize>())
            .prop_map(|(by, post, comment)| Step::Answer { by, post, comment }),
        4 => (anybody(), any::<usize>(), any::<usize>(), mostly())
            .prop_map(|(by, post, comment, on)| Step::LikeComment { by, post, comment, on }),
        1 => (anybody(), any::<usize>(), any::<usize>())
            .prop_map(|(by, post, comment)| Step::DeleteComment { by, post, comment }),
        // Most often by the administrator who stays one.
        3 => (prop_oneof![3 => Just(0), 1 => anybody()], any::<usize>(), mostly())
            .prop_map(|(by, post, on)| Step::HidePost { by, post, on }),
        4 => (prop_oneof![3 => Just(0), 1 => anybody()], any::<usize>(), any::<usize>(), mostly())
            .prop_map(|(by, post, comment, on)| Step::HideComment { by, post, comment, on }),
        6 => (anybody(), anybody(), mostly()).prop_map(|(by, whom, on)| Step::Follow { by, whom, on }),
        3 => (anybody(), anybody(), any::<bool>()).prop_map(|(by, whom, on)| Step::Block { by, whom, on }),
        2 => (anybody(), anybody(), any::<bool>()).prop_map(|(by, whom, on)| Step::Mute { by, whom, on }),
        1 => (other(), mostly()).prop_map(|(to, given)| Step::GiveUser { to, given }),
        1 => (other(), any::<bool>()).prop_map(|(to, given)| Step::GiveAdmin { to, given }),
        1 => (other(), mostly()).prop_map(|(who, enabled)| Step::Enable { who, enabled }),
        2 => other().prop_map(|who| Step::Leave { who }),
    ]
}
