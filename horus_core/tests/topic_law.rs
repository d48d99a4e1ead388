//! The law of topics: which publishers and subscribers are connected, and the verdict on each of
//! them, is a function of the endpoints that are there. It does not depend on the order in which
//! they were opened, closed, killed and opened again, nor on the processes that have them.
//!
//! The usual run takes some sets of up to four endpoints, others each time, in some orders.
//! `HORUS_TORTURE=1` takes all sets in all orders, and each endpoint in turn as the one that leaves
//! and comes back.

mod actors;
mod law;
mod noise;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use actors::{namespace_in, private_dir, role};
use fastrand::Rng;
use horus_core::namespace::{Namespace, remove_topic};
use horus_core::topic::Reliability;
use horus_testing::PointSample;
use law::{Endpoint, HOST, Hosts, KINDS, Local, Place, Received, Remote, Version, host};
use noise::{Case, result, rounds, seeds};
use tempfile::TempDir;

/// The most endpoints of a set.
const SET_MAX: usize = 4;

/// The usual run takes one of this many sets.
const STRIDE: usize = 3;

/// The verdicts on a subscriber without a publisher that matches, behind the name of the topic.
const UNRELIABLE: &str = "this subscriber requests reliable, and no live publisher of its type \
                          offers that: request best effort, or let a publisher offer reliable";
const OTHER_TYPE: &str = "all live publishers send messages of another type than this subscriber \
                          reads: use the same message in all programs";

/// Not a test: entry point of the re-executed child process; does nothing without a role.
#[test]
fn child_role() {
    if let Some((role, dir)) = role() {
        assert_eq!(role, HOST);
        host(&dir);
    }
}

/// Kinds of endpoints by their index, in ascending order.
type Set = Vec<usize>;

/// Connected pairs and verdicts, as text without an order.
type Cell = String;

/// Returns true if the messages of a publisher reach a subscriber.
fn matches(publisher: usize, subscriber: usize) -> bool {
    let is_reliable =
        |kind: usize| KINDS[kind].qos == KINDS[kind].qos.reliability(Reliability::Reliable);
    is_of_type(publisher, subscriber) && (is_reliable(publisher) || !is_reliable(subscriber))
}

/// Returns true if two endpoints have the same message type, or versions of it of which one has the
/// fields of the other and perhaps more.
fn is_of_type(publisher: usize, subscriber: usize) -> bool {
    let [publisher, subscriber] = [&KINDS[publisher], &KINDS[subscriber]];
    let versions = [publisher.version, subscriber.version];
    let versions_match = versions[0] == versions[1] || versions.contains(&Version::First);
    publisher.is_other == subscriber.is_other && versions_match
}

fn is_first(kind: usize) -> bool {
    KINDS[kind].version == Version::First
}

/// Returns the cell that the law demands for endpoints of these kinds.
fn law_for(kinds: &[usize]) -> Cell {
    let (publishers, subscribers): (Vec<usize>, Vec<usize>) =
        kinds.iter().partition(|&&kind| KINDS[kind].publishes);
    let mut parts = Vec::new();
    for &subscriber in &subscribers {
        let (matched, others): (Vec<usize>, Vec<usize>) = publishers
            .iter()
            .partition(|&&kind| matches(kind, subscriber));
        let is_of_type = |&kind: &usize| is_of_type(kind, subscriber);
        let verdict = if !matched.is_empty() || others.is_empty() {
            ""
        } else if others.iter().any(is_of_type) {
            UNRELIABLE
        } else {
            OTHER_TYPE
        };
        parts.push(part(subscriber, &matched, verdict));
    }
    parts.sort();
    parts.join("; ")
}

/// Returns what a subscriber adds to a cell: the publishers whose messages it gets.
fn part(subscriber: usize, publishers: &[usize], verdict: &str) -> String {
    let mut names: Vec<_> = publishers.iter().map(|&kind| KINDS[kind].name).collect();
    names.sort_unstable();
    let mut text = format!("{} ← {{{}}}", KINDS[subscriber].name, names.join(", "));
    if !verdict.is_empty() {
        write!(text, " ({verdict})").unwrap();
    }
    text
}

