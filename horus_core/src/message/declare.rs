//! The macro `message!`, which declares a message.

/// Returns a value without data whose type names `T`, the type of the argument. By comparing two
/// such values, `message!` makes the compiler check the field types that it has generated.
#[doc(hidden)]
pub const fn type_of<T>(_: &T) -> std::marker::PhantomData<T> {
    std::marker::PhantomData
}

/// Declares a message: a `#[repr(C)]` struct that any process may read as plain bytes.
///
/// The struct is `Clone`, `Copy`, `Debug`, `PartialEq`, [`Pod`](crate::message::Pod),
/// [`Zeroable`](crate::message::Zeroable) and [`Message`](crate::message::Message). Fields are
/// numbers of a fixed width, [`Text`](crate::message::Text), other messages, and arrays of these.
///
/// The macro also generates a [`Schema`](crate::message::Schema): a table of the fields, with their
/// doc comments, from which tools and other languages know the message. End the doc comment of a
/// field with the unit of the field. Integer constants may follow the struct: they become its
/// associated constants, and are in the schema. A field may have a default value, as in
/// `pub gain: f32 = 1.0`. If a publisher does not know this field, subscribers see the default
/// value in its messages ([`Message::defaults`]). A field that is a message has the defaults of
/// that message, and all other fields have 0.
///
/// [`Message::defaults`]: crate::message::Message::defaults
///
/// ```
/// use horus_core::message::{Message, Text};
///
/// horus_core::message! {
///     /// Charge of the battery.
///     pub struct Battery {
///         /// Time of the measurement, by CLOCK_REALTIME: nanoseconds.
///         pub timestamp_ns: u64,
///         /// Voltage of each cell: volts.
///         pub cells: [f32; 4],
///         /// Serial number on the label: text.
///         pub serial_number: Text<7>,
///         /// One of the `STATE_` constants: no unit.
///         pub state: u8,
///     }
///
///     /// In use.
///     pub const STATE_DISCHARGING: u8 = 1;
/// }
///
/// assert_eq!(Battery::SCHEMA.size, 32);
/// assert_eq!(Battery::SCHEMA.fields[1].unit(), "volts");
/// assert_eq!(Battery::SCHEMA.constants[0].name, "STATE_DISCHARGING");
/// assert_eq!(Battery::HASH, Battery::SCHEMA.hash());
/// ```
///
/// The crate that declares a message may deny `unsafe_code`. With `forbid` it does not compile,
/// because the macro generates an `#[allow(unsafe_code)]`.
///
/// # What is refused
///
/// Each of the following is a compile error, whose text says what to write instead.
///
/// Padding between fields, because its bytes are not initialized:
///
/// ```compile_fail,E0080
/// horus_core::message! { pub struct Gap { pub ring: u16, pub range: f32 } }
/// ```
///
/// … or at the end:
///
/// ```compile_fail,E0080
/// horus_core::message! { pub struct Tail { pub range: f32, pub ring: u16 } }
/// ```
///
/// … or a `repr` that removes it:
///
/// ```compile_fail,E0080
/// horus_core::message! { #[repr(packed)] pub struct Packed { pub ring: u16, pub range: f32 } }
/// ```
///
/// Types with invalid bit patterns, and types whose size depends on the machine:
///
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Flag { pub armed: bool } }
/// ```
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Size { pub length: usize } }
/// ```
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Letter { pub key: char } }
/// ```
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Wide { pub id: u128 } }
/// ```
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Maybe { pub value: [Option<u8>; 2] } }
/// ```
/// ```compile_fail,E0277
/// horus_core::message! { pub struct Pointer { pub name: &'static str } }
/// ```
///
/// A struct that is not a message itself:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub struct Plain(f32);
/// horus_core::message! { pub struct Outer { pub inner: Plain } }
/// ```
///
/// Empty structs, empty arrays, and everything except a struct with named fields:
///
/// ```compile_fail
/// horus_core::message! { pub struct Empty {} }
/// ```
/// ```compile_fail,E0080
/// horus_core::message! { pub struct Nothing { pub a: u32, pub b: [u32; 0] } }
/// ```
/// ```compile_fail
/// horus_core::message! { pub struct Tuple(pub u32); }
/// ```
/// ```compile_fail
/// horus_core::message! { pub struct Generic<T> { pub value: T } }
/// ```
#[macro_export]
macro_rules! message {
    ($(#[$($attribute:tt)*])* $visibility:vis struct $name:ident {
        $(
            $(#[$($field_attribute:tt)*])*
            $field_visibility:vis $field:ident: $type:ty $(= $default:expr)?
        ),+ $(,)?
    } $(
        $(#[$($constant_attribute:tt)*])*
        $constant_visibility:vis const $constant:ident: $constant_type:ty = $value:expr;
    )*) => {
        $(#[$($attribute)*])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        $visibility struct $name {
            $($(#[$($field_attribute)*])* $field_visibility $field: $type),+
        }

        impl $crate::message::Message for $name {
            const SCHEMA: $crate::message::Schema = $crate::message::Schema::checked(
                ::core::stringify!($name),
                ::core::mem::size_of::<$name>(),
                ::core::mem::align_of::<$name>(),
                &[$($crate::message::Field::of::<$type>(
                    ::core::stringify!($field),
                    ::core::mem::offset_of!($name, $field),
                    ::core::concat!($($crate::attribute_doc!($($field_attribute)*),)* ""),
                )),+],
            )
            .with_docs(
                ::core::concat!($($crate::attribute_doc!($($attribute)*),)* ""),
                &[$($crate::message::Constant::of::<$constant_type>(
                    ::core::stringify!($constant),
                    $name::$constant as i128,
                    ::core::concat!($($crate::attribute_doc!($($constant_attribute)*),)* ""),
                )),*],
            );

            fn default_bytes()
            -> ::core::option::Option<::std::boxed::Box<[::core::primitive::u8]>> {
                $crate::message::build_default_bytes::<$name>(|bytes| {
                    $(
                        $crate::message::set_nested_defaults::<$name, $type>(
                            bytes,
                            ::core::mem::offset_of!($name, $field),
                        );
                        $($crate::message::set_default::<$name, $type>(
                            bytes,
                            ::core::mem::offset_of!($name, $field),
                            $default,
                        );)?
                    )+
                })
            }
        }

        $crate::message_constants! {
            $name $(
                $(#[$($constant_attribute)*])*
                $constant_visibility $constant: $constant_type = $value;
            )*
        }

        impl $crate::message::FieldType for $name {
            const KIND: $crate::message::FieldKind =
                $crate::message::FieldKind::Message(&<$name as $crate::message::Message>::SCHEMA);
            const ELEMENT_COUNT: usize = 1;

            fn element_default_bytes()
            -> ::core::option::Option<::std::boxed::Box<[::core::primitive::u8]>> {
                <$name as $crate::message::Message>::default_bytes()
            }
        }

        const _: () = {
            let mut end = 0;
            $(
                ::core::assert!(::core::mem::offset_of!($name, $field) == end, ::core::concat!(
                    "implicit padding before field `", ::core::stringify!($field), "` of message `",
                    ::core::stringify!($name), "`: put larger fields first, or add an explicit ",
                    "`_reserved: [u8; N]` field before it"
                ));
                end += ::core::mem::size_of::<$type>();
            )+
            ::core::assert!(::core::mem::size_of::<$name>() == end, ::core::concat!(
                "implicit padding at the end of message `", ::core::stringify!($name),
                "`: add an explicit `_reserved: [u8; N]` field"
            ));
            // WHY: an attribute macro may rewrite the struct. This pattern must name all of its
            // fields with exactly these types.
            let _: fn($name) = |message| {
                let $name { $($field),+ } = message;
                $(let _: ::core::marker::PhantomData<$type> =
                    $crate::message::type_of(&$field);)+
            };
            // WHY: evaluates the checks of the schema even if nothing uses the message.
            let _ = <$name as $crate::message::Message>::HASH;
        };

        // WHY: this is the one exception to `deny(unsafe_code)`. The struct's attributes and the
        // constant above prove what it claims, or this does not compile.
        #[allow(unsafe_code)]
        const _: () = {
            // SAFETY: every field is `Pod`, so all zeros are valid.
            unsafe impl $crate::message::Zeroable for $name {}
            // SAFETY: `repr(C)`, `Copy` and not generic; every field is a `FieldType`, so `Pod`;
            // each begins where the one before it ends, and the last ends with the struct.
            unsafe impl $crate::message::Pod for $name {}
        };
    };
    ($(#[$($attribute:tt)*])* $visibility:vis struct $name:ident {}) => {
        ::core::compile_error!(::core::concat!(
            "message `", ::core::stringify!($name), "` has no fields"
        ));
    };
    ($($other:tt)*) => {
        ::core::compile_error!("`message!` takes one struct with named fields and no generics");
    };
}

/// Expands to the associated constants that a message declares after its struct.
#[doc(hidden)]
#[macro_export]
macro_rules! message_constants {
    ($name:ident) => {};
    ($name:ident $(
        $(#[$($attribute:tt)*])* $visibility:vis $constant:ident: $type:ty = $value:expr;
    )+) => {
        impl $name {
            $($(#[$($attribute)*])* $visibility const $constant: $type = $value;)+
        }
    };
}

/// Expands to the line that an attribute adds to the documentation. The line is "" unless the
/// attribute is a doc comment.
#[doc(hidden)]
#[macro_export]
macro_rules! attribute_doc {
    (doc = $line:expr) => {
        ::core::concat!($line, "\n")
    };
    ($($other:tt)*) => {
        ""
    };
}
