//! The command `horus estop`: sends an emergency stop to all schedulers of the namespace.

use std::sync::Arc;

use clap::{Args, Subcommand};
use horus_core::introspect::{Inspector, LivenessCache};
use horus_core::message::{EmergencyStop, Text};
use horus_core::namespace::{Namespace, NamespaceConfig, remove_topic, remove_topic_if_unused};
use horus_core::scheduler::{EMERGENCY_STOP_TOOL_KEY, EMERGENCY_STOP_TOPIC, SchedulerInfo};
use horus_core::topic::{Publisher, Qos, Topic};
use horus_core::{OpenError, TopicError};
use serde::Serialize;

use crate::context::{Context, namespace_path};
use crate::doctor::frozen::is_suspended;
use crate::doctor::removed::{removed_namespaces_of_this_name_text, removed_namespaces_text};
use crate::failure::{Failure, error_chain_text};
use crate::namespace::live::{live_schedulers, other_namespaces_schedulers_text, scheduler_names};
use crate::namespace::other_processes;
use crate::output::Tone;
use crate::output::format::{date_time, duration, visible};
use crate::process::ProcessKey;
use crate::scheduler::liveness::Liveness;

/// Value of the field `source` in the emergency stops that this command sends.
const STOP_SOURCE: &str = "horus estop";

/// The commands of `horus estop`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Stop the ticks of all nodes, which enter their safe states, until release
    ///
    /// A node that defines no safe state, such as a closure, only stops to tick, and
    /// what it has commanded last stays in force. The stop is kept: it also holds
    /// schedulers that start later. The exit code is 0 if it was sent, is kept, and
    /// each scheduler has published a status within the last 2 seconds. The command
    /// does not wait until nodes are safe: see horus node list. The exit code is 3
    /// if no scheduler runs in the namespace, 1 if one does not respond, and 4 if a
    /// release with a later time counts instead.
    Engage(ReasonArguments),
    /// Release the emergency stop
    ///
    /// The exit code is 3 if there is nothing to release: no scheduler runs in the
    /// namespace, and no stop is kept there. It is 4 if a stop with a later time
    /// counts instead.
    Release(ReasonArguments),
    /// Show whether the emergency stop is engaged, by whom and why
    ///
    /// The exit code is 1 if it is engaged.
    Status,
}

/// The arguments of a command that takes a reason.
#[derive(Debug, Args)]
pub(crate) struct ReasonArguments {
    /// Reason, as a text for people
    #[arg(long, default_value = "", hide_default_value = true)]
    reason: String,
}

#[derive(Debug, Serialize)]
struct StopStatus<'a> {
    engaged: bool,
    timestamp_ns: Option<u64>,
    source: Option<String>,
    reason: Option<String>,
    namespace: &'a str,
    /// The names of the live schedulers of the namespace, which receive each emergency stop.
    schedulers: Vec<&'a str>,
}

impl Command {
    /// Executes the command.
    pub(crate) fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self {
            Self::Engage(ReasonArguments { reason }) => engage(&reason, context),
            Self::Release(ReasonArguments { reason }) => release(&reason, context),
            Self::Status => print_status(context),
        }
    }
}

