//! `layout!`: the size of a message and the place of each field, as a promise that is compiled.

/// Fails to compile unless the message has this size and exactly these fields at these offsets.
///
/// `layout! { CmdVel = 16 { timestamp_ns: 0, linear: 8, angular: 12 } }`
macro_rules! layout {
    ($($name:ident = $size:literal { $($field:ident: $offset:literal),+ $(,)? })+) => {$(
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
    )+};
}
