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

/// ORDERING(gated): Release operation that clears the bit of a gated reader that leaves or has
/// died. Pairs with [`GATED_SEE`]: the reader's last loads of a slot happen before the writer's
/// next stores to it.
pub const GATED_WITHDRAW: Edge = Edge::new("gated/withdraw", Ordering::Release);
/// ORDERING(gated): Acquire load of the bits of gated readers. Pairs with [`GATED_WITHDRAW`].
pub const GATED_SEE: Edge = Edge::new("gated/see", Ordering::Acquire);

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

/// ORDERING(epoch): Release store of the owner whose session begins. Pairs with [`EPOCH_SEE`]: a
/// thread that sees the owner sees the start of its session.
pub const EPOCH_PUBLISH: Edge = Edge::new("epoch/publish", Ordering::Release);
/// ORDERING(epoch): Acquire load of the owner of a lane's session. Pairs with
/// [`EPOCH_PUBLISH`].
pub const EPOCH_SEE: Edge = Edge::new("epoch/see", Ordering::Acquire);

/// ORDERING(history): Release store of the start of a session. Pairs with [`HISTORY_SEE`]: a thread
/// that sees the start sees where the history before the session begins.
pub const HISTORY_PUBLISH: Edge = Edge::new("history/publish", Ordering::Release);
/// ORDERING(history): Acquire load of the start of a lane's session. Pairs with
/// [`HISTORY_PUBLISH`].
pub const HISTORY_SEE: Edge = Edge::new("history/see", Ordering::Acquire);

/// ORDERING(change): Release increment of a topic's change counter, after a lane got a new extent
/// or a new publisher. Pairs with [`CHANGE_SEE`]: a reader that sees the new count sees the change
/// of the lane.
pub const CHANGE_PUBLISH: Edge = Edge::new("change/publish", Ordering::Release);
/// ORDERING(change): Acquire load of a topic's change counter by a reader. Pairs with
/// [`CHANGE_PUBLISH`].
pub const CHANGE_SEE: Edge = Edge::new("change/see", Ordering::Acquire);

/// ORDERING(reading): Release store of the value of the change counter for which a reader has
/// computed the lanes that it reads. Pairs with [`READING_SEE`]: a thread that sees the value
/// sees these lanes, or those of a later value.
pub const READING_PUBLISH: Edge = Edge::new("reading/publish", Ordering::Release);
/// ORDERING(reading): Acquire load by a thread that waits on behalf of a reader: it loads the value
/// of the change counter for which the reader has computed its lanes. Pairs with
/// [`READING_PUBLISH`].
pub const READING_SEE: Edge = Edge::new("reading/see", Ordering::Acquire);

/// ORDERING(ready): Release of the bit that marks the slots of a channel's lane as allocated.
/// Pairs with [`READY_SEE`]: a thread that sees the bit may access the lane.
pub const READY_PUBLISH: Edge = Edge::new("ready/publish", Ordering::Release);
/// ORDERING(ready): Acquire load of the bits of the lanes whose slots are allocated. Pairs with
/// [`READY_PUBLISH`].
pub const READY_SEE: Edge = Edge::new("ready/see", Ordering::Acquire);

/// ORDERING(leave): SeqCst fence of a publisher between its claim of a lane and its check that the
/// topic's name still leads to the file. Pairs with [`LEAVE_LOOK`], as in Dekker's algorithm:
/// either the publisher sees that the name is lost, or a reader that has seen this sees the
/// publisher.
pub const LEAVE_CLAIM: Edge = Edge::new("leave/claim", Ordering::SeqCst);
/// ORDERING(leave): SeqCst fence of a reader that has seen that its file has lost the topic's name,
/// before it loads the owners of the file's lanes. Pairs with [`LEAVE_CLAIM`].
pub const LEAVE_LOOK: Edge = Edge::new("leave/look", Ordering::SeqCst);