/// Engages the emergency stop. Fails if no scheduler has received it, although the stop is kept.
fn engage(reason: &str, context: &mut Context) -> Result<(), Failure> {
    let config = context.namespace_config()?;
    let is_new = !namespace_path(&config).is_dir();
    let namespace = context.open_namespace()?;
    let stop = EmergencyStop::engage(STOP_SOURCE, reason);
    report_truncated_reason(&stop, reason, context);
    let receivers = publish_stop(&namespace, stop)?;
    let schedulers = live_schedulers(&namespace)?;
    if schedulers.is_empty() {
        if context.is_json() {
            print_stop_state(Some(&stop), &config, &schedulers, context)?;
            context.out.flush()?;
        }
        return Err(Failure::not_found(format_args!(
            "no scheduler runs in namespace '{name}'{created}, so the emergency stop has stopped \
             none{programs}. It is kept there, and holds schedulers that start later, until: \
             horus -N {name} estop release.{elsewhere}",
            name = config.name(),
            created = if is_new {
                ", which was created now"
            } else {
                ""
            },
            programs = match receivers {
                0 => String::new(),
                _ => format!("; other subscribers that have received it: {receivers}"),
            },
            elsewhere = other_namespaces_schedulers_text(&config),
        )));
    }
    context.print_note(stop_receivers_text(&config, &schedulers));
    let removed = removed_namespaces_text(&config);
    if !removed.is_empty() {
        context.print_note(removed.trim_start());
    }
    print_stop_state(Some(&stop), &config, &schedulers, context)?;
    let mut missed: Vec<_> = unresponsive_schedulers_text(&namespace, &schedulers)?
        .into_iter()
        .collect();
    let removed = removed_namespaces_of_this_name_text(&config);
    if !removed.is_empty() {
        missed.push(removed.trim_start().to_owned());
    }
    if missed.is_empty() {
        return Ok(());
    }
    context.out.flush()?;
    Err(Failure::answer_no_because(format_args!(
        "the emergency stop is engaged, but not in effect everywhere: {}",
        missed.join(". ")
    )))
}

/// Returns a text about those of `schedulers` that handle no emergency stop at present, because
/// their processes are suspended or get no CPU time; `None` if there are none.
fn unresponsive_schedulers_text(
    namespace: &Arc<Namespace>,
    schedulers: &[SchedulerInfo],
) -> Result<Option<String>, Failure> {
    let mut suspended = other_processes(namespace)?;
    suspended.retain(|process| is_suspended(&process.info));
    let texts = schedulers.iter().filter_map(|scheduler| {
        let name = visible(&scheduler.name);
        let pid = scheduler.process_id;
        let key = ProcessKey::of_scheduler(scheduler);
        let process = suspended.iter().find(|process| Some(process.key) == key);
        if let Some(process) = process {
            return Some(format!(
                "scheduler '{name}' is suspended with its process, and obeys only when that goes \
                 on: kill -CONT {}",
                process.key.pid
            ));
        }
        (Liveness::of(scheduler) == Liveness::NotResponding).then(|| {
            let age = scheduler.status_age().map(duration).unwrap_or_default();
            let process = pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string());
            format!(
                "scheduler '{name}' (process {process}) has published no status for {age}, and \
                 may not obey"
            )
        })
    });
    let texts: Vec<_> = texts.collect();
    Ok((!texts.is_empty()).then(|| texts.join("; ")))
}

/// Releases the emergency stop. Fails if there is nothing to release.
fn release(reason: &str, context: &mut Context) -> Result<(), Failure> {
    let config = context.existing_namespace_config()?;
    let nothing = |what: &str| {
        Failure::not_found(format_args!(
            "nothing was released: {what}.{}",
            other_namespaces_schedulers_text(&config)
        ))
    };
    let name = config.name();
    let Some(namespace) = context.open_if_exists(&config)? else {
        return Err(nothing(&format!(
            "the namespace '{name}' does not exist in {}",
            config.dir().display()
        )));
    };
    let is_engaged = read_last_stop_message(&namespace)?.is_some_and(|stop| stop.is_engaged());
    if !is_engaged && live_schedulers(&namespace)?.is_empty() {
        return Err(nothing(&format!(
            "no scheduler runs in namespace '{name}', and no emergency stop is kept there"
        )));
    }
    let stop = EmergencyStop::release(STOP_SOURCE, reason);
    report_truncated_reason(&stop, reason, context);
    publish_stop(&namespace, stop)?;
    let schedulers = live_schedulers(&namespace)?;
    context.print_note(if schedulers.is_empty() {
        no_scheduler_text(&config)
    } else {
        stop_receivers_text(&config, &schedulers)
    });
    print_stop_state(Some(&stop), &config, &schedulers, context)
}

