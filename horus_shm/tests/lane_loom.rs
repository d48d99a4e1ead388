//! The lane in every interleaving that matters, and the proof that each ordering matters.
//!
//! Each of the `loom_models` states one property and explores the real algorithms on the memory of
//! `loom_memory`. The last tests weaken the orderings one at a time, and require a model that
//! fails.

mod checker;
mod loom_memory;
mod loom_models;

use horus_shm::internals::sync::edge;
use horus_testing::models;
use horus_testing::mutation::{Mutant, assert_all_killed, ordering_sites};

models! {
    crate::loom_models::lane:
        a_message_is_delivered_whole_or_not_at_all,
        a_drained_message_is_delivered_whole_or_not_at_all,
        a_lapped_reader_counts_exactly_what_it_lost,
        a_lapped_reader_goes_on_at_a_published_slot,
        two_readers_do_not_disturb_each_other,
        the_latest_value_is_as_new_as_any_sent_before_the_call,
        a_reader_that_sees_a_change_sees_the_generation,
        a_lane_that_is_read_is_polled,
        a_lane_that_is_ready_was_reserved;
    crate::loom_models::gate:
        a_gated_reader_gets_every_message,
        a_drained_lane_gives_every_message,
        two_gated_readers_both_get_every_message,
        a_late_gate_holds_the_writer_from_its_start_on,
        a_late_joiner_finds_the_messages_under_the_head,
        a_gate_that_leaves_has_read_its_last_message,
        a_gate_that_died_has_read_its_last_message,
        a_gate_handed_on_carries_its_last_reads_along,
        a_gate_left_and_freed_again_has_read_its_last_message,
        a_dead_gate_is_reaped_once,
        a_detached_reader_counts_exactly_what_it_lost,
        a_gated_reader_may_skip_to_the_latest,
        a_gate_killed_while_joining_holds_the_writer_for_the_next,
        a_gate_killed_while_reading_is_resumed,
        a_dead_gate_is_adopted_or_reaped,
        a_gate_whose_reaper_is_stopped_is_abandoned,
        a_gate_is_continued_or_abandoned,
        the_next_reader_in_an_abandoned_place_is_awaited,
        a_dead_reader_is_cleared_by_one_process_at_a_time;
    crate::loom_models::growth:
        a_reader_accounts_for_all_messages_across_growth,
        a_lapped_reader_stays_before_the_growth,
        a_gated_reader_gets_every_message_across_growth;
    crate::loom_models::moving:
        messages_from_before_a_move_come_first,
        a_publisher_that_moved_keeps_a_lap_for_its_reader,
        a_reader_leaves_no_file_in_which_a_publisher_stays;
    crate::loom_models::takeover:
        a_successor_goes_on_where_its_predecessor_was_killed,
        the_head_of_a_takeover_covers_all_published_messages,
        a_takeover_may_be_killed_anywhere,
        a_lane_has_one_owner,
        a_lane_handed_on_continues_its_positions,
        a_dead_session_is_no_history,
        a_death_is_recorded_before_its_place_shows_another_endpoint,
        latched_history_is_that_of_one_session,
        a_message_after_a_takeover_is_new_or_history,
        messages_of_a_dead_publisher_are_history_on_request,
        an_ended_session_is_no_history;
    crate::loom_models::pins:
        a_pinned_message_stays,
        a_pin_that_moves_on_gives_its_message_back,
        a_pin_used_again_gives_its_last_message_back,
        skips_are_not_counted,
        a_late_joiner_knows_the_number_of_its_first_message,
        a_slot_gives_the_number_of_its_message,
        a_successor_goes_on_after_a_skip,
        a_session_that_only_skips_hides_no_history,
        the_latest_is_found_behind_skips,
        an_observer_sees_whole_messages,
        a_copy_that_is_not_spared_is_whole_or_none,
        a_loan_is_written_beside_no_copy,
        a_pin_given_back_elsewhere_can_be_used_again,
        a_reader_whose_limit_was_taken_borrows_nothing,
        two_limits_raised_at_once_are_both_counted,
        a_limit_lowered_by_a_third_reader_hides_no_pin,
        a_reader_that_may_borrow_no_more_keeps_no_limit,
        a_pin_whose_reaper_is_stopped_is_ignored,
        the_next_reader_in_a_held_place_keeps_its_pins;
    crate::loom_models::presence:
        a_topic_is_never_split,
        a_file_without_its_name_is_not_in_use,
        a_topic_that_all_leave_leaves_no_file,
        a_latched_message_is_not_removed;
    crate::loom_models::wait:
        no_wake_is_lost,
        no_wake_is_lost_in_a_stream,
        every_sleeper_is_woken;
    crate::loom_models::channel:
        a_ticket_is_received_once,
        a_ticket_ring_holds_its_capacity,
        a_run_of_tickets_gives_its_slots_back,
        a_disconnected_ring_is_empty,
        a_disconnected_lane_is_empty,
        a_channel_with_a_new_sender_is_not_disconnected;
}

/// Some model fails if any one of the orderings is weakened.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    let edges = edge::LANE_EDGES
        .into_iter()
        .chain(edge::DISCOVERY_EDGES)
        .chain(edge::CHANNEL_EDGES);
    assert_all_killed(
        "weakened to relaxed",
        &MODELS,
        edges.map(|edge| Mutant::Edge(edge.label)),
    );
}

/// Each single line that uses an ordering needs it.
#[test]
fn every_use_of_an_edge_is_needed() {
    let uses = ordering_sites(&MODELS).into_iter();
    assert_all_killed("weakened on one line", &MODELS, uses.map(Mutant::Site));
}

/// Some model fails if a lock or check of presence, or of a session, is left out.
#[test]
fn every_step_is_needed() {
    let presence = ["presence/share", "presence/exclude", "presence/release"];
    let looks = ["presence/look", "presence/linked", "presence/kept"];
    let sessions = ["session/end", "session/pass over", "session/least"];
    let moves = ["move/former again"];
    let steps = presence.into_iter().chain(looks).chain(sessions);
    let steps = steps.chain(moves);
    assert_all_killed("left out", &MODELS, steps.map(Mutant::Flaw));
}