/// ORDERING(wake): SeqCst fence of a sender between its publication and its load of the
/// waiters. Pairs with [`WAKE_ANNOUNCE`], as in Dekker's algorithm: either the sender sees the
/// waiter, or the waiter sees the message. If the waiters execute barriers for both sides
/// (membarrier), the sender needs no fence.
pub const WAKE_LOOK: Edge = Edge::new("wake/look", Ordering::SeqCst);
/// ORDERING(wake): SeqCst fence of a waiter between its announcement and its last poll. Pairs
/// with [`WAKE_LOOK`].
pub const WAKE_ANNOUNCE: Edge = Edge::new("wake/announce", Ordering::SeqCst);

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
pub const PIN_COUNT: Edge = Edge::new("pin/count", Ordering::Acquire);

/// ORDERING(pinlimit): SeqCst fence of a reader that raises its limit, between the store of the
/// limit and its loads of the limits of others. Pairs with itself: of two such readers, at least
/// one sees the limit of the other.
pub const LIMIT_RAISE: Edge = Edge::new("pinlimit/raise", Ordering::SeqCst);
/// ORDERING(pinlimit): SeqCst fence of a reader that raises its limit, between the last load or
/// exchange of the limits of others and its loads of their pins. Pairs with [`PIN_HOLD`]: either
/// the other reader sees that its limit was lowered, or this one sees the pin.
pub const LIMIT_COUNT: Edge = Edge::new("pinlimit/count", Ordering::SeqCst);

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
    GATED_WITHDRAW,
    GATED_SEE,
    OWNER_CLAIM,
    OWNER_RELEASE,
    OWNER_SEE,
    EPOCH_PUBLISH,
    EPOCH_SEE,
    HISTORY_PUBLISH,
    HISTORY_SEE,
    LEAVE_CLAIM,
    LEAVE_LOOK,
    WAKE_LOOK,
    WAKE_ANNOUNCE,
    PIN_HOLD,
    PIN_SCAN,
    PIN_COUNT,
    LIMIT_RAISE,
    LIMIT_COUNT,
    PIN_MOVE,
    PIN_SEE,
    PIN_FREE,
    PIN_REUSE,
];

/// The edges by which readers discover new lanes and extents. The names and the contents of lane
/// files are ordered by system calls.
pub const DISCOVERY_EDGES: [Edge; 6] = [
    CHANGE_PUBLISH,
    CHANGE_SEE,
    READING_PUBLISH,
    READING_SEE,
    READY_PUBLISH,
    READY_SEE,
];

/// ORDERING(ticket): Release store of the stamp of a filled slot. Pairs with [`TICKET_SEE`]: a
/// thread that sees the stamp sees the value.
pub const TICKET_PUBLISH: Edge = Edge::new("ticket/publish", Ordering::Release);
/// ORDERING(ticket): Acquire load of a slot's stamp by the receiver. Pairs with
/// [`TICKET_PUBLISH`].
pub const TICKET_SEE: Edge = Edge::new("ticket/see", Ordering::Acquire);

/// ORDERING(room): Release store of the stamp of a free slot. Pairs with [`ROOM_SEE`]: the old
/// value was moved out before a new one is moved in.
pub const ROOM_FREE: Edge = Edge::new("room/free", Ordering::Release);
/// ORDERING(room): Acquire load of a slot's stamp by a sender. Pairs with [`ROOM_FREE`].
pub const ROOM_SEE: Edge = Edge::new("room/see", Ordering::Acquire);

/// ORDERING(ends): Release decrement of the number of senders by a sender that leaves. Pairs
/// with [`ENDS_SEE`]: a receiver that sees that no sender is left sees all values that were
/// sent.
pub const ENDS_LEAVE: Edge = Edge::new("ends/leave", Ordering::Release);
/// ORDERING(ends): Acquire load of the number of senders by a receiver that found no value.
/// Pairs with [`ENDS_LEAVE`].
pub const ENDS_SEE: Edge = Edge::new("ends/see", Ordering::Acquire);

/// The edges of channels between threads: those of the ticket ring, and of the endpoint counts.
pub const CHANNEL_EDGES: [Edge; 6] = [
    TICKET_PUBLISH,
    TICKET_SEE,
    ROOM_FREE,
    ROOM_SEE,
    ENDS_LEAVE,
    ENDS_SEE,
];