/// The change to the endpoints after all were opened.
#[derive(Debug, Clone, Copy)]
enum Change {
    None,
    /// The endpoint at this place of the order is closed and opened again.
    Reopened(usize),
    /// The process of this endpoint is killed, and another one opens it again.
    Killed(usize),
}

/// An endpoint of this process or of another one.
enum End {
    Here(Box<Local>),
    There(Remote),
}

impl End {
    fn endpoint(&mut self) -> &mut dyn Endpoint {
        match self {
            Self::Here(local) => &mut **local,
            Self::There(remote) => remote,
        }
    }
}

/// The place of the runs, and their findings.
struct Court {
    // Before the directory: fields are dropped in this order.
    hosts: Rc<Hosts>,
    namespace: Arc<Namespace>,
    dir: TempDir,
    runs: u64,
    /// The cells of each set, and the first order that led to each cell.
    table: BTreeMap<Set, BTreeMap<Cell, String>>,
}

impl Court {
    fn new() -> Self {
        let dir = private_dir();
        Self {
            hosts: Rc::new(Hosts::new()),
            namespace: namespace_in(dir.path()),
            dir,
            runs: 0,
            table: BTreeMap::new(),
        }
    }

    /// Opens endpoints of these kinds one after another, each in a process of its own if `spread`,
    /// and looks who is connected whenever an endpoint has come or gone.
    fn run(&mut self, order: &[usize], change: Change, spread: bool) {
        self.runs += 1;
        let place = Place {
            topic: format!("t{}", self.runs),
            // WHY: messages with lengths of their own have no versions.
            sized: self.runs.is_multiple_of(2) && order.iter().all(|&kind| is_first(kind)),
        };
        let open = |this: &Self, kind: usize| {
            if spread {
                End::There(this.hosts.open(this.dir.path(), &place, kind))
            } else {
                End::Here(Box::new(Local::open(&this.namespace, &place, &KINDS[kind])))
            }
        };
        let mut ends: Vec<(usize, End)> = Vec::new();
        for &kind in order {
            ends.push((kind, open(self, kind)));
        }
        let names: Vec<_> = order.iter().map(|&kind| KINDS[kind].name).collect();
        let story = format!(
            "{}, {change:?}, spread: {spread}, {place:?}",
            names.join(" then ")
        );
        self.judge(&mut ends, &story);
        let left = match change {
            Change::None => None,
            Change::Reopened(at) => {
                let (kind, end) = ends.remove(at);
                drop(end);
                Some(kind)
            }
            Change::Killed(at) => {
                let (kind, end) = ends.remove(at);
                match end {
                    End::There(remote) => remote.kill(),
                    End::Here(_) => panic!("this process goes on"),
                }
                Some(kind)
            }
        };
        if let Some(kind) = left {
            self.judge(&mut ends, &format!("{story}, left"));
            ends.push((kind, open(self, kind)));
            self.judge(&mut ends, &format!("{story}, back"));
        }
        drop(ends);
        assert!(
            remove_topic(&self.namespace, &place.topic).unwrap(),
            "{story}"
        );
    }

    /// Lets every publisher send a number, and notes which subscribers get it.
    fn judge(&mut self, ends: &mut [(usize, End)], story: &str) {
        for (kind, end) in &mut *ends {
            if !KINDS[*kind].publishes {
                // WHY discarded: history is not part of the law.
                end.endpoint().receive();
            }
        }
        let mut parts = Vec::new();
        for (number, (kind, end)) in ends.iter_mut().enumerate() {
            if KINDS[*kind].publishes {
                let error = end.endpoint().send(number as u64);
                if !error.is_empty() {
                    parts.push(format!("{}: {error}", KINDS[*kind].name));
                }
            }
        }
        let mut set: Set = ends.iter().map(|(kind, _)| *kind).collect();
        for (kind, end) in &mut *ends {
            if KINDS[*kind].publishes {
                continue;
            }
            let Received { numbers, verdict } = end.endpoint().receive();
            let senders: Vec<_> = numbers.iter().map(|&number| set[number as usize]).collect();
            let unique: BTreeSet<_> = numbers.iter().collect();
            assert_eq!(unique.len(), numbers.len(), "a message came twice: {story}");
            let verdict = verdict
                .split_once("': ")
                .map_or(&*verdict, |(_, text)| text);
            parts.push(part(*kind, &senders, verdict));
        }
        parts.sort();
        set.sort_unstable();
        let cells = self.table.entry(set).or_default();
        cells
            .entry(parts.join("; "))
            .or_insert_with(|| story.to_owned());
    }

