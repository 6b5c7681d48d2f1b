//! Comments that administrators hide.

use super::*;
use crate::accounts::Admin;
use crate::audit::{Action, Actor, AuditEntry, Hiding, Reason, Target};
use crate::fixtures::caller;
use crate::posts::HIDDEN;

fn admin() -> Admin {
    caller(OTHER, ADMIN).admin().unwrap()
}

/// What is hidden (nothing, the comment, its thread by somebody else, or its post), and who may still see the comment.
fn hidden_cases() -> [(&'static str, CommentAccess, &'static [UserId]); 4] {
    let shown = access(Visibility::Public, Standing::Stranger);
    let post = PostAccess { is_hidden: true, ..shown.post };
    [
        ("nothing", shown, &[WRITER, POST_AUTHOR, OTHER]),
        ("the comment", CommentAccess { is_hidden: true, ..shown }, &[WRITER]),
        ("its thread", CommentAccess { hidden_thread: Some(OTHER), ..shown }, &[OTHER]),
        ("the post", CommentAccess { post, ..shown }, &[POST_AUTHOR]),
    ]
}

#[test]
fn hidden_comments_exist_only_for_their_authors_and_administrators() {
    for (world, access, seeing) in hidden_cases() {
        for user in [WRITER, POST_AUTHOR, OTHER] {
            for outcome in
                [access.ensure_there(&member(user, Roles::USER)), access.ensure_may_view(&member(user, Roles::USER))]
            {
                match outcome {
                    Ok(()) => assert!(seeing.contains(&user), "{world} {user}"),
                    Err(Error::NotFound(Resource::Comment)) => assert!(!seeing.contains(&user), "{world} {user}"),
                    Err(other) => panic!("{world} {user}: {other:?}"),
                }
            }
            access.ensure_there(&member(user, ADMIN)).unwrap();
        }
    }
}

#[test]
fn authors_may_delete_hidden_comments_but_edit_and_answer_only_on_hidden_posts() {
    for (world, access, seeing) in hidden_cases() {
        let is_shown = world == "nothing";
        let writer = member(WRITER, Roles::USER);
        access.ensure_may_delete(&writer).unwrap();
        match access.ensure_may_edit(&writer) {
            Ok(()) => assert!(is_shown || world == "the post", "{world}"),
            Err(Error::Forbidden(Forbidden::Hidden)) => assert_eq!(world, "the comment"),
            Err(Error::NotFound(Resource::Comment)) => assert!(!seeing.contains(&WRITER), "{world}"),
            Err(other) => panic!("{world}: {other:?}"),
        }
        let post_author = access.ensure_may_delete(&member(POST_AUTHOR, Roles::USER));
        assert_eq!(post_author.is_ok(), seeing.contains(&POST_AUTHOR), "{world}");
        // On a hidden post, its author and administrators may still comment.
        let may_answer = is_shown || world == "the post";
        assert_eq!(access.ensure_may_answer(&member(OTHER, ADMIN)).is_ok(), may_answer, "{world}");
    }
    assert!(matches!(HIDDEN, Error::Forbidden(Forbidden::Hidden)));
}

#[tokio::test]
async fn hiding_and_showing_a_comment_is_audited_with_actor_and_reason() {
    for (hidden, action) in [(true, Action::CommentHidden), (false, Action::CommentShown)] {
        let comments = comments(|comments, _| {
            let found = access(Visibility::Private, Standing::Stranger);
            comments.expect_find_access().once().returning(move |_, _| Ok(Some(found)));
            comments
                .expect_set_hidden()
                .once()
                .withf(move |id, to, entry| {
                    let (id_of_entry, actor, target) =
                        (COMMENT.uuid().into(), Actor::Account(OTHER), Target::Comment(COMMENT));
                    let details = Some("Rude".to_owned());
                    let expected = AuditEntry { id: id_of_entry, at: NOW, actor, action, target, details };
                    (*id, *to) == (COMMENT, hidden) && *entry == expected
                })
                .returning(|_, _, _| Ok(()));
        });
        let admin = admin();
        let managed = comments.managed(&admin, COMMENT).await.unwrap();
        comments.set_hidden(managed, &Hiding { hidden, reason: Reason::parse("Rude").unwrap() }).await.unwrap();
    }
    let none = comments(|comments, _| _ = comments.expect_find_access().returning(|_, _| Ok(None)));
    let admin = admin();
    assert!(matches!(none.managed(&admin, COMMENT).await, Err(Error::NotFound(Resource::Comment))));
}
