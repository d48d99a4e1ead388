//! The edges (labelled memory orderings) of all protocols. Every access to a shared word that has
//! no edge is `Relaxed`.

use super::{Edge, Ordering};

/// ORDERING(slot): Release store of the even stamp, which publishes a message. Pairs with
/// [`SLOT_SEE`]: a thread that sees the stamp sees the payload.
pub const SLOT_PUBLISH: Edge = Edge::new("slot/publish", Ordering::Release);
/// ORDERING(slot): Acquire load of a slot's stamp by a reader. Pairs with [`SLOT_PUBLISH`].
pub const SLOT_SEE: Edge = Edge::new("slot/see", Ordering::Acquire);

/// ORDERING(overwrite): Release fence of a writer between its stores of the odd stamp and of the
/// payload words. Pairs with [`OVERWRITE_CHECK`]: a reader that read one new word sees the odd
/// stamp (or a later one).
pub const OVERWRITE_BEGIN: Edge = Edge::new("overwrite/begin", Ordering::Release);
/// ORDERING(overwrite): Acquire fence of a reader between its loads of the payload words and its
/// second load of the stamp. Pairs with [`OVERWRITE_BEGIN`].
pub const OVERWRITE_CHECK: Edge = Edge::new("overwrite/check", Ordering::Acquire);

/// ORDERING(head): Release store of the head. Pairs with [`HEAD_SEE`]: a reader that starts at
/// or below this head finds published slots, and sees the epoch they belong to. Where slots have
/// no stamps, it sees the messages.
pub const HEAD_PUBLISH: Edge = Edge::new("head/publish", Ordering::Release);
/// ORDERING(head): Acquire load of a lane's head. Pairs with [`HEAD_PUBLISH`].
pub const HEAD_SEE: Edge = Edge::new("head/see", Ordering::Acquire);

/// ORDERING(cursor): Release store of a reader's cursor. Pairs with [`CURSOR_SEE`]: the
/// reader's loads of a slot happen before the writer's next stores to it.
pub const CURSOR_ADVANCE: Edge = Edge::new("cursor/advance", Ordering::Release);
/// ORDERING(cursor): Acquire load of a gated reader's cursor. Pairs with [`CURSOR_ADVANCE`].
pub const CURSOR_SEE: Edge = Edge::new("cursor/see", Ordering::Acquire);

/// ORDERING(gate): SeqCst fence of a joining reader, between the stores of its bit and first
/// cursor and its load of the head. Pairs with [`GATE_SCAN`], as in Dekker's algorithm: either
/// the writer's scan sees the bit and the cursor, or the reader sees a head at or past the
/// position of that scan.
pub const GATE_JOIN: Edge = Edge::new("gate/join", Ordering::SeqCst);
/// ORDERING(gate): SeqCst fence of the writer before it reads the bits and cursors of gated
/// readers. Pairs with [`GATE_JOIN`], and as an Acquire with [`OWNER_CLAIM`].
pub const GATE_SCAN: Edge = Edge::new("gate/scan", Ordering::SeqCst);

/// ORDERING(gated_reader): Release operation that clears the bit of a gated reader that leaves or
/// has died. Pairs with [`GATED_READER_SEE`]: the reader's last loads of a slot happen before the
/// writer's next stores to it.
pub const GATED_READER_WITHDRAW: Edge = Edge::new("gated_reader/withdraw", Ordering::Release);
/// ORDERING(gated_reader): Acquire load of the bits of gated readers. Pairs with
/// [`GATED_READER_WITHDRAW`].
pub const GATED_READER_SEE: Edge = Edge::new("gated_reader/see", Ordering::Acquire);

/// ORDERING(owner): Acquire and Release of the exchange that claims a lane, or holds a reader's
/// slot. As an Acquire, it pairs with [`OWNER_RELEASE`]: the new owner sees everything that the
/// previous owner has stored. As a Release, it pairs with [`GATE_SCAN`]: a writer that sees that
/// another process holds the slot of a dead reader writes behind the last reads of that reader.
pub const OWNER_CLAIM: Edge = Edge::new("owner/claim", Ordering::AcqRel);
/// ORDERING(owner): Release store that frees a lane or a reader's slot. Pairs with
/// [`OWNER_CLAIM`].
pub const OWNER_RELEASE: Edge = Edge::new("owner/release", Ordering::Release);

