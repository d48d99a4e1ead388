//! The macro `node!`, which declares the struct of a node with its endpoints, and a function that
//! adds the node to a scheduler.

use std::time::Duration;

use super::builder::NodeBuilder;
use crate::scheduler::api::input::Input;
use crate::topic::error::TopicError;
use crate::topic::{Payload, Publisher, Qos, Subscriber};

/// A topic in the forms in which it can be written in [`node!`](crate::node): a name, optionally
/// with a timeout and a quality of service.
#[doc(hidden)]
#[derive(Debug)]
pub struct EndpointSpec<'a> {
    topic: &'a str,
    timeout: Duration,
    qos: Qos,
}

impl EndpointSpec<'_> {
    #[allow(missing_docs, clippy::missing_errors_doc, reason = "for the macro")]
    pub fn publisher<T: Payload>(
        &self,
        builder: &mut NodeBuilder<'_>,
    ) -> Result<Publisher<T>, TopicError> {
        builder.publisher_with(self.topic, self.qos)
    }

    #[allow(missing_docs, clippy::missing_errors_doc, reason = "for the macro")]
    pub fn subscriber<T: Payload>(
        &self,
        builder: &mut NodeBuilder<'_>,
    ) -> Result<Subscriber<T>, TopicError> {
        builder.subscriber_with(self.topic, self.qos)
    }

    #[allow(missing_docs, clippy::missing_errors_doc, reason = "for the macro")]
    pub fn input<T: Payload>(&self, builder: &mut NodeBuilder<'_>) -> Result<Input<T>, TopicError> {
        builder.subscribe_with_timeout_and_qos(self.topic, self.timeout, self.qos)
    }
}

// WHY generic: in a tuple, a `&String` would not be coerced to a `&str`.
impl<'a, S: AsRef<str> + ?Sized> From<&'a S> for EndpointSpec<'a> {
    fn from(topic: &'a S) -> Self {
        (topic, Duration::MAX, Qos::new()).into()
    }
}

impl<'a, S: AsRef<str> + ?Sized> From<(&'a S, Qos)> for EndpointSpec<'a> {
    fn from((topic, qos): (&'a S, Qos)) -> Self {
        (topic, Duration::MAX, qos).into()
    }
}

impl<'a, S: AsRef<str> + ?Sized> From<(&'a S, Duration)> for EndpointSpec<'a> {
    fn from((topic, timeout): (&'a S, Duration)) -> Self {
        (topic, timeout, Qos::new()).into()
    }
}

impl<'a, S: AsRef<str> + ?Sized> From<(&'a S, Duration, Qos)> for EndpointSpec<'a> {
    fn from((topic, timeout, qos): (&'a S, Duration, Qos)) -> Self {
        Self {
            topic: topic.as_ref(),
            timeout,
            qos,
        }
    }
}

