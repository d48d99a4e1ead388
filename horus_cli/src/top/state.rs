//! The state of `horus top`, and its reactions to keys. This module neither reads topics nor draws
//! the screen.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::ListState;

use super::history::RateHistory;
use crate::output::Cell;
use crate::sample::{Node, Sample, SchedulerEvent, Topic};

/// Maximum number of events that are kept. The same limit applies to the messages of a topic.
const LINES_MAX: usize = 200;

/// Number of rows by which the keys page up and page down move the selection.
const PAGE_ROWS: isize = 10;

/// A part of the screen with a table in which the user can select a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pane {
    Nodes,
    Topics,
}

/// The mode of `horus top`, which determines what a key does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyMode {
    Browse,
    /// The user is typing the text of the filter.
    Filter,
    /// The user has to confirm this command. The key `y` sends it; any other key discards it.
    Confirm(NodeCommand),
    Help,
}

/// A command that the user wants to send to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeCommand {
    pub(super) verb: NodeCommandVerb,
    pub(super) scheduler: String,
    pub(super) node: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeCommandVerb {
    Pause,
    Resume,
}

/// The action that a key requests, if the state cannot perform it alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyRequest {
    Nothing,
    Quit,
    /// Suspend the process, as Ctrl-Z does.
    Suspend,
    Send(NodeCommand),
    /// Write the newest sample to a file.
    Save,
}

/// The node or topic whose details fill the screen, in place of the panes.
#[derive(Debug)]
pub(super) enum ShownDetails {
    Node(String),
    Topic(TopicDetails),
}

/// The details of a topic: its last messages. Unless `echoes_only` is true, they also include its
/// settings and participants.
#[derive(Debug)]
pub(super) struct TopicDetails {
    pub(super) name: String,
    pub(super) echoes_only: bool,
    pub(super) description: Vec<Vec<Cell>>,
    pub(super) messages: VecDeque<String>,
}

/// The selected row of a pane, and the order of the pane's rows. The order is an index into
/// [`NODE_ORDERS`] or [`TOPIC_ORDERS`].
#[derive(Debug, Default)]
pub(super) struct RowSelection {
    /// The index of the selected row, and the index of the first visible row.
    pub(super) list: ListState,
    /// The name of the selected row; `None` if no row is selected. The row is found by its name
    /// after rows have moved.
    name: Option<String>,
    order: usize,
}