/// ORDERING(owner): Acquire load of a lane's owner word by a reader that joins later. Pairs with
/// [`OWNER_RELEASE`], even if another owner has claimed the lane since.
pub const OWNER_SEE: Edge = Edge::new("owner/see", Ordering::Acquire);

/// ORDERING(session_owner): Release store of the owner whose session begins. Pairs with
/// [`SESSION_OWNER_SEE`]: a thread that sees the owner sees the start of its session.
pub const SESSION_OWNER_PUBLISH: Edge = Edge::new("session_owner/publish", Ordering::Release);
/// ORDERING(session_owner): Acquire load of the owner of a lane's session. Pairs with
/// [`SESSION_OWNER_PUBLISH`].
pub const SESSION_OWNER_SEE: Edge = Edge::new("session_owner/see", Ordering::Acquire);

/// ORDERING(session_start): Release store of the start of a session. Pairs with
/// [`SESSION_START_SEE`]: a thread that sees the start sees where the history before the session
/// begins.
pub const SESSION_START_PUBLISH: Edge = Edge::new("session_start/publish", Ordering::Release);
/// ORDERING(session_start): Acquire load of the start of a lane's session. Pairs with
/// [`SESSION_START_PUBLISH`].
pub const SESSION_START_SEE: Edge = Edge::new("session_start/see", Ordering::Acquire);

/// ORDERING(change_counter): Release increment of a topic's change counter, after a lane got a new
/// extent or a new publisher. Pairs with [`CHANGE_COUNTER_SEE`]: a reader that sees the new count
/// sees the change of the lane.
pub const CHANGE_COUNTER_PUBLISH: Edge = Edge::new("change_counter/publish", Ordering::Release);
/// ORDERING(change_counter): Acquire load of a topic's change counter by a reader. Pairs with
/// [`CHANGE_COUNTER_PUBLISH`].
pub const CHANGE_COUNTER_SEE: Edge = Edge::new("change_counter/see", Ordering::Acquire);

/// ORDERING(read_lanes): Release store of the value of the change counter for which a reader has
/// computed the lanes that it reads. Pairs with [`READ_LANES_SEE`]: a thread that sees the value
/// sees these lanes, or those of a later value.
pub const READ_LANES_PUBLISH: Edge = Edge::new("read_lanes/publish", Ordering::Release);
/// ORDERING(read_lanes): Acquire load by a thread that waits on behalf of a reader: it loads the
/// value of the change counter for which the reader has computed its lanes. Pairs with
/// [`READ_LANES_PUBLISH`].
pub const READ_LANES_SEE: Edge = Edge::new("read_lanes/see", Ordering::Acquire);

/// ORDERING(lane_ready): Release of the bit that marks the slots of a channel's lane as allocated.
/// Pairs with [`LANE_READY_SEE`]: a thread that sees the bit may access the lane.
pub const LANE_READY_PUBLISH: Edge = Edge::new("lane_ready/publish", Ordering::Release);
/// ORDERING(lane_ready): Acquire load of the bits of the lanes whose slots are allocated. Pairs
/// with [`LANE_READY_PUBLISH`].
pub const LANE_READY_SEE: Edge = Edge::new("lane_ready/see", Ordering::Acquire);

/// ORDERING(name_lost): SeqCst fence of a publisher between its claim of a lane and its check that
/// the topic's name still leads to the file. Pairs with [`NAME_LOST_READER_FENCE`], as in Dekker's
/// algorithm: either the publisher sees that the name is lost, or a reader that has seen this sees
/// the publisher.
pub const NAME_LOST_CLAIM_FENCE: Edge = Edge::new("name_lost/claim_fence", Ordering::SeqCst);
/// ORDERING(name_lost): SeqCst fence of a reader that has seen that its file has lost the topic's
/// name, before it loads the owners of the file's lanes. Pairs with [`NAME_LOST_CLAIM_FENCE`].
pub const NAME_LOST_READER_FENCE: Edge = Edge::new("name_lost/reader_fence", Ordering::SeqCst);

/// ORDERING(wake): SeqCst fence of a sender between its publication and its load of the
/// waiters. Pairs with [`WAKE_WAITER_FENCE`], as in Dekker's algorithm: either the sender sees the
/// waiter, or the waiter sees the message. If the waiters execute barriers for both sides
/// (membarrier), the sender needs no fence.
pub const WAKE_SENDER_FENCE: Edge = Edge::new("wake/sender_fence", Ordering::SeqCst);
/// ORDERING(wake): SeqCst fence of a waiter between its announcement and its last poll. Pairs
/// with [`WAKE_SENDER_FENCE`].
pub const WAKE_WAITER_FENCE: Edge = Edge::new("wake/waiter_fence", Ordering::SeqCst);