    /// Checks that each set has one cell, which is the one that the law demands.
    fn verdict(&self) {
        let is_lawful = |(set, cells): (&Set, &BTreeMap<Cell, String>)| {
            cells.len() == 1 && cells.contains_key(&law_for(set))
        };
        let unlawful = self.table.iter().filter(|&row| !is_lawful(row)).count();
        result(
            "topic-law",
            format!(
                "{} sets of up to {SET_MAX} endpoints of {} kinds, {} runs, {unlawful} sets that \
                 depend on the order",
                self.table.len(),
                KINDS.len(),
                self.runs
            ),
        );
        if unlawful == 0 {
            return;
        }
        let mut text = String::new();
        for row in &self.table {
            let names: Vec<_> = row.0.iter().map(|&kind| KINDS[kind].name).collect();
            let mark = if is_lawful(row) { " " } else { "!" };
            writeln!(text, "{mark} {}", names.join(", ")).unwrap();
            for (cell, story) in row.1 {
                writeln!(text, "      {cell}").unwrap();
                if !is_lawful(row) {
                    writeln!(text, "          {story}").unwrap();
                }
            }
            if !is_lawful(row) {
                writeln!(text, "      wanted: {}", law_for(row.0)).unwrap();
            }
        }
        panic!("{unlawful} sets break the law, marked '!':\n{text}");
    }
}

/// Returns all sets of one to [`SET_MAX`] endpoints.
fn sets() -> Vec<Set> {
    let mut all: Vec<Set> = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..SET_MAX {
        let end = all.len();
        for at in begin..end {
            let least = all[at].last().copied().unwrap_or(0);
            for kind in least..KINDS.len() {
                let mut set = all[at].clone();
                set.push(kind);
                all.push(set);
            }
        }
        begin = end;
    }
    all.remove(0);
    all
}

/// Returns all orders of a set, each once.
fn orders(set: &[usize]) -> BTreeSet<Vec<usize>> {
    let Some((&first, rest)) = set.split_first() else {
        return BTreeSet::from([Vec::new()]);
    };
    let mut all = BTreeSet::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut order = order.clone();
            order.insert(at, first);
            all.insert(order);
        }
    }
    all
}

fn is_long() -> bool {
    rounds(0, 1) == 1
}

/// Sets of endpoints of this process.
#[test]
fn the_order_of_endpoints_decides_nothing() {
    let seed = seeds(1).start;
    let _case = Case(seed);
    let mut random = Rng::with_seed(seed);
    let mut court = Court::new();
    for set in PointSample::every(STRIDE).select_items(sets()) {
        if is_long() {
            for order in orders(&set) {
                for at in 0..order.len() {
                    court.run(&order, Change::Reopened(at), false);
                }
            }
        } else {
            let mut order = set.clone();
            random.shuffle(&mut order);
            court.run(&order, Change::Reopened(random.usize(..set.len())), false);
            order.reverse();
            court.run(&order, Change::None, false);
        }
    }
    court.verdict();
}

/// Sets of endpoints that have a process each, of which some are killed.
#[test]
fn the_order_of_processes_decides_nothing() {
    let seed = seeds(1).start;
    let _case = Case(seed);
    let mut random = Rng::with_seed(seed);
    let mut court = Court::new();
    let mut sets = sets();
    random.shuffle(&mut sets);
    sets.truncate(rounds(60, 1000) as usize);
    for mut order in sets {
        random.shuffle(&mut order);
        let at = random.usize(..order.len());
        court.run(&order, Change::Reopened(at), true);
        order.reverse();
        court.run(&order, Change::Killed(at), true);
    }
    court.verdict();
}
