//! The macro `ros_message!`, which generates the code that writes and reads a message from one
//! description of it.

/// Maps a message to a ROS type. The description has the same lines as the type's `.msg` file. The
/// fields of a nested type are listed one by one, unless that type has its own description.
///
/// ```text
/// Ours = "package/msg/Name", FrameNames {
///     Header header;                    `timestamp_ns` and `frame_id` of the message
///     Header header in frames;          `timestamp_ns` of the message, `frame_id` of `FrameNames`
///     string name in frames;            a field of `FrameNames`
///     float64 name;                     a field of the same name, here an `f64`
///     float64 ros.name = name;          the field `name`, which ROS calls `ros.name`
///     float64[9] name;                  a fixed array
///     float32[<=count] name;            a sequence: the first `count` elements of an array
///     each count { float32[] name; … }  sequences of one length, or empty
///     uint8[] data;                     the data of a message that has a header
///     uint8[] data = length;            …, and the field of the header that is their length
///     ignored float32[] name;           a sequence that only ROS has
///     zero float64 name;                a number that only ROS has
///     absent name = value;              a field that ROS does not have, read as `value`
/// }
/// ```
macro_rules! ros_message {
    (framed $header:ident = $type:literal, $frames:ty { $($fields:tt)* }) => {
        impl<D: AsRef<[u8]>> RosMessage for Framed<$header, D> {
            const TYPE: &'static str = $type;
            type FrameNames = $frames;

            fn write_cdr(
                &self,
                frames: &$frames,
                out: &mut CdrWriter<'_>,
            ) -> Result<(), CdrWriteError> {
                self.check_length()?;
                let message = self.header();
                let data = self.data();
                let _ = frames;
                ros_message!(@ [write message frames data out] $($fields)*);
                Ok(())
            }
        }

        impl FromCdr for Framed<$header> {
            fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, $frames), CdrError> {
                let mut message = $header::default();
                let mut data = &[][..];
                #[allow(unused_mut, reason = "some have no frames")]
                let mut frames = <$frames>::default();
                ros_message!(@ [read message frames data from] $($fields)*);
                Ok((Framed::new(message, data)?, frames))
            }
        }
    };
    ($message:ty = $type:literal, $frames:ty { $($fields:tt)* }) => {
        impl RosMessage for $message {
            const TYPE: &'static str = $type;
            type FrameNames = $frames;

            fn write_cdr(
                &self,
                frames: &$frames,
                out: &mut CdrWriter<'_>,
            ) -> Result<(), CdrWriteError> {
                let message = self;
                let _ = frames;
                ros_message!(@ [write message frames data out] $($fields)*);
                Ok(())
            }
        }

        impl FromCdr for $message {
            fn read_cdr(from: &mut CdrReader<'_>) -> Result<(Self, $frames), CdrError> {
                let mut message = <$message>::default();
                #[allow(unused_mut, reason = "some have no frames")]
                let mut frames = <$frames>::default();
                ros_message!(@ [read message frames data from] $($fields)*);
                Ok((message, frames))
            }
        }
    };

    (@borrow write $($place:tt)+) => { &$($place)+ };
    (@borrow read $($place:tt)+) => { &mut $($place)+ };
    (@ [$($to:tt)*]) => {};
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        Header header in frames; $($rest:tt)*) => {
        wire::time::$op(ros_message!(@borrow $op $m.timestamp_ns), "header.stamp", $c)?;
        wire::string::$op(ros_message!(@borrow $op $f.frame_id), "header.frame_id", $c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        Header header; $($rest:tt)*) => {
        wire::time::$op(ros_message!(@borrow $op $m.timestamp_ns), "header.stamp", $c)?;
        wire::string::$op(ros_message!(@borrow $op $m.frame_id), "header.frame_id", $c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        each $count:ident {
            $first_kind:ident[] $first:ident;
            $($kind:ident[] $field:ident;)+
        }
        $($rest:tt)*) => {
        wire::CountedSequence::<wire::$first_kind>::$op(
            ros_message!(@borrow $op $m.$first),
            ros_message!(@borrow $op $m.$count),
            stringify!($first),
            $c,
        )?;
        $(
            wire::ParallelSequence::<wire::$kind>::$op(
                ros_message!(@borrow $op $m.$field),
                ros_message!(@borrow $op $m.$count),
                stringify!($field),
                $c,
            )?;
        )+
        wire::UnusedElementReset::$op(ros_message!(@borrow $op $m.$first), &$m.$count);
        $(wire::UnusedElementReset::$op(ros_message!(@borrow $op $m.$field), &$m.$count);)+
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        ignored $kind:ident[] $field:ident; $($rest:tt)*) => {
        wire::SequenceAbsentInHorus::<wire::$kind>::$op($c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        zero float64 $($ros:ident).+; $($rest:tt)*) => {
        wire::ZeroFieldAbsentInHorus::$op(stringify!($($ros).+), $c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        absent $field:ident = $value:expr; $($rest:tt)*) => {
        wire::FieldAbsentInRos::$op(ros_message!(@borrow $op $m.$field), $value);
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident[] data; $($rest:tt)*) => {
        wire::TrailingData::$op(ros_message!(@borrow $op $d), "data", $c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident[] data = $length:ident; $($rest:tt)*) => {
        wire::TrailingData::$op(ros_message!(@borrow $op $d), "data", $c)?;
        wire::FieldAbsentInRos::$op(ros_message!(@borrow $op $m.$length), $d.len() as u64);
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident $field:ident in frames; $($rest:tt)*) => {
        wire::$kind::$op(ros_message!(@borrow $op $f.$field), stringify!($field), $c)?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident[<=$count:ident] $field:ident; $($rest:tt)*) => {
        wire::Sequence::<wire::$kind>::$op(
            ros_message!(@borrow $op $m.$field),
            ros_message!(@borrow $op $m.$count),
            stringify!($field),
            $c,
        )?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident[$n:literal] $($ros:ident).+ = $($field:ident).+; $($rest:tt)*) => {
        <wire::Array<wire::$kind> as RosField<[_; $n]>>::$op(
            ros_message!(@borrow $op $m.$($field).+), stringify!($($ros).+), $c,
        )?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident[$n:literal] $field:ident; $($rest:tt)*) => {
        ros_message!(
            @ [$op $m $f $d $c] $kind[$n] $field = $field; $($rest)*
        );
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident $($ros:ident).+ = $($field:ident).+; $($rest:tt)*) => {
        <wire::$kind as RosField<_>>::$op(
            ros_message!(@borrow $op $m.$($field).+), stringify!($($ros).+), $c,
        )?;
        ros_message!(@ [$op $m $f $d $c] $($rest)*);
    };
    (@ [$op:ident $m:ident $f:ident $d:ident $c:ident]
        $kind:ident $field:ident; $($rest:tt)*) => {
        ros_message!(@ [$op $m $f $d $c] $kind $field = $field; $($rest)*);
    };
}