/// ORDERING(pin): SeqCst fence of a reader between its pin and its second load of the stamp.
/// Pairs with [`PIN_SCAN`], as in Dekker's algorithm: either the writer sees the pin, or the
/// reader sees that the slot is being written.
pub const PIN_HOLD: Edge = Edge::new("pin/hold", Ordering::SeqCst);
/// ORDERING(pin): SeqCst fence of a writer between the odd stamp and its loads of the pins.
/// Pairs with [`PIN_HOLD`], and as an Acquire with [`OWNER_CLAIM`].
pub const PIN_SCAN: Edge = Edge::new("pin/scan", Ordering::SeqCst);

/// ORDERING(pin): Acquire load of the count of skips. Pairs with [`PIN_SCAN`], which is also a
/// release fence: the writer executes it after the store of a head, and before it counts the next
/// skip. A thread that sees the skip sees that head, or a later one.
pub const SKIP_COUNT_SEE: Edge = Edge::new("pin/see_skip_count", Ordering::Acquire);

/// ORDERING(pin_limit): SeqCst fence of a reader that raises its limit, between the store of the
/// limit and its loads of the limits of others. Pairs with itself: of two such readers, at least
/// one sees the limit of the other.
pub const PIN_LIMIT_RAISE_FENCE: Edge = Edge::new("pin_limit/raise_fence", Ordering::SeqCst);
/// ORDERING(pin_limit): SeqCst fence of a reader that raises its limit, between the last load or
/// exchange of the limits of others and its loads of their pins. Pairs with [`PIN_HOLD`]: either
/// the other reader sees that its limit was lowered, or this one sees the pin.
pub const PIN_LIMIT_SUM_FENCE: Edge = Edge::new("pin_limit/sum_fence", Ordering::SeqCst);

/// ORDERING(pinned): Release store of a pin that moves to another slot, or is cleared. Pairs with
/// [`PIN_SEE`]: the reader's loads of the previously protected slot happen before the writer's next
/// stores to that slot.
pub const PIN_MOVE: Edge = Edge::new("pinned/move", Ordering::Release);
/// ORDERING(pinned): Acquire load of a reader's pin by a writer. Pairs with [`PIN_MOVE`].
pub const PIN_SEE: Edge = Edge::new("pinned/see", Ordering::Acquire);

/// ORDERING(reuse): Release operation on the bit that marks a pin as free again. Pairs with
/// [`PIN_REUSE`]: the store that cleared the pin happens before the pin is used again.
pub const PIN_FREE: Edge = Edge::new("reuse/free", Ordering::Release);
/// ORDERING(reuse): Acquire load of the bits of a reader's free pins. Pairs with [`PIN_FREE`].
pub const PIN_REUSE: Edge = Edge::new("reuse/take", Ordering::Acquire);

/// All edges of the lane protocol. Tests weaken each of them, and compare the list with the
/// documentation.
pub const LANE_EDGES: [Edge; 32] = [
    SLOT_PUBLISH,
    SLOT_SEE,
    OVERWRITE_BEGIN,
    OVERWRITE_CHECK,
    HEAD_PUBLISH,
    HEAD_SEE,
    CURSOR_ADVANCE,
    CURSOR_SEE,
    GATE_JOIN,
    GATE_SCAN,
    GATED_READER_WITHDRAW,
    GATED_READER_SEE,
    OWNER_CLAIM,
    OWNER_RELEASE,
    OWNER_SEE,
    SESSION_OWNER_PUBLISH,
    SESSION_OWNER_SEE,
    SESSION_START_PUBLISH,
    SESSION_START_SEE,
    NAME_LOST_CLAIM_FENCE,
    NAME_LOST_READER_FENCE,
    WAKE_SENDER_FENCE,
    WAKE_WAITER_FENCE,
    PIN_HOLD,
    PIN_SCAN,
    SKIP_COUNT_SEE,
    PIN_LIMIT_RAISE_FENCE,
    PIN_LIMIT_SUM_FENCE,
    PIN_MOVE,
    PIN_SEE,
    PIN_FREE,
    PIN_REUSE,
];

