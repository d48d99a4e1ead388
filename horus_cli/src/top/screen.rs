//! The terminal of `horus top`: draws the state, and passes the keys that the user presses to it.

use std::fs::{self, File};
use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use horus_core::introspect::Inspector;
use horus_core::message::timestamp_now_ns;
use horus_core::scheduler::RemoteScheduler;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::style::force_color_output;
use signal_hook::consts::{SIGCONT, SIGTSTP};
use signal_hook::{flag, low_level};

use super::state::{KeyRequest, NodeCommand, NodeCommandVerb, TopState};
use super::terminal::{self, FullScreen};
use super::view;
use crate::context::Context;
use crate::failure::Failure;
use crate::node::remote_failure;
use crate::output::format::date_time;
use crate::output::value::value_text;
use crate::output::{Cell, unbuffered_stdout_and_stderr, with_format_version};
use crate::sample::Sampler;
use crate::topic::echo::{decode_message, message_line};
use crate::topic::info::TopicDescription;
use crate::topic::observer::Observer;

/// Maximum time until the program notices that it has received a signal.
const SIGNAL_CHECK_PERIOD: Duration = Duration::from_millis(50);

/// Largest number of events of the terminal that wait until they are handled.
const WAITING_EVENTS_MAX: usize = 64;

/// A terminal in the mode that a full-screen program needs. When this value is dropped, the
/// terminal is restored.
struct Screen {
    terminal: FullScreen,
    /// The same terminal, without a buffer.
    file: File,
    /// The events of the terminal, such as keys.
    events: Receiver<io::Result<Event>>,
    /// True from the receipt of SIGTSTP, which asks the process to stop, until the process is
    /// suspended.
    stops: Arc<AtomicBool>,
    /// True from the receipt of SIGCONT until the screen is drawn again. WHY: other programs may
    /// have written to the screen while this process was suspended.
    continues: Arc<AtomicBool>,
}

/// The name of a topic whose messages are shown, and the observer that reads them.
type EchoedTopic = (String, Observer);

/// Shows samples on the terminal until a signal is received, the user quits, or the time limit of
/// `--timeout` is over.
pub(super) fn run(
    mut sampler: Sampler,
    period: Duration,
    context: &Context,
) -> Result<(), Failure> {
    let deadline = context.deadline();
    let mut top = TopState::new(1.0 / period.as_secs_f64());
    // WHY before the screen: a failure is reported on a terminal that shows it.
    top.update(sampler.take_sample(context)?);
    // WHY: a second signal would end the process before it has restored the terminal.
    context.stop.catch_all_signals();
    // WHY in both cases: the library of the terminal knows the variable NO_COLOR, but not the
    // option `--color`.
    force_color_output(context.out.is_colored());
    let mut screen = Screen::open().map_err(terminal_failure)?;
    let mut echo = None;
    let mut due = Instant::now() + period;
    let mut is_outdated = true;
    while !context.stop.is_received() && !deadline.is_over() {
        if Instant::now() >= due {
            top.update(sampler.take_sample(context)?);
            // WHY not `due + period`: after a stop, all that was missed would come at once.
            due = Instant::now() + period;
            is_outdated = true;
        }
        // WHY not each time: waiting for signals ends often.
        if std::mem::take(&mut is_outdated) {
            read_details(&mut top, &sampler, &mut echo, context);
            screen.draw(&mut top).map_err(terminal_failure)?;
        }
        let Some(request) = screen
            .wait_for_key_request(&mut top, deadline.or_earlier(due))
            .map_err(terminal_failure)?
        else {
            continue;
        };
        is_outdated = true;
        match request {
            KeyRequest::Quit => break,
            KeyRequest::Send(action) => top.message = Some(send_command(&action, &sampler)),
            KeyRequest::Save => top.message = Some(save_newest_sample(&top)),
            KeyRequest::Suspend => screen.suspend().map_err(terminal_failure)?,
            KeyRequest::Nothing => {}
        }
    }
    Ok(())
}

impl Screen {
    fn open() -> io::Result<Self> {
        let stops = Arc::new(AtomicBool::new(false));
        let continues = Arc::new(AtomicBool::new(false));
        flag::register(SIGTSTP, Arc::clone(&stops))?;
        flag::register(SIGCONT, Arc::clone(&continues))?;
        let [file, _] = unbuffered_stdout_and_stderr()?;
        terminal::leave_full_screen_on_panic(file.try_clone()?);
        let terminal = terminal::enter_full_screen(&file)?;
        let events = read_events().inspect_err(|_| {
            // WHY the error is ignored: the other one is reported.
            let _ = terminal::leave_full_screen(&file);
        })?;
        Ok(Self {
            terminal,
            file,
            events,
            stops,
            continues,
        })
    }

    fn draw(&mut self, top: &mut TopState) -> io::Result<()> {
        self.terminal.draw(|frame| view::draw_screen(frame, top))?;
        Ok(())
    }