/// Prints a note if `stop` contains only the beginning of `reason`. WHY no failure: the stop comes
/// first.
fn report_truncated_reason(stop: &EmergencyStop, reason: &str, context: &Context) {
    let kept = stop.reason.as_str();
    if kept != reason {
        let bytes = kept.len();
        context.print_note(format_args!(
            "the reason is cut after {bytes} bytes: {kept}"
        ));
    }
}

/// Returns a failure if `stop`, which was just sent, is not the message that is kept. The failure
/// also names the schedulers that handle no emergency stop at present.
///
/// WHY: the one with the greatest `monotonic_ns` is, and the clock of its sender may be ahead of
/// this one, as in a container with a time namespace.
fn check_stop_is_kept(namespace: &Arc<Namespace>, stop: &EmergencyStop) -> Result<(), Failure> {
    let Some(last) = read_last_stop_message(namespace)? else {
        return Ok(());
    };
    if last.is_engaged() == stop.is_engaged() {
        return Ok(());
    }
    let later = last.monotonic_ns.saturating_add(1);
    let unresponsive = unresponsive_schedulers_text(namespace, &live_schedulers(namespace)?)?;
    let unresponsive = unresponsive.map_or_else(String::new, |text| format!("; {text}"));
    Err(Failure::refused(format_args!(
        "it was sent, but is not kept: a message with a later monotonic_ns, \"{}\", counts for \
         schedulers that start later, and perhaps for those that run{unresponsive}. Send a later \
         one: horus topic pub {EMERGENCY_STOP_TOPIC} '{{engaged: {}, monotonic_ns: {later}}}'",
        stop_text(&last),
        stop.engaged,
    )))
}

/// Returns a text for the user about the schedulers of `namespace` that receive an emergency stop
/// which was just sent, or the release from one.
pub(crate) fn stopped_schedulers_text(namespace: &Arc<Namespace>) -> Result<String, Failure> {
    // WHY not the subscribers: a program that only listens to emergency stops stops nothing.
    let schedulers = live_schedulers(namespace)?;
    if schedulers.is_empty() {
        return Ok(
            "no scheduler runs in this namespace, so none has received it. It is kept for \
             schedulers that start later"
                .to_owned(),
        );
    }
    let receivers = stop_receivers_text(namespace.config(), &schedulers);
    Ok(
        match unresponsive_schedulers_text(namespace, &schedulers)? {
            None => receivers,
            Some(text) => format!("{receivers}. It is not in effect everywhere: {text}"),
        },
    )
}

fn stop_receivers_text(config: &NamespaceConfig, schedulers: &[SchedulerInfo]) -> String {
    format!(
        "sent to the schedulers of namespace '{}': {}",
        config.name(),
        scheduler_names(schedulers)
    )
}

fn no_scheduler_text(config: &NamespaceConfig) -> String {
    format!(
        "no scheduler runs in namespace '{}'.{}",
        config.name(),
        other_namespaces_schedulers_text(config)
    )
}

/// Sends an emergency stop, or the release from one, to all schedulers of the namespace. Returns
/// the number of subscribers that receive it. Fails if another message is kept in place of it.
pub(crate) fn publish_stop(
    namespace: &Arc<Namespace>,
    stop: EmergencyStop,
) -> Result<usize, Failure> {
    let mut publisher = open_stop_publisher(namespace)?;
    let sent = publisher.send(stop);
    sent.map_err(|error| Failure::refused(error_chain_text(&error.with(()))))?;
    check_stop_is_kept(namespace, &stop)?;
    Ok(publisher.subscriber_count())
}

fn open_stop_publisher(namespace: &Arc<Namespace>) -> Result<Publisher<EmergencyStop>, Failure> {
    // WHY this key: schedulers have reserved memory for it.
    let qos = Qos::latched()
        .strict(true)
        .latch_key(EMERGENCY_STOP_TOOL_KEY);
    let topic = Topic::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    let opened = topic.qos(qos).publisher();
    opened.map_err(|error| Failure::from_topic_error(&error))
}