/// The edges by which readers discover new lanes and extents. The names and the contents of lane
/// files are ordered by system calls.
pub const DISCOVERY_EDGES: [Edge; 6] = [
    CHANGE_COUNTER_PUBLISH,
    CHANGE_COUNTER_SEE,
    READ_LANES_PUBLISH,
    READ_LANES_SEE,
    LANE_READY_PUBLISH,
    LANE_READY_SEE,
];

/// ORDERING(ticket): Release store of the stamp of a filled slot. Pairs with [`TICKET_SEE`]: a
/// thread that sees the stamp sees the value.
pub const TICKET_PUBLISH: Edge = Edge::new("ticket/publish", Ordering::Release);
/// ORDERING(ticket): Acquire load of a slot's stamp by the receiver. Pairs with
/// [`TICKET_PUBLISH`].
pub const TICKET_SEE: Edge = Edge::new("ticket/see", Ordering::Acquire);

/// ORDERING(free_slot): Release store of the stamp of a free slot. Pairs with [`FREE_SLOT_SEE`]:
/// the old value was moved out before a new one is moved in.
pub const FREE_SLOT_PUBLISH: Edge = Edge::new("free_slot/publish", Ordering::Release);
/// ORDERING(free_slot): Acquire load of a slot's stamp by a sender. Pairs with
/// [`FREE_SLOT_PUBLISH`].
pub const FREE_SLOT_SEE: Edge = Edge::new("free_slot/see", Ordering::Acquire);

/// ORDERING(sender_count): Release decrement of the number of senders by a sender that leaves.
/// Pairs with [`SENDER_COUNT_SEE`]: a receiver that sees that no sender is left sees all values
/// that were sent.
pub const SENDER_COUNT_DECREMENT: Edge = Edge::new("sender_count/decrement", Ordering::Release);
/// ORDERING(sender_count): Acquire load of the number of senders by a receiver that found no value.
/// Pairs with [`SENDER_COUNT_DECREMENT`].
pub const SENDER_COUNT_SEE: Edge = Edge::new("sender_count/see", Ordering::Acquire);

/// The edges of channels between threads: those of the ticket ring, and of the endpoint counts.
pub const CHANNEL_EDGES: [Edge; 6] = [
    TICKET_PUBLISH,
    TICKET_SEE,
    FREE_SLOT_PUBLISH,
    FREE_SLOT_SEE,
    SENDER_COUNT_DECREMENT,
    SENDER_COUNT_SEE,
];

/// ORDERING(run_queue): Release store of the tail of a run queue. Pairs with [`RUN_QUEUE_SEE`]: a
/// thief that sees the tail sees the entries below it, and what they point to.
pub const RUN_QUEUE_PUBLISH: Edge = Edge::new("run_queue/publish", Ordering::Release);
/// ORDERING(run_queue): Acquire load of a run queue's tail by a thief. Pairs with
/// [`RUN_QUEUE_PUBLISH`].
pub const RUN_QUEUE_SEE: Edge = Edge::new("run_queue/see", Ordering::Acquire);

/// ORDERING(stolen_entry): Release exchange of the heads by a thief that has read the entries that
/// it claimed. Pairs with [`STOLEN_ENTRY_SEE`]: the thief's loads happen before the owner's next
/// stores to those slots.
pub const STOLEN_ENTRY_FREE: Edge = Edge::new("stolen_entry/free", Ordering::Release);
/// ORDERING(stolen_entry): Acquire load of a run queue's heads by its owner. Pairs with
/// [`STOLEN_ENTRY_FREE`].
pub const STOLEN_ENTRY_SEE: Edge = Edge::new("stolen_entry/see", Ordering::Acquire);

/// ORDERING(lifo): Release store or exchange that puts an entry into a worker's `lifo_slot` (the
/// entry that the worker runs next). Pairs with [`LIFO_STEAL`]: a thief that takes the entry sees
/// what it points to.
pub const LIFO_PUT: Edge = Edge::new("lifo/put", Ordering::Release);
/// ORDERING(lifo): Acquire exchange of a thief that takes the entry out of another worker's
/// `lifo_slot`. Pairs with [`LIFO_PUT`].
pub const LIFO_STEAL: Edge = Edge::new("lifo/steal", Ordering::Acquire);

/// ORDERING(injector): Release exchange that puts an entry on an injector. Pairs with
/// [`INJECTOR_TAKE`]: a worker that takes the stack sees every entry, its link, and what it
/// points to.
pub const INJECTOR_PUSH: Edge = Edge::new("injector/push", Ordering::Release);
/// ORDERING(injector): Acquire exchange that takes all of an injector's stack. Pairs with
/// [`INJECTOR_PUSH`] of every entry, as each exchange continues the release sequences of those
/// before it.
pub const INJECTOR_TAKE: Edge = Edge::new("injector/take", Ordering::Acquire);

