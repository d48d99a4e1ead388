//! All languages have the same default values.

use horus_core::message::{Message, Zeroable as _};
use horus_core::topic::Qos;

use super::messages;
use super::private::Private;

/// The message as an old program has it, which does not know the fields with values.
mod old {
    use super::messages::{Point, Quaternion};

    horus_core::message! {
        pub struct Leg {
            pub timestamp_ns: u64,
            pub contact_time_ns: u64,
            pub phases_ns: [i64; 2],
            pub foot: Point,
            pub joints: [Quaternion; 2],
        }
    }
}

#[test]
fn an_old_publisher_s_missing_fields_have_the_values_of_the_file() {
    let leg = messages::Leg::default();
    assert_eq!(messages::Leg::defaults(), leg);
    assert_eq!(
        messages::SonarHeader::defaults(),
        messages::SonarHeader::default()
    );
    let topics = Private::new();
    let mut legs = topics.subscriber::<messages::Leg>("leg", Qos::default());
    let mut publisher = topics.publisher::<old::Leg>("leg", Qos::default());
    let old = old::Leg {
        timestamp_ns: 5,
        joints: leg.joints,
        ..old::Leg::zeroed()
    };
    publisher.send(old).unwrap();
    let wanted = messages::Leg {
        timestamp_ns: 5,
        ..leg
    };
    assert_eq!(legs.recv(), Some(wanted));
}
