//! Run queues in every interleaving that matters, and the proof that each ordering matters.
//!
//! The models of `run_queue_loom/` explore the real algorithms on memory of the checker. An entry
//! has a payload in a plain cell, in which loom reports a race.

mod checker;
#[allow(dead_code, reason = "shared with the models of lanes")]
mod loom_memory;
#[path = "run_queue_loom/memory.rs"]
mod memory;
#[path = "run_queue_loom/queues.rs"]
mod queues;
#[path = "run_queue_loom/searches.rs"]
mod searches;

use horus_shm::internals::sync::edge;
use horus_testing::models;
use horus_testing::mutation::{Model, Mutant, assert_all_killed, ordering_sites};

models! {
    crate::queues:
        an_entry_goes_to_the_owner_or_to_a_thief,
        two_thieves_share_what_the_owner_leaves,
        a_slot_is_used_again_after_its_thief,
        a_lifo_entry_goes_to_the_owner_or_to_a_thief,
        an_injected_entry_is_taken_once,
        a_chain_is_taken_once;
    crate::searches:
        no_entry_waits_while_its_workers_sleep,
        a_worker_that_found_an_entry_leaves_the_other_to_the_next,
        entries_behind_the_first_need_no_notice,
        an_appended_entry_is_stolen,
        a_worker_that_is_wanted_does_not_sleep,
        a_watcher_is_appointed_and_woken,
        an_entry_is_not_left_in_a_closed_group;
}

/// Some model fails if any one of the orderings is weakened.
#[test]
fn every_weakened_edge_turns_a_model_red() {
    assert_all_killed(
        "weakened to relaxed",
        &MODELS,
        edge::WORKER_EDGES
            .into_iter()
            .map(|edge| Mutant::Edge(edge.label)),
    );
}

/// The model of the end alone needs the fence of the sender and that of the thread that ends.
#[test]
fn both_fences_of_the_end_are_needed() {
    static MODEL: [Model; 1] = [Model::new(
        "an_entry_is_not_left_in_a_closed_group",
        searches::an_entry_is_not_left_in_a_closed_group,
    )];
    let fences = [edge::SEARCH_SENDER_FENCE, edge::SEARCH_CLOSE_FENCE].into_iter();
    let left_out = fences.map(|edge| Mutant::Edge(edge.label));
    assert_all_killed("left out at the end", &MODEL, left_out);
}

/// Each single line that uses an ordering needs it.
#[test]
fn every_use_of_an_edge_is_needed() {
    let uses = ordering_sites(&MODELS).into_iter();
    let uses = uses.filter(|site| site.file.contains("heap"));
    assert_all_killed("weakened on one line", &MODELS, uses.map(Mutant::Site));
}
