//! The behaviour every adapter of the repository ports must show, as test cases.
//!
//! A case takes the [`Repositories`] of a fresh, empty database and fails by a panic. It reads no clock and draws no
//! randomness, so that what it does depends on the adapter alone. [`repository_contract!`] makes one test of each.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a case fails by a panic")]
// A case that is not in the list below is one that no adapter would run.
#![deny(dead_code)]

mod cases;
pub mod lists;
mod repositories;
mod run;
mod world;

pub use repositories::Repositories;

/// Publishes the cases listed and makes the macro that tests them all. The first token is a dollar sign, which a macro
/// cannot otherwise write into another.
macro_rules! contract {
    ($d:tt $($(#[$doc:meta])* $module:ident { $($case:ident,)+ })+) => {
        $(
            $(#[$doc])*
            pub mod $module {
                pub use crate::cases::$module::{$($case),+};
            }
        )+

        /// Tests an adapter: makes one `#[tokio::test]` of each case, in modules of the same names.
        ///
        /// It takes the path of an `async fn() -> (Repositories, Guard)`, which is called once for each test and
        /// makes the repositories of a fresh, empty database. The guard, of any type, is dropped after the test: it
        /// keeps what the database needs, such as its directory. The caller's crate needs `tokio` with `macros` and
        /// `rt-multi-thread`.
        ///
        /// ```text
        /// agora_port_contracts::repository_contract!(fresh_database);
        /// ```
        #[macro_export]
        macro_rules! repository_contract {
            ($d fresh:path) => {
                $(
                    mod $module {
                        // For a path relative to where the macro is called.
                        #[allow(unused_imports, reason = "a path that is absolute needs no import")]
                        use super::*;

                        $(
                            #[tokio::test(flavor = "multi_thread")]
                            async fn $case() {
                                let (repositories, _guard) = $d fresh().await;
                                $d crate::$module::$case(repositories).await;
                            }
                        )+
                    }
                )+
            };
        }
    };
}

contract! { $
    /// Accounts: uniqueness, lookups, roles, profiles and passwords.
    accounts {
        has_admin_tells_whether_any_account_has_the_role,
        those_with_admin_are_listed_oldest_first_the_disabled_too,
        sessions_that_go_on_are_counted_from_an_instant,
        a_role_is_given_and_taken_and_nothing_else_changes,
        changing_an_unknown_account_fails,
        the_last_enabled_admin_keeps_the_role_and_stays_enabled,
        a_disabled_admin_may_lose_the_role,
        admins_who_demote_each_other_at_once_leave_one,
        many_admins_demoted_and_disabled_at_once_leave_one,
        an_account_is_disabled_and_enabled_and_nothing_else_changes,
        disabling_revokes_the_accounts_sessions_for_good,
        an_empty_list_is_one_empty_page,
        accounts_are_listed_oldest_first_with_every_field,
        accounts_of_one_instant_are_listed_by_id,
        paging_skips_and_repeats_nothing_while_accounts_are_registered,
        a_profile_keeps_replaces_and_removes_its_biography,
        a_profile_reports_the_picture_it_no_longer_names,
        a_profile_changes_everything_at_once,
        what_others_find_and_see_of_an_account_changes_as_it_was_chosen,
        updating_an_unknown_profile_fails,
        of_pictures_set_at_once_each_but_the_last_is_reported_once,
        a_new_password_ends_every_session_but_the_one_kept,
        a_hash_is_renewed_in_place_of_the_one_verified_alone_and_ends_no_session,
        an_account_is_found_with_every_field_it_was_created_with,
        an_unknown_account_is_none,
        the_instant_of_registration_is_kept_to_the_millisecond,
        odd_texts_are_kept_exactly,
        a_username_is_taken_in_any_letter_case,
        an_email_is_taken_in_any_letter_case,
        names_that_differ_in_more_than_letter_case_are_free,
        when_both_name_and_email_are_taken_one_of_them_is_reported,
        a_refused_registration_leaves_nothing_behind,
        of_many_registrations_of_one_name_at_once_one_succeeds,
        of_many_registrations_of_one_email_at_once_one_succeeds,
        an_account_is_found_by_name_and_email_in_any_letter_case,
        of_names_those_of_accounts_are_found_with_their_ids,
        an_identifier_names_only_the_whole_name_of_its_kind,
        credentials_tell_whether_the_account_is_enabled,
    }
    /// Sessions: opening, finding, revoking and sweeping them.
    sessions {
        a_session_is_found_with_the_state_of_its_account,
        sessions_are_listed_with_what_their_clients_say_and_when_they_were_used,
        the_instant_of_login_is_kept_to_the_millisecond,
        a_session_is_none_until_it_is_opened,
        many_sessions_are_found_at_once,
        a_ticket_is_used_once,
        a_session_is_revoked_alone_at_once_and_for_good,
        revoking_an_unknown_session_is_no_error,
        all_sessions_of_an_account_are_ended_and_that_is_recorded_once,
        a_session_shows_the_present_roles_and_state_once_told_of_a_change,
        sessions_opened_before_an_instant_are_deleted_and_counted,
        a_backlog_of_old_sessions_is_deleted_whole,
        of_sessions_opened_beside_a_password_change_no_older_one_survives,
        a_login_in_flight_leaves_no_session_once_password_or_standing_changed,
    }
    /// Posts: reading, lists and their paging, editing and deleting.
    posts {
        an_edit_changes_what_is_given_and_reports_the_image_replaced,
        an_edit_of_nothing_leaves_the_post_as_it_is,
        an_edit_returns_the_post_as_its_author_sees_it,
        an_edit_that_breaks_a_rule_changes_nothing,
        of_edits_of_one_version_made_at_once_one_takes_effect,
        edits_made_at_once_all_take_effect,
        deleting_a_post_returns_it_and_takes_its_likes_and_comments_along,
        of_many_deletions_at_once_one_returns_the_post,
        a_post_with_much_to_erase_is_gone_for_everybody_at_once_and_erased_some_rows_at_a_time,
        deleting_a_post_beside_likes_and_comments_leaves_nothing,
        a_list_without_posts_is_one_empty_page,
        posts_are_listed_newest_first,
        posts_of_one_instant_are_listed_by_descending_id,
        the_list_of_all_posts_shows_whole_accounts,
        the_list_of_an_author_holds_their_posts_of_the_visibilities_asked_for,
        the_feed_holds_the_posts_of_those_the_viewer_follows,
        each_listed_post_carries_its_own_likers_and_counts,
        a_list_after_an_instant_excludes_the_posts_of_that_instant,
        a_deleted_post_vanishes_from_every_list,
        paging_through_all_posts_survives_arrivals_and_deletions,
        paging_through_an_authors_posts_survives_arrivals_and_deletions,
        paging_through_the_feed_survives_arrivals_and_deletions,
        creating_a_post_returns_it_as_its_author_sees_it,
        a_post_is_found_with_every_field_it_was_created_with,
        the_instants_of_a_post_are_kept_to_the_millisecond,
        odd_texts_of_posts_are_kept_exactly,
        an_unknown_post_is_not_found,
        a_post_is_found_as_each_viewer_sees_it,
        a_post_shows_the_present_profiles_of_author_and_likers,
        a_post_shows_the_newest_likers_and_counts_all,
        posts_created_at_once_are_all_kept,
        what_texts_name_is_kept_with_them,
        a_hashtag_lists_its_posts_newest_first,
        a_post_is_listed_by_its_hashtags_to_those_who_may_view_it,
        posts_of_disabled_accounts_are_listed_by_no_hashtag,
        a_post_follows_the_hashtags_of_its_text_and_its_visibility,
        a_deleted_post_is_listed_by_no_hashtag,
        a_post_with_very_many_hashtags_is_listed_by_each,
    }
    /// Likes of posts, as [`PostRepository`](agora_domain::posts::PostRepository) keeps them.
    likes {
        a_like_is_toggled_on_and_off_and_on,
        a_like_is_set_and_unset_any_number_of_times,
        setting_a_like_again_keeps_its_place,
        liking_an_unknown_post_is_not_found,
        an_even_number_of_toggles_at_once_ends_off,
        an_odd_number_of_toggles_at_once_ends_on,
        toggles_of_many_users_at_once_all_count,
        setting_and_unsetting_at_once_never_fails,
        likers_are_listed_newest_like_first,
        paging_through_likers_survives_new_likes_and_unlikes,
    }
    /// Posts that users keep for themselves, and posts that are for everybody.
    bookmarks {
        a_bookmark_is_set_and_unset_any_number_of_times,
        bookmarks_are_listed_newest_first_and_keep_their_place,
        bookmarks_show_what_may_be_viewed_now,
        a_bookmark_on_an_unknown_post_is_not_found,
        the_public_timeline_holds_what_is_public_by_enabled_accounts,
    }
    /// Blocks and mutes, and what they leave out of lists.
    blocks {
        a_block_keeps_both_apart_until_it_is_taken_back,
        each_may_block_the_other_and_one_block_is_enough,
        a_block_ends_follows_and_keeps_others_away,
        whoever_follows_while_being_blocked_does_not_in_the_end,
        nobody_is_listed_to_those_apart_from_them_but_to_who_sees_all,
        posts_of_the_muted_are_in_no_timeline_but_everywhere_else,
        pages_are_full_whoever_is_left_out,
        a_name_of_somebody_apart_is_not_found_by_the_author,
        those_blocked_and_muted_are_listed_newest_first_and_keep_their_place,
        a_mute_ends,
        a_block_and_a_mute_take_out_what_was_told_and_a_mute_keeps_out_what_follows,
        listeners_are_told_apart_by_blocks_and_mutes,
        of_an_unknown_user_nothing_is_kept,
    }
    /// Posts and comments that administrators hide.
    hiding {
        a_hidden_post_is_listed_to_its_author_and_who_sees_all_alone,
        a_hidden_post_cannot_be_edited_but_deleted,
        a_hidden_post_names_a_copy_of_its_image,
        hidden_comments_are_neither_listed_nor_counted_whatever_happens,
        what_decides_about_a_comment_says_what_is_hidden,
        nobody_is_told_of_what_is_hidden_from_them,
        a_post_with_very_many_hidden_comments_is_erased_in_parts,
    }
    /// What users take along.
    exports {
        what_a_user_stored_is_listed_oldest_first_and_nothing_of_others,
    }
    /// What administrators did.
    audit_log {
        an_act_leaves_one_entry_and_what_changes_nothing_none,
        entries_are_found_by_who_acted_on_what_and_how,
        every_act_on_every_kind_of_thing_comes_back,
    }
    /// Accounts that are deleted at once, and erased in parts.
    deletion {
        a_deleted_account_is_gone_its_sessions_end_and_its_picture_is_named_by_nobody,
        the_last_enabled_admin_is_not_deleted_however_many_try_at_once,
        names_of_the_deleted_are_given_to_nobody_for_thirty_days,
        what_a_deleted_account_did_ends_no_page_of_notifications,
        a_post_is_stored_though_whoever_it_mentions_was_erased_meanwhile,
        nobody_is_shown_anything_of_a_deleted_account_before_and_after_it_is_erased,
        what_an_erased_account_did_is_taken_back_and_nothing_is_left_of_it,
        an_account_is_erased_whole_wherever_that_begins,
        an_account_with_more_than_is_erased_at_once_comes_to_its_end,
    }
    /// The outbox, and what tokens of mails are good for.
    mail {
        the_mail_that_is_due_for_longest_is_claimed_first_and_comes_again_after_a_pause,
        mails_of_one_request_are_stored_all_or_none,
        an_account_asks_for_so_many_mails_of_a_kind_an_hour,
        a_forgotten_password_makes_a_mail_for_an_enabled_account_alone,
        of_many_requests_for_one_account_the_first_of_an_hour_make_mails,
        a_mail_that_fails_says_why_until_it_is_sent_or_forgotten,
        all_mails_that_were_not_sent_are_tried_again_together,
        what_is_outdated_is_deleted,
        a_token_resets_the_password_once_ends_sessions_and_what_else_would_reset_it,
        a_password_that_was_changed_is_not_reset_by_older_tokens,
        a_token_of_a_disabled_account_resets_nothing,
        a_password_that_was_changed_or_reset_ends_changes_of_the_address,
        what_was_confirmed_by_a_password_is_not_done_once_that_was_changed,
        mails_that_were_given_up_are_not_sent_to_an_address_that_changed,
        of_many_requests_that_waited_for_long_no_more_make_mails,
        a_token_verifies_the_address_that_it_was_sent_to,
        a_new_address_counts_once_its_token_is_used,
    }
    /// What users report.
    reports {
        a_report_comes_back_with_every_field,
        a_report_shows_the_comment_that_it_is_about_while_that_is_there,
        the_same_thing_is_reported_once_until_it_is_decided,
        an_account_makes_so_many_reports_an_hour,
        a_decision_is_kept_recorded_and_can_be_changed,
        administrators_are_told_of_a_new_report_and_others_are_not_shown_it,
        a_block_keeps_no_report_from_an_administrator_and_a_mute_does,
        a_reported_comment_is_not_shown_once_its_author_is_deleted,
    }
    /// Comments on posts.
    comments {
        comments_are_listed_with_every_field_oldest_first,
        comments_of_one_instant_are_listed_by_id,
        odd_texts_of_comments_are_kept_exactly,
        commenting_on_an_unknown_post_is_not_found,
        the_access_to_a_comment_is_found_by_id_for_any_caller,
        the_callers_newest_comment_on_a_post_is_found,
        an_update_changes_content_and_time_of_change_only,
        a_deleted_comment_is_gone_and_no_longer_counted,
        the_comments_of_a_deleted_post_are_gone,
        a_post_without_comments_lists_one_empty_page,
        paging_skips_and_repeats_nothing_while_comments_come_and_go,
        comments_made_at_once_all_count,
    }
    /// Replies, and likes of comments.
    threads {
        the_top_level_of_a_post_is_listed_either_way_with_every_field,
        a_thread_is_listed_oldest_first,
        a_comment_is_found_as_each_viewer_sees_it,
        an_answer_to_what_is_in_no_such_thread_is_not_found,
        what_an_edited_comment_names_is_kept_with_it,
        a_like_of_a_comment_is_set_and_unset_any_number_of_times,
        those_who_like_a_comment_are_listed_newest_like_first,
        nothing_is_done_with_a_comment_that_is_gone,
        a_comment_takes_its_thread_along,
        a_reply_is_deleted_alone,
        a_comment_with_much_to_delete_is_deleted_some_rows_at_a_time,
        a_post_with_many_likes_of_its_comments_is_gone_at_once_and_erased_later,
        threads_are_counted_exactly_whatever_many_do_at_once,
    }
    /// Texts whose entities are not extracted yet.
    texts {
        texts_to_be_worked_out_are_listed_newest_first_until_that_is_stored,
        what_is_stored_of_a_text_leaves_another_text_alone,
        texts_are_worked_out_beside_edits_and_deletions,
        the_texts_of_comments_are_worked_out_like_those_of_posts,
    }
    /// What users are told of the acts of others.
    notifications {
        likes_and_follows_of_a_day_are_told_together,
        who_takes_an_act_back_is_taken_out,
        toggling_back_and_forth_tells_once,
        comments_replies_and_mentions_stand_alone,
        nothing_is_told_of_what_may_not_be_viewed_or_is_gone,
        a_recipient_is_told_what_they_want_to_be,
        what_is_read_stays_read_until_it_grows,
        what_changed_since_it_was_shown_stays_unread,
        notifications_and_actors_are_read_page_by_page,
        old_notifications_are_deleted_some_rows_at_a_time,
        of_very_many_notifications_the_newest_are_kept,
        whatever_many_do_at_once_is_counted_exactly,
        whatever_happens_everybody_is_told_what_the_model_says,
    }
    /// What happens, for those who listen.
    events {
        each_change_puts_its_event_on_the_log,
        what_changes_nothing_puts_nothing_on_the_log,
        a_notification_that_is_stored_or_grows_is_an_event_with_its_id,
        the_log_is_read_in_parts_from_any_place,
        what_many_do_at_once_is_on_the_log_once_each_in_the_order_of_each,
        what_decides_who_is_told_is_found_for_many_at_once,
        the_state_of_notifications_is_what_their_recipient_sees,
    }
    /// Who follows whom.
    follows {
        how_somebody_stands_to_an_unknown_user_is_none,
        a_follow_is_toggled_on_and_off_and_on,
        a_follow_is_set_and_unset_any_number_of_times,
        setting_a_follow_again_keeps_its_place,
        following_an_unknown_user_is_not_found,
        an_even_number_of_toggles_at_once_ends_off,
        an_odd_number_of_toggles_at_once_ends_on,
        toggles_of_many_users_at_once_all_count,
        setting_and_unsetting_at_once_never_fails,
        followers_and_followed_are_listed_newest_relation_first,
        lists_of_follows_may_be_empty,
        paging_through_follows_survives_new_ones_and_unfollowing,
    }
    /// How much there is of everything.
    overview {
        what_is_there_is_counted,
    }
    /// Users as others see them, with their counts.
    people {
        a_person_is_found_with_every_field_as_each_viewer_stands_to_them,
        a_person_is_found_by_name_in_any_letter_case,
        of_many_people_those_that_there_are_are_found,
        posts_are_counted_by_who_may_view_them,
        a_post_that_is_marked_as_deleted_is_counted_no_longer,
        follows_are_counted_on_both_sides,
        counts_are_exact_whatever_many_do_at_once,
        the_directory_holds_enabled_accounts_that_are_discoverable_newest_first,
        lists_of_followers_leave_disabled_accounts_out_unless_asked_for,
    }
    /// The catalog and its filters.
    products {
        an_empty_catalog_is_one_empty_page,
        every_change_of_a_product_makes_another_version_of_the_catalog,
        products_are_listed_oldest_first_with_every_field,
        products_of_one_instant_are_listed_by_id,
        a_category_filter_passes_that_category_in_any_letter_case,
        a_text_filter_passes_what_has_it_in_name_description_or_sku,
        a_text_filter_is_taken_literally,
        a_text_is_found_wherever_it_is_in_a_large_catalog_and_as_soon_as_it_is_there,
        both_filters_together_pass_what_each_passes,
        filters_see_a_product_as_it_is_after_an_edit,
        paging_through_a_filtered_list_survives_arrivals_and_deletions,
        paging_through_the_short_list_survives_arrivals_and_deletions,
        a_product_is_found_with_every_field_it_was_created_with,
        prices_are_kept_exactly,
        the_instants_of_a_product_are_kept_to_the_millisecond,
        odd_texts_of_products_are_kept_exactly,
        an_unknown_product_is_not_found,
        a_sku_is_taken_in_any_letter_case,
        a_product_may_respell_its_own_sku,
        of_products_given_one_sku_at_once_one_gets_it,
        an_edit_changes_what_is_given,
        of_edits_of_one_version_made_at_once_one_takes_effect,
        an_edit_that_breaks_the_rule_of_stock_changes_nothing,
        edits_of_a_product_made_at_once_all_take_effect,
        a_deleted_product_is_gone_and_its_sku_free,
    }
    /// The whole catalog, in one transaction.
    catalog {
        a_snapshot_is_of_one_moment_and_reads_everything_oldest_first,
        products_are_found_by_their_skus_in_any_letter_case,
        changes_are_there_once_they_are_committed,
        a_transaction_that_is_dropped_changes_nothing,
        a_product_is_replaced_with_all_that_belongs_to_it,
        a_sku_that_is_taken_fails_the_transaction,
        readers_go_on_and_another_writer_waits_for_a_transaction,
    }
    /// Things found by their words.
    search {
        posts_are_found_by_their_words_in_any_script,
        users_are_found_by_their_names_if_they_want_to_be,
        users_of_odd_names_are_found_by_them,
        products_are_found_by_the_words_of_all_their_fields,
        posts_are_found_by_those_who_may_view_them_if_their_authors_are_searchable,
        what_is_changed_or_deleted_is_found_as_it_is_now,
        a_page_is_full_as_long_as_there_is_more,
        whatever_happens_a_query_finds_what_it_finds_in_each_text,
    }
    /// The record of the images that no row names, kept in step with the rows.
    images {
        images_recorded_before_a_cutoff_are_marked_the_oldest_records_first,
        an_image_that_is_recorded_again_stays_as_it_was,
        a_marked_image_comes_again_after_the_others_until_it_is_forgotten,
        images_are_forgotten_by_their_whole_keys,
        a_row_takes_the_image_that_it_names_off_the_record,
        a_row_that_names_an_image_not_on_record_is_refused,
        a_row_that_names_a_marked_image_is_refused,
        a_row_that_names_an_image_given_up_is_refused,
        an_image_given_up_is_on_record_from_the_time_of_the_change,
        a_change_of_something_else_leaves_the_record,
        an_image_is_named_by_two_rows_never,
        an_image_is_either_named_or_marked,
        images_given_and_given_up_at_once_are_all_accounted_for,
        named_images_are_found_by_the_beginning_of_their_keys_each_with_whose_it_is,
        of_keys_those_that_rows_name_and_those_on_record_are_told,
    }
    /// Images attached to posts: uploads, several to a post, previews.
    attachments {
        a_post_has_several_images_with_what_is_known_of_them,
        each_image_of_a_post_is_named_and_comes_on_record_when_it_is_given_up,
        a_post_with_an_image_that_is_not_on_record_is_refused_with_all_of_it,
        an_upload_is_found_by_its_owner_until_a_post_has_it_or_it_is_marked,
        of_posts_that_take_one_upload_at_once_one_has_it,
        images_get_previews_the_newest_first_and_posts_stay_of_their_version,
        a_preview_that_comes_too_late_puts_an_image_on_record_that_no_row_names,
        pictures_get_thumbnails_the_newest_user_first,
        a_thumbnail_that_comes_too_late_puts_a_picture_on_record_that_no_row_names,
    }
    /// Requests that are sent again, and the writes that are part of them.
    idempotency {
        of_one_account_so_many_requests_stay_on_record_the_newest_ones,
        an_attempt_meets_the_one_before_it_under_the_same_name,
        a_request_is_known_by_the_fingerprint_that_it_had_before,
        what_an_attempt_did_is_found_for_good,
        an_abandoned_attempt_leaves_its_name_free,
        an_attempt_that_begins_again_is_the_first_as_it_was,
        of_attempts_that_begin_at_once_one_is_the_first,
        of_attempts_that_replace_a_lost_one_at_once_one_is_the_first,
        what_no_longer_counts_is_replaced,
        records_of_what_began_before_an_instant_are_deleted_and_counted,
        every_write_of_an_attempt_stores_its_outcome,
        a_write_that_is_refused_leaves_no_outcome,
        an_attempt_that_was_replaced_writes_nothing,
        an_attempt_replaced_while_it_writes_and_its_successor_write_once_together,
    }
    /// What holds of the pages of every list.
    paging {
        every_list_is_the_same_from_both_ends,
        pages_are_found_when_the_entry_they_are_beside_is_gone,
        beyond_the_ends_of_every_list_are_empty_pages_that_lead_back,
        what_comes_and_goes_between_pages_hides_and_repeats_nothing,
        no_page_of_a_bounded_feed_reaches_beyond_its_beginning,
    }
    /// Writers of every kind at once, across the repositories.
    writers {
        sixty_four_writers_of_mixed_kinds_all_succeed,
        readers_beside_writers_see_whole_changes,
    }
}