/// ORDERING(queue): Release store of the tail of a run queue. Pairs with [`QUEUE_SEE`]: a thief
/// that sees the tail sees the entries below it, and what they point to.
pub const QUEUE_PUBLISH: Edge = Edge::new("queue/publish", Ordering::Release);
/// ORDERING(queue): Acquire load of a run queue's tail by a thief. Pairs with
/// [`QUEUE_PUBLISH`].
pub const QUEUE_SEE: Edge = Edge::new("queue/see", Ordering::Acquire);

/// ORDERING(stolen): Release exchange of the heads by a thief that has read the entries that it
/// claimed. Pairs with [`STOLEN_SEE`]: the thief's loads happen before the owner's next stores
/// to those slots.
pub const STOLEN_FREE: Edge = Edge::new("stolen/free", Ordering::Release);
/// ORDERING(stolen): Acquire load of a run queue's heads by its owner. Pairs with
/// [`STOLEN_FREE`].
pub const STOLEN_SEE: Edge = Edge::new("stolen/see", Ordering::Acquire);

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
/// searcher and its last look at all queues. Pairs with [`SEARCH_LOOK`], as in Dekker's algorithm:
/// either the worker sees the new entry, or the sender sees that there is one searcher less.
pub const SEARCH_LEAVE: Edge = Edge::new("search/leave", Ordering::SeqCst);
/// ORDERING(search): SeqCst fence of a sender between the push of a new entry and the load of
/// the search state. Pairs with [`SEARCH_LEAVE`] and [`SEARCH_CLOSE`].
pub const SEARCH_LOOK: Edge = Edge::new("search/look", Ordering::SeqCst);
/// ORDERING(search): SeqCst fence of a thread that closes the queues, between the exchange that
/// sets the closed mark and the last look at the injectors. Pairs with [`SEARCH_LOOK`]: either that
/// look finds a new entry, or the sender of the entry sees the mark.
pub const SEARCH_CLOSE: Edge = Edge::new("search/close", Ordering::SeqCst);

/// The edges of the run queues and the searches of the workers that run actors.
pub const WORKER_EDGES: [Edge; 13] = [
    QUEUE_PUBLISH,
    QUEUE_SEE,
    STOLEN_FREE,
    STOLEN_SEE,
    LIFO_PUT,
    LIFO_STEAL,
    INJECTOR_PUSH,
    INJECTOR_TAKE,
    RETURNED_CHAIN_PUT,
    RETURNED_CHAIN_TAKE,
    SEARCH_LEAVE,
    SEARCH_LOOK,
    SEARCH_CLOSE,
];

/// ORDERING(mail): Release exchange that makes a block the newest block of a mailbox. Pairs
/// with [`MAIL_SEE`]: a runner that sees a block sees its message, and all older blocks.
pub const MAIL_PUSH: Edge = Edge::new("mail/push", Ordering::Release);
/// ORDERING(mail): Acquire load or exchange of the word of a mailbox by its runner. Pairs with
/// [`MAIL_PUSH`].
pub const MAIL_SEE: Edge = Edge::new("mail/see", Ordering::Acquire);

/// ORDERING(turn): Release exchange that puts an actor to sleep. Pairs with [`TURN_TAKE`]: the
/// next runner sees everything that this runner did to the actor.
pub const TURN_GIVE: Edge = Edge::new("turn/give", Ordering::Release);
/// ORDERING(turn): Acquire fence of the sender that woke an actor, before the actor's next run.
/// Pairs with [`TURN_GIVE`]: the next runner sees everything that the last one did to the actor.
pub const TURN_TAKE: Edge = Edge::new("turn/take", Ordering::Acquire);

/// ORDERING(latest): Release exchange that puts a message into the slot of a mailbox that keeps
/// only the latest message. Pairs with [`LATEST_TAKE`].
pub const LATEST_PUT: Edge = Edge::new("latest/put", Ordering::Release);
/// ORDERING(latest): Acquire exchange or fence of a thread that has taken a message out of the
/// slot for the latest message: the runner, or a sender that has replaced the message. Pairs
/// with [`LATEST_PUT`]: the thread sees the message.
pub const LATEST_TAKE: Edge = Edge::new("latest/take", Ordering::Acquire);

