//! Schedulers as other processes see them, without a running one; and the cost of an event.

use horus_testing as _;

mod heap;
mod private;

use horus_core::OpenError;
use horus_core::message::{NodeEvent, NodeMetrics, SchedulerStatus, SchedulerStatusHeader};
use horus_core::scheduler::{RemoteError, RemoteScheduler, black_box, schedulers};
use horus_core::topic::Qos;
use private::Private;

#[test]
fn a_namespace_without_schedulers_has_none() {
    let private = Private::new();
    let namespace = private.namespace();
    assert!(schedulers(namespace).unwrap().is_empty());
    let remote = RemoteScheduler::open(namespace, "arm").unwrap_err();
    assert!(matches!(remote, RemoteError::NotRunning { .. }), "{remote}");
    let error = black_box(namespace, "arm").unwrap_err();
    assert!(
        matches!(error.as_open_error(), Some(OpenError::NotFound { .. })),
        "{error}"
    );
    assert!(private.topic_files().is_empty(), "the look created a topic");
}

#[test]
fn topics_of_other_names_are_not_taken_for_a_scheduler() {
    let private = Private::new();
    let names = [
        "horus/schedulers/a/b/status",
        "horus/schedulers/a/state",
        "schedulers/a/status",
    ];
    let _topics = names.map(|name| private.publisher::<NodeEvent>(name, Qos::new()));
    assert!(schedulers(private.namespace()).unwrap().is_empty());
}

/// A publisher of a status is a scheduler, in any language.
#[test]
fn a_publisher_of_a_status_is_a_scheduler() {
    let private = Private::new();
    let topic = "horus/schedulers/theirs/status";
    let mut status = private.publisher::<SchedulerStatus>(topic, Qos::latched());
    let mut message = SchedulerStatus::zeroed(SchedulerStatusHeader::new("theirs", 1)).unwrap();
    message.data_as_mut::<NodeMetrics>().unwrap()[0] = NodeMetrics::new("wheel");
    status.send(&message).unwrap();
    let info = schedulers(private.namespace()).unwrap().remove(0);
    assert_eq!((info.name.as_str(), info.is_alive), ("theirs", true));
    assert_eq!(info.process_id, Some(std::process::id()));
    let own = private.namespace().registry().own_owner_word().to_bits();
    assert_eq!(info.owner_id, Some(own));
    assert_eq!(info.nodes, [NodeMetrics::new("wheel")]);
    drop(status);
    let info = schedulers(private.namespace()).unwrap().remove(0);
    assert_eq!((info.nodes.len(), info.is_alive), (1, false));
    assert_eq!(info.owner_id, None);
    let running = private.publisher::<SchedulerStatus>(topic, Qos::new());
    let error = RemoteScheduler::open(private.namespace(), "nobody").unwrap_err();
    assert!(error.to_string().ends_with("there are: theirs"), "{error}");
    drop(running);
}

#[test]
fn an_event_is_made_and_sent_without_allocating() {
    let private = Private::new();
    let mut publisher = private.publisher::<NodeEvent>("events", Qos::latched());
    let ((), bytes) = heap::peak(|| {
        for tick in 0..1000 {
            let event = NodeEvent::new(NodeEvent::FAILED, "controller", tick).with_tick(tick);
            publisher.send(event.with_text("no such port")).unwrap();
        }
    });
    assert_eq!(bytes, 0);
    let (_, bytes) = heap::peak(|| NodeEvent::STUCK.to_string());
    assert!(bytes > 0, "the allocator counts nothing");
}