/// A name for an order of rows, and a function that compares two rows.
type NamedOrder<T> = (&'static str, fn(&T, &T) -> Ordering);

const NODE_ORDERS: [NamedOrder<Node>; 5] = [
    ("name", |_, _| Ordering::Equal),
    ("p99", |a, b| b.metrics.p99_ns.cmp(&a.metrics.p99_ns)),
    ("lateness", |a, b| {
        b.metrics.lateness_p99_ns.cmp(&a.metrics.lateness_p99_ns)
    }),
    ("misses", |a, b| b.metrics.misses.cmp(&a.metrics.misses)),
    ("rate", |a, b| {
        compare_descending(a.metrics.rate_hz, b.metrics.rate_hz)
    }),
];

const TOPIC_ORDERS: [NamedOrder<Topic>; 5] = [
    ("name", |_, _| Ordering::Equal),
    ("rate", |a, b| {
        compare_descending(Some(a.rate_hz()), Some(b.rate_hz()))
    }),
    ("bytes", |a, b| {
        compare_descending(a.bytes_per_second, b.bytes_per_second)
    }),
    ("loss", |a, b| {
        compare_descending(Some(a.lost_per_second), Some(b.lost_per_second))
    }),
    ("p99", |a, b| {
        let p99 = |topic: &Topic| topic.latency.and_then(|latency| latency.p99_ns);
        p99(b).cmp(&p99(a))
    }),
];

fn compare_descending(a: Option<f64>, b: Option<f64>) -> Ordering {
    let rank = |value: Option<f64>| value.unwrap_or(-1.0);
    rank(b).total_cmp(&rank(a))
}

/// The data that `horus top` shows: the last sample, the last events, and the choices of the user.
#[derive(Debug)]
pub(super) struct TopState {
    pub(super) sample: Sample,
    pub(super) events: VecDeque<SchedulerEvent>,
    pub(super) pane: Pane,
    pub(super) nodes: RowSelection,
    pub(super) topics: RowSelection,
    pub(super) filter: String,
    pub(super) mode: KeyMode,
    pub(super) details: Option<ShownDetails>,
    /// A text for the user about the result of the last request, such as a command; `None` if there
    /// is none.
    pub(super) message: Option<String>,
    /// Number of samples per second. The screen shows it.
    pub(super) hertz: f64,
    histories: BTreeMap<String, RateHistory>,
}

impl TopState {
    pub(super) fn new(hertz: f64) -> Self {
        Self {
            sample: Sample::default(),
            events: VecDeque::new(),
            pane: Pane::Topics,
            nodes: RowSelection::default(),
            topics: RowSelection::default(),
            filter: String::new(),
            mode: KeyMode::Browse,
            details: None,
            message: None,
            hertz,
            histories: BTreeMap::new(),
        }
    }

    /// Replaces the sample by `sample`, and adds its events and rates to those that are kept.
    pub(super) fn update(&mut self, mut sample: Sample) {
        self.events.extend(sample.events.drain(..));
        drop_lines_beyond_limit(&mut self.events);
        let is_there = |name: &String| sample.topics.iter().any(|topic| topic.name == *name);
        self.histories.retain(|name, _| is_there(name));
        for topic in &sample.topics {
            let history = self.histories.entry(topic.name.clone()).or_default();
            history.add_rate(sample.timestamp_ns, topic.rate_hz());
        }
        self.sample = sample;
        self.reselect_by_name();
    }

    /// Adds messages, as text, to the details of the topic that is shown.
    pub(super) fn add_messages(&mut self, messages: impl IntoIterator<Item = String>) {
        if let Some(ShownDetails::Topic(details)) = &mut self.details {
            details.messages.extend(messages);
            drop_lines_beyond_limit(&mut details.messages);
        }
    }

    /// Returns the details of the topic that is shown; `None` if no topic's details are shown.
    pub(super) fn topic_details(&mut self) -> Option<&mut TopicDetails> {
        match &mut self.details {
            Some(ShownDetails::Topic(details)) => Some(details),
            _ => None,
        }
    }

    /// Returns a text of `width` bars that show the rates of `topic` in the last minute.
    pub(super) fn rate_bars(&self, topic: &str, width: usize) -> String {
        let history = self.histories.get(topic);
        history.map_or_else(String::new, |history| history.rate_bars(width))
    }

    /// Returns the nodes that match the filter, in the order that the user has chosen.
    pub(super) fn shown_nodes(&self) -> Vec<&Node> {
        let compare = NODE_ORDERS[self.nodes.order].1;
        let nodes = self.sample.nodes.iter();
        let mut nodes: Vec<_> = nodes
            .filter(|node| self.matches_filter(&node.path()))
            .collect();
        nodes.sort_by(|a, b| compare(a, b).then_with(|| a.path().cmp(&b.path())));
        nodes
    }

    /// Returns the topics that match the filter, in the order that the user has chosen.
    pub(super) fn shown_topics(&self) -> Vec<&Topic> {
        let compare = TOPIC_ORDERS[self.topics.order].1;
        let is_wanted = |topic: &&Topic| {
            self.matches_filter(&topic.name) || self.matches_filter(&topic.details.message_type)
        };
        let mut topics: Vec<_> = self.sample.topics.iter().filter(is_wanted).collect();
        topics.sort_by(|a, b| compare(a, b).then_with(|| a.name.cmp(&b.name)));
        topics
    }

    /// Returns the name of the order in which the rows of `pane` are sorted.
    pub(super) fn order_name(&self, pane: Pane) -> &'static str {
        match pane {
            Pane::Nodes => NODE_ORDERS[self.nodes.order].0,
            Pane::Topics => TOPIC_ORDERS[self.topics.order].0,
        }
    }

    /// Handles a key: changes the state, and returns the action that the caller has to perform.
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> KeyRequest {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => KeyRequest::Quit,
                KeyCode::Char('z') => KeyRequest::Suspend,
                _ => KeyRequest::Nothing,
            };
        }
        match std::mem::replace(&mut self.mode, KeyMode::Browse) {
            KeyMode::Browse => {
                self.message = None;
                self.handle_browsing_key(key.code)
            }
            KeyMode::Filter => {
                self.edit_filter(key.code);
                KeyRequest::Nothing
            }
            KeyMode::Confirm(action) if key.code == KeyCode::Char('y') => KeyRequest::Send(action),
            KeyMode::Confirm(_) | KeyMode::Help => KeyRequest::Nothing,
        }
    }

    fn handle_browsing_key(&mut self, key: KeyCode) -> KeyRequest {
        match key {
            KeyCode::Char('q') => return KeyRequest::Quit,
            KeyCode::Char('w') => return KeyRequest::Save,
            KeyCode::Char('?') => self.mode = KeyMode::Help,
            KeyCode::Esc | KeyCode::Backspace if self.details.is_some() => self.details = None,
            KeyCode::Esc => self.set_filter(String::new()),
            _ if self.details.is_some() => {}
            KeyCode::Char('/') => self.mode = KeyMode::Filter,
            KeyCode::Tab | KeyCode::BackTab => {
                self.pane = match self.pane {
                    Pane::Nodes => Pane::Topics,
                    Pane::Topics => Pane::Nodes,
                };
            }
            KeyCode::Up | KeyCode::Char('k') => self.move_selection(-1),
            KeyCode::Down | KeyCode::Char('j') => self.move_selection(1),
            KeyCode::PageUp => self.move_selection(-PAGE_ROWS),
            KeyCode::PageDown => self.move_selection(PAGE_ROWS),
            KeyCode::Home => self.move_selection(isize::MIN),
            KeyCode::End => self.move_selection(isize::MAX),
            KeyCode::Char('s') => self.select_next_order(),
            KeyCode::Enter => self.open_details(false),
            KeyCode::Char('e') => self.open_details(true),
            KeyCode::Char('p') => self.ask_to_confirm(NodeCommandVerb::Pause),
            KeyCode::Char('r') => self.ask_to_confirm(NodeCommandVerb::Resume),
            _ => {}
        }
        KeyRequest::Nothing
    }

    fn edit_filter(&mut self, key: KeyCode) {
        let mut filter = std::mem::take(&mut self.filter);
        self.mode = KeyMode::Filter;
        match key {
            KeyCode::Enter => self.mode = KeyMode::Browse,
            KeyCode::Esc => {
                filter.clear();
                self.mode = KeyMode::Browse;
            }
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Char(c) => filter.push(c),
            _ => {}
        }
        self.set_filter(filter);
    }

    fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.reselect_by_name();
    }

    fn select_next_order(&mut self) {
        match self.pane {
            Pane::Nodes => self.nodes.order = (self.nodes.order + 1) % NODE_ORDERS.len(),
            Pane::Topics => self.topics.order = (self.topics.order + 1) % TOPIC_ORDERS.len(),
        }
        self.reselect_by_name();
    }

    fn open_details(&mut self, echoes_only: bool) {
        let topic = self.topics.name.clone();
        self.details = match self.pane {
            Pane::Nodes if echoes_only => None,
            Pane::Nodes => self.nodes.name.clone().map(ShownDetails::Node),
            Pane::Topics => topic.map(|name| {
                ShownDetails::Topic(TopicDetails {
                    name,
                    echoes_only,
                    description: Vec::new(),
                    messages: VecDeque::new(),
                })
            }),
        };
    }

    /// Asks the user to confirm that a command is sent to the selected node.
    fn ask_to_confirm(&mut self, verb: NodeCommandVerb) {
        let name = self.nodes.name.as_ref();
        let nodes = self.sample.nodes.iter();
        let selected = nodes.filter(|_| self.pane == Pane::Nodes);
        let selected = selected.map(|node| (node.path(), &node.metrics));
        let found = selected.into_iter().find(|(path, _)| Some(path) == name);
        if let Some((_, metrics)) = found {
            self.mode = KeyMode::Confirm(NodeCommand {
                verb,
                scheduler: metrics.scheduler.clone(),
                node: metrics.node.clone(),
            });
        }
    }

    fn matches_filter(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    fn row_names(&self, pane: Pane) -> Vec<String> {
        match pane {
            Pane::Nodes => self.shown_nodes().iter().map(|node| node.path()).collect(),
            Pane::Topics => {
                let topics = self.shown_topics();
                topics.iter().map(|topic| topic.name.clone()).collect()
            }
        }
    }

    const fn selection_mut(&mut self, pane: Pane) -> &mut RowSelection {
        match pane {
            Pane::Nodes => &mut self.nodes,
            Pane::Topics => &mut self.topics,
        }
    }

    fn move_selection(&mut self, row_count: isize) {
        let pane = self.pane;
        let names = self.row_names(pane);
        let rows = self.selection_mut(pane);
        let index = rows.list.selected().unwrap_or(0);
        rows.select(index.saturating_add_signed(row_count), &names);
    }

    /// Finds the selected rows by their names and selects them again. Must be called after rows
    /// have moved or were filtered.
    fn reselect_by_name(&mut self) {
        for pane in [Pane::Nodes, Pane::Topics] {
            let names = self.row_names(pane);
            let rows = self.selection_mut(pane);
            let same = rows.name.as_ref();
            let same = same.and_then(|name| names.iter().position(|other| other == name));
            let index = same.or(rows.list.selected()).unwrap_or(0);
            rows.select(index, &names);
        }
    }
}

impl RowSelection {
    /// Selects the row at `index`, or the last row if there are fewer rows. `names` are the names
    /// of all rows.
    fn select(&mut self, index: usize, names: &[String]) {
        let index = (!names.is_empty()).then(|| index.min(names.len().saturating_sub(1)));
        self.name = index.map(|index| names[index].clone());
        self.list.select(index);
    }
}

fn drop_lines_beyond_limit<T>(lines: &mut VecDeque<T>) {
    let excess = lines.len().saturating_sub(LINES_MAX);
    lines.drain(..excess);
}
