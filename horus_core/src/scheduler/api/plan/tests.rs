//! Tests of how the plan of a node follows from its settings.

use super::*;
use crate::scheduler::Hertz;

fn spec(name: &str) -> NodeSpec {
    NodeSpec {
        name: name.to_owned(),
        ..NodeSpec::default()
    }
}

fn one(spec: NodeSpec) -> Result<NodePlan, PlanError> {
    spec.into_plan(2)
}

const fn ms(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

#[test]
fn a_rate_implies_a_thread_a_budget_and_a_deadline() {
    let plan = one(NodeSpec {
        rate: Some(100.hz()),
        ..spec("control")
    })
    .unwrap();
    assert_eq!(plan.class, NodeClass::RealTime);
    assert_eq!(
        (plan.budget, plan.deadline),
        (ms(8), Some(Duration::from_micros(9500)))
    );
    let plan = one(NodeSpec {
        rate: Some(100.hz()),
        deadline: ms(5),
        ..spec("tight")
    })
    .unwrap();
    assert_eq!((plan.budget, plan.deadline), (ms(5), ms(5)));
    let slow = NodeSpec {
        rate: Some(100.hz()),
        is_compute: true,
        ..spec("map")
    };
    assert_eq!(one(slow).unwrap().class, NodeClass::Compute);
    let event = NodeSpec {
        topics: vec!["scan".into()],
        ..spec("slam")
    };
    assert_eq!(one(event).unwrap().class, NodeClass::Event);
    assert_eq!(one(spec("log")).unwrap().class, NodeClass::BestEffort);
}

/// Otherwise a tick within its budget could be stuck.
#[test]
fn a_default_budget_is_no_longer_than_the_watchdog_at_any_rate() {
    for (hz, budget) in [
        (10, ms(5)),
        (100, ms(5)),
        (1000, Some(Duration::from_micros(800))),
    ] {
        let plan = one(NodeSpec {
            rate: Some(hz.hz()),
            watchdog: ms(5),
            ..spec("n")
        });
        assert_eq!(plan.unwrap().budget, budget, "{hz} Hz");
    }
}

#[test]
fn contradictions_are_refused_with_the_reason() {
    let rate = Some(100.hz());
    let topics = vec!["scan".to_owned()];
    for (spec, reason) in [
        (
            NodeSpec {
                rate,
                topics: topics.clone(),
                ..spec("n")
            },
            "by the clock or by messages",
        ),
        (
            NodeSpec {
                is_compute: true,
                is_async_io: true,
                ..spec("n")
            },
            "must not compute",
        ),
        (
            NodeSpec {
                is_compute: true,
                topics: topics.clone(),
                ..spec("n")
            },
            "pass work",
        ),
        (
            NodeSpec {
                is_async_io: true,
                topics: topics.clone(),
                ..spec("n")
            },
            "recv_async",
        ),
        (
            NodeSpec {
                rate,
                budget: ms(11),
                ..spec("n")
            },
            "due before it is over",
        ),
        (
            NodeSpec {
                rate,
                deadline: ms(11),
                ..spec("n")
            },
            "due before it is over",
        ),
        (
            NodeSpec {
                rate,
                budget: ms(6),
                deadline: ms(5),
                ..spec("n")
            },
            "would be late",
        ),
        (
            NodeSpec {
                rate,
                budget: ms(6),
                watchdog: ms(5),
                ..spec("n")
            },
            "within their budget",
        ),
        (
            NodeSpec {
                rate,
                budget: ms(0),
                ..spec("n")
            },
            "more than 0 s",
        ),
        (
            NodeSpec {
                deadline: ms(5),
                ..spec("n")
            },
            "give it a rate",
        ),
        (
            NodeSpec {
                on_miss: Some(MissPolicy::Skip),
                ..spec("n")
            },
            "an input with a timeout",
        ),
        (
            NodeSpec {
                rate,
                miss_if_sooner_than: ms(11),
                ..spec("n")
            },
            "would be too early",
        ),
        (
            NodeSpec {
                priority: Some(50),
                ..spec("n")
            },
            "a thread of their own",
        ),
        (
            NodeSpec {
                core: Some(0),
                is_compute: true,
                ..spec("n")
            },
            "a thread of their own",
        ),
        (
            NodeSpec {
                stays_awake: true,
                ..spec("n")
            },
            "a thread of their own",
        ),
        (
            NodeSpec {
                shared_group: Some("fleet".into()),
                rate,
                ..spec("n")
            },
            "add on(topic)",
        ),
        (
            NodeSpec {
                shared_group: Some("fleet".into()),
                topics: topics.clone(),
                core: Some(0),
                ..spec("n")
            },
            "for the group",
        ),
        (
            NodeSpec {
                rate,
                priority: Some(100),
                ..spec("n")
            },
            "from 1 to 99",
        ),
        (
            NodeSpec {
                chain: Some("c".into()),
                ..spec("n")
            },
            "give it the rate",
        ),
        (
            NodeSpec {
                rate,
                core: Some(2),
                ..spec("n")
            },
            "below 2",
        ),
        (
            NodeSpec {
                rate: Some(0.hz()),
                ..spec("n")
            },
            "a rate has to be",
        ),
        (
            NodeSpec {
                at_most: rate,
                rate,
                ..spec("n")
            },
            "add on(topic)",
        ),
        (
            NodeSpec {
                at_most: rate,
                is_compute: true,
                ..spec("n")
            },
            "add on(topic)",
        ),
        (
            NodeSpec {
                at_most: rate,
                ..spec("n")
            },
            "add on(topic)",
        ),
        (
            NodeSpec {
                at_most: Some(0.hz()),
                topics: topics.clone(),
                ..spec("n")
            },
            "has to be",
        ),
        (spec(""), "is invalid"),
        (spec("a\nb"), "is invalid"),
        (spec(&"x".repeat(65)), "is invalid"),
    ] {
        let error = one(spec).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}, not: {reason}");
    }
}

/// The thread of a chain has its name, and a name of a thread must not contain a NUL.
#[test]
fn a_chain_has_a_name_like_those_of_nodes() {
    let in_chain = |chain: &str| {
        one(NodeSpec {
            rate: Some(100.hz()),
            chain: Some(chain.to_owned()),
            ..spec("wheel")
        })
    };
    for chain in ["", "a\0b", "a\nb", &"c".repeat(NODE_NAME_BYTES_MAX + 1)] {
        assert!(in_chain(chain).is_err(), "{chain:?}");
    }
    assert!(in_chain(&"c".repeat(NODE_NAME_BYTES_MAX)).is_ok());
}