/// ORDERING(holder): Release subtraction of an address or a hold. Pairs with [`HOLDER_END`] and
/// [`HOLDER_FREE`]: all that the holder did happens before the actor ends and before the cell
/// is freed.
pub const HOLDER_LEAVE: Edge = Edge::new("holder/leave", Ordering::Release);
/// ORDERING(holder): Acquire exchange that ends an actor without addresses. Pairs with
/// [`HOLDER_LEAVE`]: the runner sees all mail that was sent by an address.
pub const HOLDER_END: Edge = Edge::new("holder/end", Ordering::Acquire);
/// ORDERING(holder): Acquire load by the last holder, which frees the cell. Pairs with
/// [`HOLDER_LEAVE`].
pub const HOLDER_FREE: Edge = Edge::new("holder/free", Ordering::Acquire);

/// ORDERING(pending): Release operation that clears the bit which marks an actor's last-address
/// block as sent. Pairs with [`PENDING_SET`]: the runner has finished with the block before the
/// block is sent again.
pub const PENDING_CLEAR: Edge = Edge::new("pending/clear", Ordering::Release);
/// ORDERING(pending): Acquire exchange that sets the bit which marks an actor's last-address block
/// as sent. Pairs with [`PENDING_CLEAR`].
pub const PENDING_SET: Edge = Edge::new("pending/set", Ordering::Acquire);

/// ORDERING(depot): Release exchange that puts a magazine (an array of free blocks) on a stack of
/// the depot. Pairs with [`DEPOT_POP`]: a thread that takes the magazine sees the blocks in it.
pub const DEPOT_PUSH: Edge = Edge::new("depot/push", Ordering::Release);
/// ORDERING(depot): Acquire load of the top of a stack of the depot. Pairs with [`DEPOT_PUSH`].
pub const DEPOT_POP: Edge = Edge::new("depot/pop", Ordering::Acquire);

/// ORDERING(answer): Release exchange that publishes an answer, or publishes that there will be
/// none. Pairs with [`ANSWER_SEE`]: an asker that sees the new state sees the answer.
pub const ANSWER_GIVE: Edge = Edge::new("answer/give", Ordering::Release);
/// ORDERING(answer): Acquire load of the state by the asker, or its fence after the exchange by
/// which it gives up its end. Pairs with [`ANSWER_GIVE`].
pub const ANSWER_SEE: Edge = Edge::new("answer/see", Ordering::Acquire);

/// ORDERING(waker): Release exchange by which the asker registers its waker in an answer. Pairs
/// with [`WAKER_TAKE`]: the replier sees the waker.
pub const WAKER_PUT: Edge = Edge::new("waker/put", Ordering::Release);
/// ORDERING(waker): Acquire exchange by which the replier takes the asker's waker out of an answer.
/// Pairs with [`WAKER_PUT`].
pub const WAKER_TAKE: Edge = Edge::new("waker/take", Ordering::Acquire);

/// ORDERING(cancel): Release exchange by which the asker gives up its end of an answer. Pairs with
/// [`CANCEL_SEE`]: the asker's accesses to the memory happen before that memory is freed.
pub const CANCEL_LEAVE: Edge = Edge::new("cancel/leave", Ordering::Release);
/// ORDERING(cancel): Acquire fence before the replier frees an answer whose asker has left.
/// Pairs with [`CANCEL_LEAVE`].
pub const CANCEL_SEE: Edge = Edge::new("cancel/see", Ordering::Acquire);

/// The edges of mailboxes, of the blocks in them, and of answers.
pub const MAILBOX_EDGES: [Edge; 19] = [
    MAIL_PUSH,
    MAIL_SEE,
    TURN_GIVE,
    TURN_TAKE,
    LATEST_PUT,
    LATEST_TAKE,
    HOLDER_LEAVE,
    HOLDER_END,
    HOLDER_FREE,
    PENDING_CLEAR,
    PENDING_SET,
    DEPOT_PUSH,
    DEPOT_POP,
    ANSWER_GIVE,
    ANSWER_SEE,
    WAKER_PUT,
    WAKER_TAKE,
    CANCEL_LEAVE,
    CANCEL_SEE,
];