/// ORDERING(chain): Release store of the entries that a worker took from an injector and did
/// not keep. Pairs with [`RETURNED_CHAIN_TAKE`]: a thread that takes the chain sees the entries as
/// the worker saw them.
pub const RETURNED_CHAIN_PUT: Edge = Edge::new("chain/return", Ordering::Release);
/// ORDERING(chain): Acquire exchange that takes the chain, the entries that a worker returned
/// to its injector. Pairs with [`RETURNED_CHAIN_PUT`].
pub const RETURNED_CHAIN_TAKE: Edge = Edge::new("chain/take", Ordering::Acquire);

/// ORDERING(search): SeqCst fence of a worker between the exchange by which it stops being a
/// searcher and its last look at all queues. Pairs with [`SEARCH_SENDER_FENCE`], as in Dekker's
/// algorithm: either the worker sees the new entry, or the sender sees that there is one searcher
/// less.
pub const SEARCH_WORKER_FENCE: Edge = Edge::new("search/worker_fence", Ordering::SeqCst);
/// ORDERING(search): SeqCst fence of a sender between the push of a new entry and the load of
/// the search state. Pairs with [`SEARCH_WORKER_FENCE`] and [`SEARCH_CLOSE_FENCE`].
pub const SEARCH_SENDER_FENCE: Edge = Edge::new("search/sender_fence", Ordering::SeqCst);
/// ORDERING(search): SeqCst fence of a thread that closes the queues, between the exchange that
/// sets the closed mark and the last look at the injectors. Pairs with [`SEARCH_SENDER_FENCE`]:
/// either that look finds a new entry, or the sender of the entry sees the mark.
pub const SEARCH_CLOSE_FENCE: Edge = Edge::new("search/close_fence", Ordering::SeqCst);

/// The edges of the run queues and the searches of the workers that run actors.
pub const WORKER_EDGES: [Edge; 13] = [
    RUN_QUEUE_PUBLISH,
    RUN_QUEUE_SEE,
    STOLEN_ENTRY_FREE,
    STOLEN_ENTRY_SEE,
    LIFO_PUT,
    LIFO_STEAL,
    INJECTOR_PUSH,
    INJECTOR_TAKE,
    RETURNED_CHAIN_PUT,
    RETURNED_CHAIN_TAKE,
    SEARCH_WORKER_FENCE,
    SEARCH_SENDER_FENCE,
    SEARCH_CLOSE_FENCE,
];

/// ORDERING(mail): Release exchange that makes a block the newest block of a mailbox. Pairs
/// with [`MAIL_SEE`]: a runner that sees a block sees its message, and all older blocks.
pub const MAIL_PUSH: Edge = Edge::new("mail/push", Ordering::Release);
/// ORDERING(mail): Acquire load or exchange of the word of a mailbox by its runner. Pairs with
/// [`MAIL_PUSH`].
pub const MAIL_SEE: Edge = Edge::new("mail/see", Ordering::Acquire);

/// ORDERING(actor): Release exchange that puts an actor to sleep. Pairs with [`ACTOR_WAKE_FENCE`]:
/// the next runner sees everything that this runner did to the actor.
pub const ACTOR_SLEEP: Edge = Edge::new("actor/sleep", Ordering::Release);
/// ORDERING(actor): Acquire fence of the sender that woke an actor, before the actor's next run.
/// Pairs with [`ACTOR_SLEEP`]: the next runner sees everything that the last one did to the actor.
pub const ACTOR_WAKE_FENCE: Edge = Edge::new("actor/wake_fence", Ordering::Acquire);

/// ORDERING(latest): Release exchange that puts a message into the slot of a mailbox that keeps
/// only the latest message. Pairs with [`LATEST_TAKE`].
pub const LATEST_PUT: Edge = Edge::new("latest/put", Ordering::Release);
/// ORDERING(latest): Acquire exchange or fence of a thread that has taken a message out of the
/// slot for the latest message: the runner, or a sender that has replaced the message. Pairs
/// with [`LATEST_PUT`]: the thread sees the message.
pub const LATEST_TAKE: Edge = Edge::new("latest/take", Ordering::Acquire);

