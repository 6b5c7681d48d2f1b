//! Test cases for the behaviour that every adapter of the repository ports must have.
//!
//! A case takes the [`Repositories`] of a fresh, empty database and panics if the adapter is wrong. It uses neither the clock nor
//! random numbers, so that its outcome depends only on the adapter. [`repository_contract!`] makes one test of each case.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a case fails by a panic")]
// A case that is missing from the list below would be run by no adapter; it is dead code, which does not compile.
#![deny(dead_code)]

mod cases;
pub mod lists;
mod repositories;
mod run;
mod world;

pub use repositories::Repositories;

/// Exports the listed cases, and defines the macro that makes tests of them. The first token is a dollar sign, because a macro
/// cannot write one into another macro in any other way.
macro_rules! contract {
    ($d:tt $($(#[$doc:meta])* $module:ident { $($case:ident,)+ })+) => {
        $(
            $(#[$doc])*
            pub mod $module {
                pub use crate::cases::$module::{$($case),+};
            }
        )+

        /// Tests an adapter: defines one `#[tokio::test]` for each case, in modules of the same names.
        ///
        /// It takes the path of an `async fn() -> (Repositories, Guard)`, which is called once for each test and
        /// returns the repositories of a fresh, empty database. The guard, of any type, is dropped after the test: it
        /// owns what the database needs, such as its directory. The caller's crate needs `tokio` with `macros` and
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
                        // So that the path may be relative to where the macro is called.
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
        has_admin_returns_whether_any_account_has_the_role,
        administrators_are_listed_oldest_first_including_disabled_ones,
        open_sessions_are_counted_from_an_instant,
        granting_and_revoking_a_role_changes_nothing_else,
        changing_an_unknown_account_fails,
        the_last_enabled_admin_keeps_the_role_and_stays_enabled,
        a_disabled_admin_may_lose_the_role,
        admins_who_demote_each_other_concurrently_leave_one_admin,
        concurrent_demotions_and_disablings_leave_one_admin,
        disabling_and_enabling_an_account_changes_nothing_else,
        disabling_an_account_revokes_its_sessions_permanently,
        an_empty_list_is_one_empty_page,
        accounts_are_listed_oldest_first_with_every_field,
        accounts_created_at_the_same_instant_are_listed_by_id,
        paging_skips_and_repeats_no_account_during_registrations,
        a_profile_update_keeps_replaces_or_removes_the_biography,
        a_profile_update_returns_the_replaced_picture,
        a_profile_update_changes_several_fields_together,
        display_name_and_privacy_settings_are_updated,
        updating_an_unknown_profile_fails,
        concurrent_picture_updates_return_each_replaced_picture_once,
        changing_the_password_revokes_every_session_except_the_kept_one,
        rehashing_replaces_only_the_verified_hash_and_revokes_no_session,
        an_account_is_found_with_every_field_it_was_created_with,
        an_unknown_account_is_not_found,
        the_time_of_registration_is_stored_to_the_millisecond,
        unusual_account_texts_are_stored_exactly,
        usernames_are_unique_in_any_letter_case,
        email_addresses_are_unique_in_any_letter_case,
        names_that_differ_in_more_than_letter_case_are_available,
        when_name_and_email_are_both_taken_one_conflict_is_returned,
        a_failed_registration_stores_nothing,
        concurrent_registrations_of_one_name_succeed_once,
        concurrent_registrations_of_one_email_succeed_once,
        an_account_is_found_by_name_and_email_in_any_letter_case,
        the_ids_of_existing_names_are_found,
        an_identifier_matches_only_the_whole_username_or_email,
        credentials_include_whether_the_account_is_enabled,
    }
    /// Sessions: opening, finding, revoking and sweeping them.
    sessions {
        a_session_is_found_with_the_state_of_its_account,
        sessions_are_listed_with_user_agent_and_last_use,
        the_time_of_login_is_stored_to_the_millisecond,
        a_session_is_not_found_until_it_is_opened,
        many_sessions_are_found_in_one_call,
        a_ticket_can_be_used_only_once,
        revoking_a_session_is_immediate_permanent_and_affects_no_other,
        revoking_an_unknown_session_is_no_error,
        revoking_all_sessions_of_an_account_is_recorded_once,
        a_session_shows_the_current_account_after_a_change_notification,
        sessions_opened_before_an_instant_are_deleted,
        a_large_backlog_of_old_sessions_is_deleted_completely,
        a_password_change_during_logins_revokes_every_older_session,
        a_login_that_races_a_password_change_or_disabling_opens_no_session,
    }
    /// Posts: reading, lists and their paging, editing and deleting.
    posts {
        an_edit_changes_only_the_given_fields_and_returns_replaced_images,
        an_empty_edit_leaves_the_post_unchanged,
        an_edit_returns_the_post_as_its_author_sees_it,
        an_edit_that_violates_a_rule_changes_nothing,
        concurrent_edits_of_one_version_take_effect_once,
        concurrent_unconditional_edits_all_take_effect,
        deleting_a_post_returns_it_and_deletes_its_likes_and_comments,
        concurrent_deletions_return_the_post_once,
        a_large_deleted_post_disappears_at_once_and_is_erased_in_batches,
        deleting_a_post_during_likes_and_comments_leaves_nothing,
        a_list_without_posts_is_one_empty_page,
        posts_are_listed_newest_first,
        posts_created_at_the_same_instant_are_listed_by_descending_id,
        the_list_of_all_posts_includes_full_accounts,
        the_list_of_an_author_has_the_posts_of_the_requested_visibilities,
        the_feed_has_the_posts_of_followed_authors,
        each_listed_post_has_its_own_likers_and_counts,
        a_list_bounded_by_an_instant_excludes_posts_of_that_instant,
        a_deleted_post_disappears_from_every_list,
        paging_through_all_posts_survives_arrivals_and_deletions,
        paging_through_an_authors_posts_survives_arrivals_and_deletions,
        paging_through_the_feed_survives_arrivals_and_deletions,
        creating_a_post_returns_it_as_its_author_sees_it,
        a_post_is_found_with_every_field_it_was_created_with,
        the_times_of_a_post_are_stored_to_the_millisecond,
        unusual_post_texts_are_stored_exactly,
        an_unknown_post_is_not_found,
        a_post_is_found_as_each_viewer_sees_it,
        a_post_shows_the_current_profiles_of_author_and_likers,
        a_post_shows_the_newest_likers_and_counts_all,
        concurrently_created_posts_are_all_stored,
        the_entities_of_a_text_are_stored_with_it,
        a_hashtag_lists_its_posts_newest_first,
        a_post_is_listed_by_its_hashtags_to_those_who_may_view_it,
        hashtag_lists_exclude_posts_of_disabled_accounts,
        hashtag_lists_follow_edits_of_text_and_visibility,
        hashtag_lists_exclude_deleted_posts,
        a_post_with_very_many_hashtags_is_listed_by_each,
    }
    /// Likes of posts, as [`PostRepository`](agora_domain::posts::PostRepository) stores them.
    likes {
        a_like_is_toggled_on_and_off_and_on,
        a_like_is_set_and_unset_any_number_of_times,
        setting_a_like_again_keeps_its_position,
        liking_an_unknown_post_is_not_found,
        an_even_number_of_concurrent_toggles_ends_off,
        an_odd_number_of_concurrent_toggles_ends_on,
        concurrent_toggles_of_many_users_all_count,
        concurrent_setting_and_unsetting_never_fails,
        likers_are_listed_newest_like_first,
        paging_through_likers_survives_new_likes_and_unlikes,
    }
    /// Bookmarks, and the public timeline.
    bookmarks {
        a_bookmark_is_set_and_unset_any_number_of_times,
        bookmarks_are_listed_newest_first_and_keep_their_position,
        bookmarks_list_only_posts_that_may_be_viewed_now,
        a_bookmark_on_an_unknown_post_is_not_found,
        the_public_timeline_has_public_posts_of_enabled_accounts,
    }
    /// Blocks and mutes, and what they exclude from lists.
    blocks {
        a_block_applies_to_both_users_until_it_is_removed,
        mutual_blocks_are_independent_and_one_suffices,
        a_block_removes_follows_and_prevents_new_ones,
        a_block_wins_over_concurrent_follows,
        lists_hide_blocked_users_except_from_administrators,
        posts_of_muted_users_are_missing_only_from_timelines,
        pages_are_full_although_blocked_users_are_left_out,
        mentions_do_not_resolve_across_a_block,
        blocked_and_muted_users_are_listed_newest_first_and_keep_their_position,
        a_mute_expires_at_its_end,
        blocks_and_mutes_remove_notifications_and_mutes_prevent_new_ones,
        blocks_and_mutes_are_found_for_many_listeners,
        blocking_or_muting_an_unknown_user_is_not_found,
    }
    /// Posts and comments that administrators hide.
    hiding {
        a_hidden_post_is_listed_only_to_its_author_and_administrators,
        a_hidden_post_can_be_deleted_but_not_edited,
        hiding_a_post_replaces_its_image_by_a_copy,
        hidden_comments_are_neither_listed_nor_counted,
        the_access_state_of_a_comment_includes_what_is_hidden,
        notifications_about_hidden_content_are_not_shown,
        a_post_with_many_hidden_comments_is_erased_in_batches,
    }
    /// Exports of everything that an account has stored.
    exports {
        a_users_own_data_is_listed_oldest_first,
    }
    /// The audit log.
    audit_log {
        each_change_stores_one_entry_and_a_call_without_change_none,
        entries_are_filtered_by_actor_target_and_action,
        every_action_and_target_is_stored_and_returned,
    }
    /// Deletion of accounts, and erasure of their data in batches.
    deletion {
        deleting_an_account_removes_it_revokes_its_sessions_and_releases_its_picture,
        concurrent_deletions_leave_the_last_enabled_admin,
        names_of_deleted_accounts_stay_reserved_for_thirty_days,
        paging_continues_past_notifications_of_a_deleted_account,
        a_post_is_stored_although_a_mentioned_account_was_erased,
        nothing_of_a_deleted_account_is_shown_before_or_after_erasure,
        erasure_undoes_the_acts_of_an_account_and_leaves_nothing,
        erasure_completes_from_any_position,
        an_account_larger_than_a_batch_is_erased_completely,
    }
    /// The outbox, and the redemption of the tokens in mails.
    mail {
        the_longest_due_mail_is_claimed_first_and_due_again_after_a_pause,
        the_mails_of_one_request_are_stored_all_or_none,
        the_mails_of_an_account_are_limited_by_kind_and_hour,
        a_reset_request_becomes_a_mail_only_for_an_enabled_account,
        reset_mails_of_an_account_are_limited_per_hour,
        a_failed_mail_shows_why_until_it_is_sent_or_deleted,
        all_unsent_mails_can_be_retried_together,
        outdated_mails_and_tokens_are_deleted,
        a_token_resets_the_password_once_and_revokes_sessions_and_other_resets,
        changing_the_password_invalidates_older_reset_tokens,
        tokens_of_a_disabled_account_are_invalid,
        changing_or_resetting_the_password_cancels_changes_of_the_address,
        a_confirmation_is_invalid_once_the_password_has_changed,
        changing_the_address_prevents_retries_of_dead_mails,
        reset_requests_that_waited_long_are_limited_as_well,
        a_token_verifies_the_address_that_it_was_sent_to,
        a_new_address_takes_effect_when_its_token_is_used,
    }
    /// Reports of users to the administrators.
    reports {
        a_report_is_stored_with_every_field,
        a_report_shows_the_reported_comment_while_it_exists,
        a_thing_is_reported_once_until_the_report_is_decided,
        the_reports_of_an_account_are_limited_per_hour,
        a_decision_is_stored_and_recorded_and_can_be_changed,
        administrators_are_notified_of_a_new_report_and_others_do_not_see_it,
        administrators_are_notified_of_reports_despite_blocks_but_not_mutes,
        a_report_notification_disappears_with_the_author_of_the_comment,
    }
    /// Comments on posts.
    comments {
        comments_are_listed_with_every_field_oldest_first,
        comments_created_at_the_same_instant_are_listed_by_id,
        unusual_comment_texts_are_stored_exactly,
        commenting_on_an_unknown_post_is_not_found,
        the_access_to_a_comment_is_found_by_id_for_any_caller,
        the_callers_newest_comment_on_a_post_is_found,
        an_update_changes_only_content_and_time_of_change,
        a_deleted_comment_is_gone_and_no_longer_counted,
        the_comments_of_a_deleted_post_are_gone,
        a_post_without_comments_lists_one_empty_page,
        paging_survives_new_and_deleted_comments,
        concurrent_comments_all_count,
    }
    /// Replies, and likes of comments.
    threads {
        top_level_comments_are_listed_in_either_order_with_every_field,
        a_thread_is_listed_oldest_first,
        a_comment_is_found_as_each_viewer_sees_it,
        a_reply_outside_its_thread_is_not_found,
        the_entities_of_an_edited_comment_are_stored_with_it,
        a_like_of_a_comment_is_set_and_unset_any_number_of_times,
        likers_of_a_comment_are_listed_newest_like_first,
        changes_to_a_deleted_comment_are_not_found,
        deleting_a_top_level_comment_deletes_its_thread,
        deleting_a_reply_deletes_nothing_else,
        a_large_thread_is_deleted_in_batches,
        a_post_with_many_comment_likes_disappears_at_once_and_is_erased_later,
        thread_counts_are_exact_under_concurrency,
    }
    /// Texts whose entities are not extracted yet.
    texts {
        unresolved_texts_are_listed_newest_first_until_stored,
        entities_are_stored_only_if_the_text_is_unchanged,
        texts_are_resolved_during_edits_and_deletions,
        texts_of_comments_are_resolved_like_those_of_posts,
    }
    /// Notifications, and their settings.
    notifications {
        likes_and_follows_of_one_day_share_a_notification,
        undoing_an_act_removes_its_actor,
        toggling_repeatedly_notifies_once,
        each_comment_reply_and_mention_has_its_own_notification,
        notifications_about_invisible_or_deleted_content_are_not_shown,
        notifications_respect_the_settings_of_the_recipient,
        a_read_notification_stays_read_until_an_actor_is_added,
        a_notification_that_changed_after_it_was_shown_stays_unread,
        notifications_and_actors_are_read_page_by_page,
        old_notifications_are_deleted_in_batches,
        only_the_newest_notifications_are_kept,
        notification_counts_are_exact_under_concurrency,
        random_acts_produce_the_notifications_of_the_model,
    }
    /// The event log of live updates, and who may receive its events.
    events {
        each_change_appends_its_event_to_the_log,
        calls_that_change_nothing_append_no_event,
        a_new_or_extended_notification_appends_an_event_with_its_id,
        the_log_is_read_in_batches_from_any_position,
        concurrent_events_are_logged_once_in_the_order_of_each_writer,
        the_state_that_decides_on_delivery_is_found_for_many,
        the_state_of_notifications_has_what_the_recipient_sees,
    }
    /// Follows.
    follows {
        the_standing_towards_an_unknown_user_is_none,
        a_follow_is_toggled_on_and_off_and_on,
        a_follow_is_set_and_unset_any_number_of_times,
        setting_a_follow_again_keeps_its_position,
        following_an_unknown_user_is_not_found,
        an_even_number_of_concurrent_toggles_ends_off,
        an_odd_number_of_concurrent_toggles_ends_on,
        concurrent_toggles_of_many_users_all_count,
        concurrent_setting_and_unsetting_never_fails,
        followers_and_followed_are_listed_newest_relation_first,
        lists_of_follows_may_be_empty,
        paging_through_follows_survives_new_ones_and_unfollowing,
    }
    /// The totals of what is stored.
    overview {
        the_totals_count_what_is_stored,
    }
    /// Users as others see them, with their counts, and the directory.
    people {
        a_person_is_found_with_every_field_and_the_relationship_to_the_viewer,
        a_person_is_found_by_name_in_any_letter_case,
        existing_people_are_found_among_many_ids,
        posts_are_counted_by_who_may_view_them,
        a_post_marked_as_deleted_is_no_longer_counted,
        follows_are_counted_on_both_sides,
        counts_are_exact_under_concurrency,
        the_directory_lists_enabled_discoverable_accounts_newest_first,
        lists_of_followers_exclude_disabled_accounts_unless_requested,
    }
    /// The catalog and its filters.
    products {
        an_empty_catalog_is_one_empty_page,
        every_change_of_a_product_changes_the_version_of_the_catalog,
        products_are_listed_oldest_first_with_every_field,
        products_created_at_the_same_instant_are_listed_by_id,
        a_category_filter_matches_in_any_letter_case,
        a_text_filter_matches_name_description_and_sku,
        a_text_filter_is_taken_literally,
        a_text_filter_finds_every_match_in_a_large_catalog_at_once,
        both_filters_combine_with_and,
        filters_see_the_edited_product,
        paging_through_a_filtered_list_survives_arrivals_and_deletions,
        paging_through_the_short_list_survives_arrivals_and_deletions,
        a_product_is_found_with_every_field_it_was_created_with,
        prices_are_stored_exactly,
        the_times_of_a_product_are_stored_to_the_millisecond,
        unusual_product_texts_are_stored_exactly,
        an_unknown_product_is_not_found,
        skus_are_unique_in_any_letter_case,
        a_product_may_change_the_letter_case_of_its_sku,
        concurrent_uses_of_one_sku_succeed_once,
        an_edit_changes_only_the_given_fields,
        concurrent_edits_of_one_version_take_effect_once,
        an_edit_that_violates_the_stock_rule_changes_nothing,
        concurrent_edits_of_a_product_all_take_effect,
        a_deleted_product_is_gone_and_its_sku_is_available,
    }
    /// The whole catalog, in one transaction.
    catalog {
        a_snapshot_reads_one_moment_of_the_catalog_oldest_first,
        products_are_found_by_their_skus_in_any_letter_case,
        changes_are_visible_to_others_after_the_commit,
        a_dropped_transaction_changes_nothing,
        updating_a_product_replaces_its_variants_and_images,
        a_taken_sku_fails_the_transaction,
        readers_do_not_wait_for_a_transaction_but_writers_do,
    }
    /// Full-text search of posts, users and products.
    search {
        posts_are_found_by_their_words_in_any_script,
        users_are_found_by_their_names_if_they_are_searchable,
        users_with_unusual_names_are_found,
        products_are_found_by_the_words_of_all_their_fields,
        posts_of_searchable_authors_are_found_by_those_who_may_view_them,
        searches_see_changes_and_deletions_at_once,
        pages_of_results_are_full_while_there_are_more,
        searches_during_random_changes_find_what_the_model_finds,
    }
    /// The record of the images that no row references, which stays consistent with the rows.
    images {
        images_recorded_before_a_cutoff_are_marked_oldest_first,
        recording_an_image_again_changes_nothing,
        a_marked_image_is_returned_again_after_the_others_until_forgotten,
        images_are_forgotten_by_key_and_format,
        referencing_an_image_removes_it_from_the_record,
        referencing_an_unrecorded_image_is_refused,
        referencing_a_marked_image_is_refused,
        referencing_a_released_image_is_refused,
        a_released_image_is_recorded_with_the_time_of_the_change,
        changes_to_other_fields_leave_the_record_unchanged,
        an_image_is_never_referenced_by_two_rows,
        an_image_is_either_referenced_or_marked,
        concurrent_references_and_releases_lose_no_image,
        referenced_images_are_found_by_key_prefix_with_their_owners,
        referenced_and_recorded_keys_are_distinguished,
    }
    /// Images attached to posts: uploads, several to a post, previews.
    attachments {
        a_post_stores_several_images_with_preview_and_alt_text,
        each_image_of_a_post_is_referenced_and_recorded_when_released,
        a_post_with_an_unrecorded_image_is_refused_entirely,
        an_upload_is_found_by_its_owner_until_used_or_marked,
        concurrent_posts_with_one_upload_succeed_once,
        previews_are_added_newest_first_without_a_new_version_of_the_post,
        a_late_preview_records_the_image_if_no_row_references_it,
        thumbnails_of_pictures_are_added_newest_user_first,
        a_late_thumbnail_records_the_picture_if_no_row_references_it,
    }
    /// Idempotent requests, and the writes that are part of them.
    idempotency {
        only_the_newest_requests_of_an_account_stay_on_record,
        an_attempt_finds_the_earlier_one_of_the_same_name,
        an_accepted_old_fingerprint_matches_as_well,
        the_outcome_of_an_attempt_is_permanent,
        an_abandoned_attempt_releases_its_name,
        beginning_the_same_attempt_again_is_idempotent,
        one_of_several_concurrent_attempts_is_the_first,
        one_of_several_concurrent_replacements_is_the_first,
        lost_and_expired_attempts_are_replaced,
        records_begun_before_an_instant_are_deleted,
        every_write_of_an_attempt_stores_its_outcome,
        a_refused_write_stores_no_outcome,
        a_replaced_attempt_writes_nothing,
        an_attempt_and_its_replacement_write_once_between_them,
    }
    /// Properties of the pages of every list.
    paging {
        every_list_reads_the_same_from_both_ends,
        paging_continues_from_an_entry_that_was_removed,
        pages_beyond_the_ends_are_empty_and_link_back,
        changes_between_pages_hide_and_repeat_no_entry,
        no_page_of_a_bounded_feed_exceeds_its_bound,
    }
    /// Concurrent writes of every kind, across the repositories.
    writers {
        sixty_four_concurrent_writers_of_mixed_kinds_all_succeed,
        concurrent_readers_see_whole_changes,
    }
}