/// Declares a node: a struct whose fields are endpoints and state, and the methods of the node.
///
/// ```
/// # let dir = tempfile::tempdir_in("/dev/shm").unwrap();
/// # // SAFETY: this program has one thread.
/// # unsafe { std::env::set_var("HORUS_SHM_DIR", dir.path().join("horus")) };
/// use horus_core::prelude::*;
///
/// horus_core::node! {
///     /// Steers against the rotation that the gyroscope measures.
///     pub struct Controller {
///         subscribe imu: Imu = "imu",
///         publish motors: CmdVel = "cmd_vel",
///         state gain: f32 = 0.5,
///     }
///
///     fn tick(&mut self, context) -> Result<()> {
///         if let Some(imu) = self.imu.latest() {
///             let turn = imu.angular_velocity[2] as f32;
///             self.motors.send(CmdVel::new(0.1, -self.gain * turn))?;
///         }
///         # if context.tick() == 1 { context.stop() }
///         Ok(())
///     }
///
///     fn enter_safe_state(&mut self) {
///         let _ = self.motors.send(CmdVel::new(0.0, 0.0));
///     }
///
///     fn shutdown(&mut self) -> NodeResult {
///         self.motors.send(CmdVel::new(0.0, 0.0))?;
///         Ok(())
///     }
/// }
///
/// let mut scheduler = Scheduler::new();
/// Controller::build(scheduler.node("control").rate(100.hz()))?;
/// # scheduler.run().unwrap();
/// # Ok::<(), horus_core::Error>(())
/// ```
///
/// The first word of a field is its kind:
///
/// * `subscribe name: T = topic`: a `Subscriber<T>`, made by [`NodeBuilder::subscriber`];
/// * `wake name: T = topic`: a subscriber whose messages make the node run, as with
///   [`NodeBuilder::on`];
/// * `input name: T = (topic, timeout)`: an [`Input<T>`], which knows the age of its last message,
///   made by [`NodeBuilder::subscribe_with_timeout`];
/// * `publish name: T = topic`: a `Publisher<T>`, made by [`NodeBuilder::publisher`];
/// * `state name: T = value`: a `T` with this initial value.
///
/// A topic is written as its name, or, with a quality of service, as `("motors", Qos::reliable())`.
/// For an input with a quality of service, write `("imu", timeout, Qos::sensor_data())`.
///
/// The function `tick` has to be the first function, and returns nothing or a result. Its parameter
/// `context` is a `&mut Context`; it may have another name, or be left out. All further functions
/// are methods of [`Node`], with the signatures that this trait declares.
///
/// The macro generates a plain struct, a plain `impl Node`, and the function `build(builder)`. This
/// function creates the endpoints, adds the node to the scheduler, and returns a
/// [`horus_core::Result`](crate::Result). For a node that needs more, such as parameters of
/// `build`, write these three parts by hand.
///
/// [`Input<T>`]: crate::scheduler::Input
/// [`Node`]: crate::scheduler::Node
/// [`NodeBuilder::on`]: crate::scheduler::NodeBuilder::on
/// [`NodeBuilder::publisher`]: crate::scheduler::NodeBuilder::publisher
/// [`NodeBuilder::subscribe_with_timeout`]: crate::scheduler::NodeBuilder::subscribe_with_timeout
/// [`NodeBuilder::subscriber`]: crate::scheduler::NodeBuilder::subscriber
#[macro_export]
macro_rules! node {
    (
        $(#[$about:meta])*
        $visible:vis struct $Node:ident {
            $($(#[$end:meta])* $kind:ident $field:ident: $type:ty = $value:expr),* $(,)?
        }

        fn tick(&mut $self:ident $(, $context:ident)? $(,)?) $(-> $result:ty)? $tick:block
        $($others:tt)*
    ) => {
        $(#[$about])*
        $visible struct $Node {
            $($(#[$end])* $field: $crate::__node_field!($kind $type),)*
        }

        impl $Node {
            /// Adds the node to the scheduler, with endpoints in the scheduler's namespace.
            ///
            /// # Errors
            ///
            /// Returns an error if a topic cannot be opened, or if settings of the builder
            /// contradict each other.
            $visible fn build(
                builder: $crate::scheduler::NodeBuilder<'_>,
            ) -> $crate::Result<()> {
                #[allow(unused_mut, reason = "a node without endpoints")]
                let mut builder = builder;
                let node = Self { $($field: $crate::__node_make!(builder $kind $type, $value)),* };
                Ok(builder.build(node)?)
            }

            fn tick(
                &mut $self,
                $($context: &mut $crate::scheduler::Context<'_>)?
            ) $(-> $result)? $tick
        }

        impl $crate::scheduler::Node for $Node {
            fn tick(
                &mut self,
                _context: &mut $crate::scheduler::Context<'_>,
            ) -> $crate::scheduler::NodeResult {
                let outcome = $Node::tick(self $(, $crate::__node_context!($context _context))?);
                $crate::scheduler::IntoNodeResult::into_node_result(outcome)
            }

            $($others)*
        }
    };
    (
        $(#[$about:meta])*
        $visible:vis struct $Node:ident { $($fields:tt)* }

        fn $first:ident $parameters:tt $(-> $result:ty)? $body:block
        $($others:tt)*
    ) => {
        $crate::__node_first! { $first }
    };
}

/// Expands to the error of a node that [`node!`] does not accept, with `$first` as the name of its
/// first function.
#[doc(hidden)]
#[macro_export]
macro_rules! __node_first {
    (tick) => {
        compile_error!(
            "write the fields of a node as `kind name: Type = value`, and its first function as \
             `fn tick(&mut self)` or `fn tick(&mut self, context)`"
        );
    };
    ($first:ident) => {
        compile_error!(concat!(
            "`tick` has to be the first function of a node, and it is `",
            stringify!($first),
            "`",
        ));
    };
}

/// Expands to the type of a field of the struct that [`node!`] declares.
#[doc(hidden)]
#[macro_export]
macro_rules! __node_field {
    (subscribe $type:ty) => { $crate::topic::Subscriber<$type> };
    (wake $type:ty) => { $crate::topic::Subscriber<$type> };
    (input $type:ty) => { $crate::scheduler::Input<$type> };
    (publish $type:ty) => { $crate::topic::Publisher<$type> };
    (state $type:ty) => { $type };
    ($kind:ident $type:ty) => {
        compile_error!(concat!(
            "a field begins with `subscribe`, `wake`, `input`, `publish` or `state`, not with `",
            stringify!($kind),
            "`",
        ))
    };
}

/// Expands to the expression that creates the initial value of a field of a [`node!`] struct.
#[doc(hidden)]
#[macro_export]
macro_rules! __node_make {
    ($builder:ident subscribe $type:ty, $topic:expr) => {
        $crate::scheduler::EndpointSpec::from($topic).subscriber::<$type>(&mut $builder)?
    };
    ($builder:ident wake $type:ty, $topic:expr) => {{
        // WHY one expression: the temporaries in `$topic` live until its end.
        let subscriber =
            $crate::scheduler::EndpointSpec::from($topic).subscriber::<$type>(&mut $builder)?;
        $builder = $builder.on(&subscriber);
        subscriber
    }};
    ($builder:ident input $type:ty, $topic_and_timeout:expr) => {
        $crate::scheduler::EndpointSpec::from($topic_and_timeout).input::<$type>(&mut $builder)?
    };
    ($builder:ident publish $type:ty, $topic:expr) => {
        $crate::scheduler::EndpointSpec::from($topic).publisher::<$type>(&mut $builder)?
    };
    ($builder:ident state $type:ty, $value:expr) => {
        $value
    };
    ($builder:ident $kind:ident $type:ty, $value:expr) => {
        unreachable!()
    };
}

/// Expands to the argument `context` in the call of `tick`, if `tick` has that parameter, and else
/// to nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __node_context {
    ($name:ident $context:ident) => {
        $context
    };
}
