//! The macro `layout!`, which checks the size of a message and the offset of each field at compile
//! time, and generates `now()` for messages that begin with a timestamp.

/// Fails to compile unless the message has this size and exactly these fields at these offsets.
///
/// `layout! { CmdVel = 16 { timestamp_ns: 0, linear: 8, angular: 12 } }`
macro_rules! layout {
    ($name:ident = $size:literal { $($field:ident: $offset:literal),+ $(,)? }) => {
        const _: () = {
            assert!(
                size_of::<$name>() == $size,
                concat!("the size of `", stringify!($name), "` is not ", stringify!($size))
            );
            $(assert!(
                std::mem::offset_of!($name, $field) == $offset,
                concat!("`", stringify!($field), "` is not at ", stringify!($offset))
            );)+
            let _: fn($name) = |message| {
                let $name { $($field: _),+ } = message;
            };
        };

        stamped! { $name $($field)+ }
    };
}

macro_rules! stamped {
    ($name:ident timestamp_ns $($field:ident)*) => {
        impl $name {
            /// Returns a message with default values and the current time, for use as
            /// `..Self::now()`.
            #[must_use]
            pub fn now() -> Self {
                Self {
                    timestamp_ns: $crate::message::timestamp_now_ns(),
                    ..Self::default()
                }
            }
        }
    };
    ($name:ident $($field:ident)+) => {};
}