    /// Waits for an event of the terminal, such as a key, until `due` or until a signal is
    /// received. Returns `None` if nothing has happened that changes the screen.
    fn wait_for_key_request(
        &mut self,
        top: &mut TopState,
        due: Instant,
    ) -> io::Result<Option<KeyRequest>> {
        // Relaxed: each flag stands alone.
        if self.stops.swap(false, Ordering::Relaxed) {
            return Ok(Some(KeyRequest::Suspend));
        }
        if self.continues.swap(false, Ordering::Relaxed) {
            // WHY not `clear`: it reads the position of the cursor, but another thread reads all
            // that the terminal sends.
            self.restore_terminal()?;
            self.terminal = terminal::enter_full_screen(&self.file)?;
            return Ok(Some(KeyRequest::Nothing));
        }
        let left = due.saturating_duration_since(Instant::now());
        let event = match self.events.recv_timeout(left.min(SIGNAL_CHECK_PERIOD)) {
            Ok(event) => event?,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        Ok(Some(match event {
            Event::Key(key) if key.kind == KeyEventKind::Press => top.handle_key(key),
            _ => KeyRequest::Nothing,
        }))
    }

    /// Restores the terminal.
    fn restore_terminal(&mut self) -> io::Result<()> {
        // WHY first: if the terminal is gone, its writer accepts all bytes afterwards, so that the
        // library finds no error when it shows the cursor once more.
        let shown = self.terminal.show_cursor();
        terminal::leave_full_screen(&self.file)?;
        shown
    }

    /// Restores the terminal, and suspends this process until SIGCONT continues it.
    fn suspend(&mut self) -> io::Result<()> {
        self.restore_terminal()?;
        low_level::emulate_default_handler(SIGTSTP)?;
        self.terminal = terminal::enter_full_screen(&self.file)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // WHY the error is ignored: a terminal that is gone needs nothing.
        let _ = self.restore_terminal();
    }
}

/// Starts a thread that reads the events of the terminal, and returns the end of a channel that
/// receives them. The thread runs until the process ends.
///
/// WHY a thread: the library that reads events never returns once the terminal was closed, and the
/// command has to end then.
fn read_events() -> io::Result<Receiver<io::Result<Event>>> {
    let (sender, events) = sync_channel(WAITING_EVENTS_MAX);
    let read = move || {
        loop {
            let event = event::read();
            let is_last = event.is_err();
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("terminal".into()).spawn(read)?;
    Ok(events)
}

fn terminal_failure(error: io::Error) -> Failure {
    // WHY not by the error: each system call has another one for a terminal that was closed, and
    // the process may get SIGHUP later.
    if !io::stdout().is_terminal() {
        return Failure::closed_terminal();
    }
    Failure::system(format_args!("cannot use the terminal: {error}"))
}

/// Reads the participants and the newest message of the topic whose details are shown. Closes the
/// observer if no topic's details are shown.
fn read_details(
    top: &mut TopState,
    sampler: &Sampler,
    echo: &mut Option<EchoedTopic>,
    context: &Context,
) {
    let (Some(details), Some(namespace)) = (top.topic_details(), sampler.namespace()) else {
        *echo = None;
        return;
    };
    let name = details.name.clone();
    let topic = Inspector::open_in(namespace, &name);
    details.description = topic.map_or_else(
        |_| vec![vec![Cell::from("it is gone")]],
        |topic| description_rows(TopicDescription::of(&name, &topic)),
    );
    let is_open = echo.as_ref();
    let is_open =
        is_open.is_some_and(|(of, observer)| *of == name && observer.reads_topic_of(namespace));
    if !is_open {
        let observer = Observer::open(context, namespace, &name).ok();
        *echo = observer.map(|observer| (name, observer));
    }
    let newest = echo
        .as_mut()
        .and_then(|(_, observer)| newest_message_text(observer));
    top.add_messages(newest);
}

/// Returns the rows of the tables in a topic's description.
fn description_rows(description: TopicDescription) -> Vec<Vec<Cell>> {
    let settings = description.lines.into_iter().map(|line| vec![line.into()]);
    let tables = description.tables.iter();
    settings
        .chain(tables.flat_map(|table| table.fitted_rows(None)))
        .collect()
}

/// Returns the newest message of a topic as text; `None` if there is no message that was not
/// already returned.
fn newest_message_text(observer: &mut Observer) -> Option<String> {
    let subscriber = observer.subscriber()?;
    let kind = subscriber.message_type().clone();
    let message = subscriber.latest_bytes()?;
    let value = decode_message(&kind, message)?;
    Some(message_line(
        subscriber.last_arrival(),
        &value_text(&value, false),
    ))
}

/// Sends a command to a node, and returns a text for the user about the result.
fn send_command(action: &NodeCommand, sampler: &Sampler) -> String {
    let NodeCommand {
        verb,
        scheduler,
        node,
    } = action;
    let Some(namespace) = sampler.namespace() else {
        return "the namespace is gone".to_owned();
    };
    let sent = RemoteScheduler::open(namespace, scheduler).and_then(|mut remote| match verb {
        NodeCommandVerb::Pause => remote.pause(node),
        NodeCommandVerb::Resume => remote.resume(node),
    });
    match sent.map_err(remote_failure) {
        Ok(()) => format!("sent to {scheduler}/{node}"),
        Err(failure) => failure.text().to_owned(),
    }
}

/// Writes the newest sample to a file in the current directory, and returns a text for the user
/// about the result.
fn save_newest_sample(top: &TopState) -> String {
    let time = date_time(timestamp_now_ns()).replace(':', "");
    let path = format!("horus-top-{time}.json");
    let written = serde_json::to_vec_pretty(&with_format_version(&top.sample))
        .map_err(io::Error::from)
        .and_then(|json| fs::write(&path, json));
    match written {
        Ok(()) => format!("written into {path}"),
        Err(error) => format!("cannot write {path}: {error}"),
    }
}
