//! Mailboxes, answers and the depot in every interleaving that matters, and the proof that each
//! ordering matters.
//!
//! As `lane_loom.rs`, with the same memory.

#[path = "loom_models/answer.rs"]
mod answer;
#[path = "loom_memory/answers.rs"]
mod answers;
mod checker;
#[allow(dead_code, reason = "shared with the models of lanes")]
mod loom_memory;
#[path = "loom_models/mailbox.rs"]
mod mailbox;
#[path = "loom_memory/mailboxes.rs"]
mod mailboxes;

use horus_shm::internals::sync::edge;
use horus_testing::models;
use horus_testing::mutation::{Mutant, assert_all_killed, ordering_sites};

models! {
    crate::mailbox:
        a_message_is_handled_once,
        a_runner_sees_what_two_senders_sent,
        a_block_that_comes_back_is_another_one,
        a_sender_waits_for_room,
        a_sender_waits_for_a_step,
        a_message_at_the_end_has_one_fate,
        an_actor_without_addresses_ends_after_its_mail,
        the_end_sees_mail_of_an_address_that_left,
        an_upgrade_meets_the_end,
        the_last_address_leaves_twice,
        a_cell_is_freed_after_its_last_use,
        the_latest_message_is_handled_or_replaced,
        the_latest_message_at_the_end_has_one_fate,
        a_chain_is_sent_at_once;
    crate::answer:
        an_item_of_the_depot_has_one_owner,
        a_stack_that_looks_the_same_is_another_one,
        an_answer_is_whole,
        a_registered_waker_is_called,
        a_waker_is_replaced,
        an_answer_that_is_left_has_one_owner,
        an_answer_may_be_left_at_once;
}

/// Some model fails if any one of the orderings is weakened.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    let edges = edge::MAILBOX_EDGES.into_iter();
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