fn print_status(context: &mut Context) -> Result<(), Failure> {
    let config = context.namespace_config()?;
    let (last, schedulers) = match context.open_existing_namespace()? {
        Some(namespace) => (
            read_last_stop_message(&namespace)?,
            live_schedulers(&namespace)?,
        ),
        None => (None, Vec::new()),
    };
    if schedulers.is_empty() {
        context.print_note(no_scheduler_text(&config));
    }
    print_stop_state(last.as_ref(), &config, &schedulers, context)?;
    if last.is_some_and(|stop| stop.is_engaged()) {
        context.out.flush()?;
        return Err(Failure::answer_no());
    }
    Ok(())
}

/// Returns the last message that stopped the schedulers or released them; `None` if there was none.
pub(crate) fn read_last_stop_message(
    namespace: &Arc<Namespace>,
) -> Result<Option<EmergencyStop>, Failure> {
    try_read_last_stop_message(namespace).map_err(|error| Failure::from_topic_error(&error))
}

/// Returns the last message, as [`read_last_stop_message`] does, or the error of the topic.
fn try_read_last_stop_message(
    namespace: &Arc<Namespace>,
) -> Result<Option<EmergencyStop>, TopicError> {
    let topic = Topic::<EmergencyStop>::builder(EMERGENCY_STOP_TOPIC).namespace(namespace);
    match topic.qos(Qos::new().strict(true)).observer() {
        Ok(mut observer) => Ok(observer.latest()),
        Err(error) => match error.as_open_error() {
            Some(OpenError::NotFound { .. }) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Returns a failure if the emergency stop of the namespace is engaged, so that its topic must not
/// be removed: a scheduler that starts later would not know of the stop. Also returns one if this
/// process lacks the memory or the file descriptors to find that out.
pub(crate) fn check_stop_is_not_engaged(namespace: &Arc<Namespace>) -> Result<(), Failure> {
    let stop = match try_read_last_stop_message(namespace) {
        Ok(Some(stop)) if stop.is_engaged() => stop,
        Err(error)
            if error
                .as_open_error()
                .is_some_and(OpenError::is_lack_of_resources) =>
        {
            return Err(unreadable_stop_failure(Failure::from_topic_error(&error)));
        }
        // WHY an error is no failure: a topic that cannot be read has to be removable.
        Ok(_) | Err(_) => return Ok(()),
    };
    let name = namespace.config().name();
    Err(Failure::refused(format_args!(
        "the emergency stop of namespace '{name}' is engaged, and a scheduler that starts later \
         would not know of it, so {EMERGENCY_STOP_TOPIC} was not removed: {}, {}. If it may be \
         released: horus -N {name} estop release",
        stop_text(&stop),
        stop_time_text(&stop),
    )))
}

/// Removes the topic of emergency stops, even if it is kept. Returns false if it was not removed,
/// because a process uses it. Returns a failure if the stop is engaged, see
/// [`check_stop_is_not_engaged`].
pub(crate) fn remove_stop_topic(namespace: &Arc<Namespace>) -> Result<bool, Failure> {
    remove_stop_topic_after(namespace, check_stop_is_not_engaged)
}

/// Calls `check`, and then removes the topic of emergency stops, as [`remove_stop_topic`] does.
/// Keeps the topic if anyone has opened it to send, or has sent a message, during the call or after
/// it.
fn remove_stop_topic_after(
    namespace: &Arc<Namespace>,
    check: impl FnOnce(&Arc<Namespace>) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let uses = Inspector::open_in(namespace, EMERGENCY_STOP_TOPIC).map(|topic| {
        let lanes = topic.publishers_with(&mut LivenessCache::default());
        let uses = lanes.iter().map(|lane| lane.claims.wrapping_add(lane.sent));
        // WHY wrapping: another process may have written anything.
        uses.fold(0, u64::wrapping_add)
    });
    check(namespace)?;
    let is_gone = match uses {
        Ok(uses) => remove_topic_if_unused(namespace, EMERGENCY_STOP_TOPIC, uses),
        Err(error) => match error.as_open_error() {
            Some(OpenError::NotFound { .. }) => return Ok(true),
            Some(error) if error.is_lack_of_resources() => {
                let failure = Failure::system(error_chain_text(error));
                return Err(unreadable_stop_failure(failure));
            }
            // WHY: a topic that cannot be read has to be removable.
            _ => remove_topic(namespace, EMERGENCY_STOP_TOPIC),
        },
    };
    let is_gone = is_gone.map_err(|error| Failure::from_topic_error(&error))?;
    if !is_gone {
        check_stop_is_not_engaged(namespace)?;
    }
    Ok(is_gone)
}

/// Returns a text about who has engaged or released the emergency stop, and why.
///
/// WHY not the message alone: one without content is an engaged stop, too.
pub(crate) fn stop_text(stop: &EmergencyStop) -> String {
    let mut named = *stop;
    if named.source.is_empty() {
        named.source = Text::truncated("a sender without a name");
    }
    visible(&named.to_string())
}

/// Returns the time at which the emergency stop was engaged or released.
pub(crate) fn stop_time_text(stop: &EmergencyStop) -> String {
    match stop.timestamp_ns {
        0 => "an unknown time".to_owned(),
        time => date_time(time),
    }
}

/// Adds to `failure`, the reason why the emergency stop could not be read, what follows from it.
pub(crate) fn unreadable_stop_failure(failure: Failure) -> Failure {
    failure.with_prefix(&format!(
        "{EMERGENCY_STOP_TOPIC} was not removed, because it is not known whether the emergency \
         stop is engaged"
    ))
}

fn print_stop_state(
    stop: Option<&EmergencyStop>,
    config: &NamespaceConfig,
    schedulers: &[SchedulerInfo],
    context: &mut Context,
) -> Result<(), Failure> {
    if context.is_json() {
        return context.out.write_json(StopStatus {
            engaged: stop.is_some_and(EmergencyStop::is_engaged),
            timestamp_ns: stop.map(|stop| stop.timestamp_ns),
            source: stop.map(|stop| stop.source.to_string()),
            reason: stop.map(|stop| stop.reason.to_string()),
            namespace: config.name().as_str(),
            schedulers: schedulers.iter().map(|one| one.name.as_str()).collect(),
        });
    }
    match stop {
        None => context.out.write_line("never engaged"),
        Some(stop) => {
            let is_engaged = stop.is_engaged();
            let tone = if is_engaged { Tone::Bad } else { Tone::Plain };
            let text = context.out.paint(tone, &stop_text(stop));
            let time = match stop.timestamp_ns {
                0 => "at an unknown time:".to_owned(),
                time => date_time(time),
            };
            context.out.write_line(format_args!("{time} {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::private_namespace;

    /// A scheduler that starts later would not know of the stop.
    #[test]
    fn a_stop_that_is_sent_while_its_topic_is_removed_stays_engaged() {
        let (_dir, namespace) = private_namespace();
        let send = |stop| publish_stop(&namespace, stop).unwrap();
        let last = || read_last_stop_message(&namespace).unwrap();
        for is_opened_before in [false, true] {
            send(EmergencyStop::release("tester", ""));
            let mut publisher = is_opened_before.then(|| open_stop_publisher(&namespace).unwrap());
            let removed = remove_stop_topic_after(&namespace, |namespace| {
                check_stop_is_not_engaged(namespace)?;
                let stop = EmergencyStop::engage("tester", "front hit");
                match publisher.take() {
                    Some(mut publisher) => publisher.send(stop).unwrap(),
                    None => _ = send(stop),
                }
                Ok(())
            });
            let failure = removed.unwrap_err();
            assert!(failure.is_refused(), "{}", failure.text());
            assert!(last().is_some_and(|stop| stop.is_engaged()));
            assert!(remove_stop_topic(&namespace).unwrap_err().is_refused());
        }
        send(EmergencyStop::release("tester", ""));
        assert!(remove_stop_topic(&namespace).unwrap());
        assert!(last().is_none());
    }
}
