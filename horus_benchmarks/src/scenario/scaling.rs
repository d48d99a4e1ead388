//! Many publishers and subscribers of one topic, each a thread or a process with a CPU of its own,
//! as far as there are any.
//!
//! Every subscriber gets every message, or counts it as lost: a message counts once for each of
//! them.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use horus_core::TopicError;
use horus_core::topic::{Publisher, Qos, Subscriber, Topic, TopicBuilder};
use horus_shm::{Namespace, NamespaceError};
use serde::{Deserialize, Serialize};

use crate::measure::payload::{Corrupt, Payload};
use crate::measure::tsc::TickSource;
use crate::measure::wait::Watch;
use crate::run::child::{ChildContext, ChildSpec};
use crate::run::namespace::PrivateNamespace;
use crate::run::peer::{self, Peer, PeerError};
use crate::transport::packet::Packet16;

/// The role of a child process that publishes or subscribes; serve it with [`serve_child`].
pub const SCALING_ROLE: &str = "scaling";

/// Messages of each publisher that the topic holds.
pub const CAPACITY: u64 = 1024;

/// How many publishers and subscribers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Crowd {
    /// Publishers.
    pub producers: usize,
    /// Subscribers.
    pub consumers: usize,
}

impl Crowd {
    /// Those of the sweep, the one first that the others are compared with.
    pub const ALL: [Crowd; 12] = {
        const fn of(producers: usize, consumers: usize) -> Crowd {
            Crowd { producers, consumers }
        }
        [
            of(1, 1),
            of(2, 1),
            of(3, 1),
            of(4, 1),
            of(6, 1),
            of(8, 1),
            of(1, 2),
            of(1, 4),
            of(1, 8),
            of(2, 2),
            of(4, 4),
            of(8, 8),
        ]
    };

    /// All of them.
    pub const fn members(self) -> usize {
        self.producers + self.consumers
    }

    /// As it is written in ids: `2p1c`.
    pub fn id(self) -> String {
        format!("{}p{}c", self.producers, self.consumers)
    }
}

/// Whether they share a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Members {
    /// Threads of one process.
    Threads,
    /// A process each.
    Processes,
}

impl Members {
    /// As it is written in ids.
    pub const fn id(self) -> &'static str {
        match self {
            Members::Threads => "threads",
            Members::Processes => "processes",
        }
    }
}

/// Why a crowd could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScalingError {
    /// There is no namespace.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A member failed.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A member answered something else.
    #[error("an answer to another job: {0}")]
    Answer(String),
}

/// What a member is told.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Job {
    /// Publish on the topic of this number.
    Publish(u64),
    /// Subscribe to it.
    Subscribe(u64),
    /// Send as many messages as the plan says, as publisher `index`.
    Send { index: usize, plan: Plan },
    /// Receive what all publishers send.
    Receive(Plan),
    /// Give the end back.
    Close,
}

/// One stream.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Plan {
    producers: usize,
    /// Of each publisher.
    messages: u64,
    source: TickSource,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Answer {
    Done,
    Sent(u64),
    Received(Received),
}

/// What one subscriber saw of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Received {
    received: u64,
    lost: u64,
    /// From its first message to its last one.
    elapsed_ticks: u64,
}

/// What a crowd did in one stream; a message counts once for each subscriber.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delivered {
    /// Sent, times subscribers.
    pub sent: u64,
    /// Received and verified by all of them.
    pub received: u64,
    /// Lost by all of them.
    pub lost: u64,
    /// Ticks of the subscriber that took longest.
    pub elapsed_ticks: u64,
}

/// The members of a crowd. Each sleeps until it is told something.
pub struct Crew {
    crowd: Crowd,
    producers: Vec<Peer<Job, Answer>>,
    consumers: Vec<Peer<Job, Answer>>,
    source: TickSource,
    opened: u64,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Crew").field("crowd", &self.crowd).finish_non_exhaustive()
    }
}