/// ORDERING(reference): Release subtraction of an address or a hold. Pairs with
/// [`REFERENCE_END_ACTOR`] and [`REFERENCE_FREE_CELL`]: all that the holder did happens before the
/// actor ends and before the cell is freed.
pub const REFERENCE_REMOVE: Edge = Edge::new("reference/remove", Ordering::Release);
/// ORDERING(reference): Acquire exchange that ends an actor without addresses. Pairs with
/// [`REFERENCE_REMOVE`]: the runner sees all mail that was sent by an address.
pub const REFERENCE_END_ACTOR: Edge = Edge::new("reference/end_actor", Ordering::Acquire);
/// ORDERING(reference): Acquire load by the last holder, which frees the cell. Pairs with
/// [`REFERENCE_REMOVE`].
pub const REFERENCE_FREE_CELL: Edge = Edge::new("reference/free_cell", Ordering::Acquire);

/// ORDERING(last_address_block): Release operation that clears the bit which marks an actor's
/// last-address block as sent. Pairs with [`LAST_ADDRESS_BLOCK_SET`]: the runner has finished with
/// the block before the block is sent again.
pub const LAST_ADDRESS_BLOCK_CLEAR: Edge = Edge::new("last_address_block/clear", Ordering::Release);
/// ORDERING(last_address_block): Acquire exchange that sets the bit which marks an actor's
/// last-address block as sent. Pairs with [`LAST_ADDRESS_BLOCK_CLEAR`].
pub const LAST_ADDRESS_BLOCK_SET: Edge = Edge::new("last_address_block/set", Ordering::Acquire);

/// ORDERING(depot): Release exchange that puts a magazine (an array of free blocks) on a stack of
/// the depot. Pairs with [`DEPOT_POP`]: a thread that takes the magazine sees the blocks in it.
pub const DEPOT_PUSH: Edge = Edge::new("depot/push", Ordering::Release);
/// ORDERING(depot): Acquire load of the top of a stack of the depot. Pairs with [`DEPOT_PUSH`].
pub const DEPOT_POP: Edge = Edge::new("depot/pop", Ordering::Acquire);

/// ORDERING(answer): Release exchange that publishes an answer, or publishes that there will be
/// none. Pairs with [`ANSWER_SEE`]: an asker that sees the new state sees the answer.
pub const ANSWER_PUBLISH: Edge = Edge::new("answer/publish", Ordering::Release);
/// ORDERING(answer): Acquire load of the state by the asker, or its fence after the exchange by
/// which it gives up its end. Pairs with [`ANSWER_PUBLISH`].
pub const ANSWER_SEE: Edge = Edge::new("answer/see", Ordering::Acquire);

/// ORDERING(waker): Release exchange by which the asker registers its waker in an answer. Pairs
/// with [`WAKER_TAKE`]: the replier sees the waker.
pub const WAKER_PUT: Edge = Edge::new("waker/put", Ordering::Release);
/// ORDERING(waker): Acquire exchange by which the replier takes the asker's waker out of an answer.
/// Pairs with [`WAKER_PUT`].
pub const WAKER_TAKE: Edge = Edge::new("waker/take", Ordering::Acquire);

/// ORDERING(asker): Release exchange by which the asker gives up its end of an answer. Pairs with
/// [`ASKER_LEFT_SEE`]: the asker's accesses to the memory happen before that memory is freed.
pub const ASKER_LEAVE: Edge = Edge::new("asker/leave", Ordering::Release);
/// ORDERING(asker): Acquire fence before the replier frees an answer whose asker has left.
/// Pairs with [`ASKER_LEAVE`].
pub const ASKER_LEFT_SEE: Edge = Edge::new("asker/see_left", Ordering::Acquire);

/// The edges of mailboxes, of the blocks in them, and of answers.
pub const MAILBOX_EDGES: [Edge; 19] = [
    MAIL_PUSH,
    MAIL_SEE,
    ACTOR_SLEEP,
    ACTOR_WAKE_FENCE,
    LATEST_PUT,
    LATEST_TAKE,
    REFERENCE_REMOVE,
    REFERENCE_END_ACTOR,
    REFERENCE_FREE_CELL,
    LAST_ADDRESS_BLOCK_CLEAR,
    LAST_ADDRESS_BLOCK_SET,
    DEPOT_PUSH,
    DEPOT_POP,
    ANSWER_PUBLISH,
    ANSWER_SEE,
    WAKER_PUT,
    WAKER_TAKE,
    ASKER_LEAVE,
    ASKER_LEFT_SEE,
];