impl Crew {
    /// Starts all members, pinned to `cpus` in turn; where these are not enough, those that wait
    /// give theirs away.
    ///
    /// # Panics
    ///
    /// If there are no CPUs.
    pub fn new(
        kind: Members,
        crowd: Crowd,
        cpus: &[usize],
        source: TickSource,
        private: &PrivateNamespace,
    ) -> Result<Crew, ScalingError> {
        let (namespace, env) = (private.open()?, &private.environment());
        let share_cpu = crowd.members() > cpus.len();
        let member = |number: usize| -> Result<Peer<Job, Answer>, PeerError> {
            let cpu = cpus[number % cpus.len()];
            match kind {
                Members::Threads => {
                    let mut member = Member::new(&namespace);
                    Peer::thread(cpu, share_cpu, || {
                        move |job, watch: &Watch| member.answer(job, watch)
                    })
                }
                Members::Processes => {
                    let role = SCALING_ROLE;
                    Peer::process(&ChildSpec { role, cpu, share_cpu, memory: None, env })
                }
            }
        };
        let producers = (0..crowd.producers).map(&member).collect::<Result<_, _>>()?;
        let consumers =
            (crowd.producers..crowd.members()).map(&member).collect::<Result<_, _>>()?;
        // WHY from the time on: crews share a namespace, and no topic is to be taken for another.
        let opened = source.start().0;
        Ok(Crew { crowd, producers, consumers, source, opened })
    }

    /// One stream: `messages` of each publisher, on a new topic.
    pub fn stream(&mut self, messages: u64) -> Result<Delivered, ScalingError> {
        self.opened += 1;
        let (number, source) = (self.opened, self.source);
        let plan = Plan { producers: self.crowd.producers, messages, source };
        // WHY publishers first, and all subscribers before anything is sent: a subscriber gets
        // what is sent after it joined.
        for member in &mut self.producers {
            member.call(Job::Publish(number))?;
        }
        for member in &mut self.consumers {
            member.call(Job::Subscribe(number))?;
        }
        for member in &mut self.consumers {
            member.start(Job::Receive(plan))?;
        }
        for (index, member) in self.producers.iter_mut().enumerate() {
            member.start(Job::Send { index, plan })?;
        }
        let mut all = Delivered { sent: 0, received: 0, lost: 0, elapsed_ticks: 0 };
        for member in self.producers.iter_mut().chain(&mut self.consumers) {
            match member.finish()? {
                Answer::Sent(messages) => all.sent += messages * self.crowd.consumers as u64,
                Answer::Received(one) => {
                    all.received += one.received;
                    all.lost += one.lost;
                    all.elapsed_ticks = all.elapsed_ticks.max(one.elapsed_ticks);
                }
                Answer::Done => return Err(ScalingError::Answer("done".to_owned())),
            }
        }
        for member in self.producers.iter_mut().chain(&mut self.consumers) {
            member.call(Job::Close)?;
        }
        Ok(all)
    }
}

/// Serves [`SCALING_ROLE`] in a child process until the parent hangs up.
pub fn serve_child(context: &ChildContext) -> ExitCode {
    peer::serve(context, || {
        let mut member = Member::new(&Namespace::current()?);
        Ok(move |job, watch: &Watch| member.answer(job, watch))
    })
}

/// A publisher or a subscriber, or neither.
struct Member {
    namespace: Arc<Namespace>,
    publisher: Option<Publisher<Packet16>>,
    subscriber: Option<Subscriber<Packet16>>,
}

impl Member {
    fn new(namespace: &Arc<Namespace>) -> Member {
        Member { namespace: Arc::clone(namespace), publisher: None, subscriber: None }
    }

    fn answer(&mut self, job: Job, watch: &Watch) -> Result<Answer, String> {
        match job {
            Job::Publish(number) => self.publish(number).map_err(|error| error.to_string())?,
            Job::Subscribe(number) => self.subscribe(number).map_err(|error| error.to_string())?,
            Job::Send { index, plan } => return self.send(index, plan).map(Answer::Sent),
            Job::Receive(plan) => return self.receive(plan, watch).map(Answer::Received),
            Job::Close => (self.publisher, self.subscriber) = (None, None),
        }
        Ok(Answer::Done)
    }

    fn publish(&mut self, number: u64) -> Result<(), TopicError> {
        self.publisher = Some(topic(number, &self.namespace).publisher()?);
        Ok(())
    }

    fn subscribe(&mut self, number: u64) -> Result<(), TopicError> {
        self.subscriber = Some(topic(number, &self.namespace).subscriber()?);
        Ok(())
    }

    /// Sends messages whose numbers say of whom they are.
    fn send(&mut self, index: usize, plan: Plan) -> Result<u64, String> {
        let publisher = self.publisher.as_mut().ok_or("this member does not publish")?;
        for number in 0..plan.messages {
            let seq = 1 + index as u64 + number * plan.producers as u64;
            publisher.send(Packet16::compose(seq)).map_err(|error| format!("{error:?}"))?;
        }
        Ok(plan.messages)
    }

    fn receive(&mut self, plan: Plan, watch: &Watch) -> Result<Received, String> {
        let subscriber = self.subscriber.as_mut().ok_or("this member does not subscribe")?;
        let mut ledger = Ledger::new(plan);
        let mut message = Packet16::compose(0);
        let mut start = None;
        while ledger.received + ledger.lost < ledger.expected {
            watch
                .spin_until(|| subscriber.recv_into(&mut message).then_some(()))
                .map_err(|error| error.to_string())?;
            start.get_or_insert_with(|| plan.source.start());
            ledger.enter(&message).map_err(|error| error.to_string())?;
        }
        let end = plan.source.stop();
        let (received, lost) = (ledger.received, ledger.lost);
        if lost != subscriber.lost() {
            return Err(format!("{lost} did not arrive, {} counted as lost", subscriber.lost()));
        }
        let elapsed_ticks = start.map_or(0, |start| end.since(start));
        Ok(Received { received, lost, elapsed_ticks })
    }
}

fn topic(number: u64, namespace: &Arc<Namespace>) -> TopicBuilder<Packet16> {
    let builder = Topic::<Packet16>::builder(&format!("scaling/{number}")).namespace(namespace);
    builder.qos(Qos::new().capacity(CAPACITY))
}

/// What became of the messages of all publishers.
struct Ledger {
    /// By publisher: number of its next message.
    due: Vec<u64>,
    expected: u64,
    received: u64,
    lost: u64,
}

impl Ledger {
    fn new(plan: Plan) -> Ledger {
        let producers = plan.producers as u64;
        let expected = producers * plan.messages;
        Ledger { due: (1..=producers).collect(), expected, received: 0, lost: 0 }
    }

    /// Verifies a message and books it, and the gap before it as lost.
    #[inline(always)]
    fn enter(&mut self, message: &Packet16) -> Result<(), Corrupt> {
        let (seq, producers) = (message.seq(), self.due.len() as u64);
        let due = &mut self.due[(seq.wrapping_sub(1) % producers) as usize];
        message.check(seq)?;
        if seq < *due || seq > self.expected {
            return Err(Corrupt { expected_seq: *due, found_seq: seq });
        }
        self.received += 1;
        self.lost += (seq - *due) / producers;
        *due = seq + producers;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_of_threads_receives_or_loses_what_it_sends() {
        let private = PrivateNamespace::create().unwrap();
        let cpus = crate::measure::pin::allowed_cpus().unwrap();
        for (producers, consumers) in [(1, 1), (3, 2)] {
            let crowd = Crowd { producers, consumers };
            let source = TickSource::detect();
            let mut crew = Crew::new(Members::Threads, crowd, &cpus, source, &private).unwrap();
            for _ in 0..2 {
                let all = crew.stream(2000).unwrap();
                assert_eq!(all.sent, (2000 * producers * consumers) as u64);
                assert_eq!(all.sent, all.received + all.lost);
                assert!(all.received > 0);
            }
        }
    }

    #[test]
    fn what_comes_twice_or_from_nobody_is_corrupt() {
        let source = TickSource::detect();
        let mut ledger = Ledger::new(Plan { producers: 2, messages: 3, source });
        for seq in [1, 2, 4, 5] {
            ledger.enter(&Packet16::compose(seq)).unwrap();
        }
        assert_eq!((ledger.received, ledger.lost), (4, 1));
        assert!(ledger.enter(&Packet16::compose(4)).is_err());
        assert!(ledger.enter(&Packet16::compose(8)).is_err());
    }
}
