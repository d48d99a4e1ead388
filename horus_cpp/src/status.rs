//! The statuses that C functions return: 0 for success, a positive number for another normal
//! result, or a negative number for an error. This file also stores the text of each thread's last
//! error.

use std::cell::Cell;
use std::ffi::c_char;
use std::io;

use crate::handle::HandleError;
use horus_core::message::SchemaTextError;
use horus_core::namespace::{NamespaceError, NamespaceRemoveError, RegistryError};
use horus_core::scheduler::{CommandError, PlanError, StartError};
use horus_core::{
    BorrowError, EndpointError, EndpointWaitError, LoanError, Mismatch, OpenError,
    PublishLentError, RecvError, RecvTimeoutError, SendError, TopicError, WaitError, WaitSetFull,
};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$doc])* pub const $name: i32 = $value;)*

        /// The names and numbers of all statuses. A number is never reused for another status.
        pub const STATUSES: &[(&str, i32)] = &[$((stringify!($name), $value)),*];

        /// The C function `horus_status_name`: see `horus.h`.
        #[unsafe(no_mangle)]
        pub extern "C" fn horus_status_name(status: i32) -> *const c_char {
            let name = match status {
                $($value => concat!(stringify!($name), "\0"),)*
                _ => "unknown\0",
            };
            name.as_ptr().cast()
        }
    };
}

statuses! {
    /// The call succeeded.
    HORUS_OK = 0;
    /// No message is available now.
    HORUS_EMPTY = 1;
    /// The message was not sent. A reliable subscriber has not read any of the last messages, as
    /// many as the lane holds; a new message would overwrite one of them.
    HORUS_FULL = 2;
    /// The timeout expired before the call succeeded.
    HORUS_TIMEOUT = 3;
    /// The message or text was longer than the caller's buffer and was truncated to it.
    HORUS_TRUNCATED = 4;
    /// The scheduler is stopping or has stopped.
    HORUS_STOPPED = 5;

    /// The library panicked, which is a defect of the library.
    HORUS_E_PANIC = -1;
    /// The handle is 0, is closed, or refers to an object of another type.
    HORUS_E_HANDLE = -2;
    /// An argument is a null pointer and must not be null.
    HORUS_E_NULL = -3;
    /// An argument is outside its range.
    HORUS_E_ARGUMENT = -4;
    /// The call cannot use, close or remove the object, because the object is in use.
    HORUS_E_BUSY = -5;
    /// A limit is reached: there are too many handles, endpoints, entries or borrowed messages.
    HORUS_E_LIMIT = -6;
    /// The name of a topic or namespace is not valid.
    HORUS_E_NAME = -7;
    /// The topic does not exist yet.
    HORUS_E_NOT_FOUND = -8;
    /// All live publishers send a message type that differs from the endpoint's. Or the topic was
    /// created with a different type, and the endpoint has `strict` in its quality of service.
    HORUS_E_TYPE = -9;
    /// No live publisher offers the reliability that the subscriber requests.
    HORUS_E_QOS = -10;
    /// The given text is not a valid schema of a message type.
    HORUS_E_SCHEMA = -11;
    /// The endpoint cannot send a message of this length.
    HORUS_E_MESSAGE = -12;
    /// The handle was inherited through `fork`. It cannot be used in the child process.
    HORUS_E_FORKED = -13;
    /// The shared memory of the topic is lost, because its file was truncated or the file
    /// descriptors of the topic were closed.
    HORUS_E_REGION_LOST = -14;
    /// The messages of this publisher cannot be loaned or borrowed, only copied.
    HORUS_E_NOT_PINNABLE = -15;
    /// A slot is on loan and the call does not allow that, or no slot is on loan and the call needs
    /// one.
    HORUS_E_LOAN = -16;
    /// There is no space in shared memory for the topic, or for longer messages.
    HORUS_E_NO_SPACE = -17;
    /// A system call failed, for a reason that no other status describes.
    HORUS_E_SYSTEM = -18;
    /// The file is damaged, is not the file of a topic, or has another layout version.
    HORUS_E_DAMAGED = -19;
    /// The node cannot run as it is configured, or the scheduler has no node with the given name.
    HORUS_E_NODE = -20;
    /// The call is not possible in the present state of the scheduler: it has already started, has
    /// not started, or has ended.
    HORUS_E_STATE = -21;
    /// There is not enough memory to map a publisher's messages.
    HORUS_E_NO_MEMORY = -22;
    /// A node failed, and the failure ended the run of the scheduler.
    HORUS_E_FAILED = -23;
    /// The namespace of the topic was removed, or was replaced by a new one.
    HORUS_E_NAMESPACE_REMOVED = -24;
}

/// Error number of Linux that means that there is not enough memory. WHY here: this crate does not
/// use libc.
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// An error that a C function returns: a status, and a text for [`horus_last_error_message`].
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: i32,
    pub(crate) text: String,
    /// True if the error text already contains the name of the topic. The name is then not added
    /// again.
    names_topic: bool,
}

impl Failure {
    #[cold]
    pub(crate) fn new(status: i32, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            names_topic: false,
        }
    }

    /// Adds the name of the topic to the text, unless the text already contains it. Escapes control
    /// characters in the name.
    #[cold]
    pub(crate) fn add_topic_name(self, name: &str) -> Self {
        if self.names_topic {
            return self;
        }
        let text = format!("topic '{}': {}", name.escape_debug(), self.text);
        Self {
            status: self.status,
            text,
            names_topic: true,
        }
    }

    /// Stores the error text for [`horus_last_error_message`], and returns the status.
    #[cold]
    pub(crate) fn store_as_last_error(self) -> i32 {
        LAST_ERROR.with(|last| {
            let mut end = self.text.len().min(ERROR_TEXT_BYTES_MAX - 1);
            while !self.text.is_char_boundary(end) {
                end -= 1;
            }
            for (place, byte) in last.iter().zip(self.text.as_bytes()[..end].iter()) {
                // WHY: a 0 would end the text for C.
                place.set(if *byte == 0 { b'?' } else { *byte });
            }
            last[end].set(0);
        });
        self.status
    }
}

/// Size of each thread's buffer for its last error text, in bytes. It includes the terminating 0.
const ERROR_TEXT_BYTES_MAX: usize = 1024;

/// Empties the error text, and returns `status`: an outcome that is not an error, and that a caller
/// may nevertheless print a text for. The text of an earlier call would name something else.
#[cold]
pub(crate) fn clear_error_text_and_return(status: i32) -> i32 {
    LAST_ERROR.with(|last| last[0].set(0));
    status
}

thread_local! {
    // WHY a buffer that is never reallocated: a pointer to it is valid as long as the thread lives.
    static LAST_ERROR: [Cell<u8>; ERROR_TEXT_BYTES_MAX] =
        const { [const { Cell::new(0) }; ERROR_TEXT_BYTES_MAX] };
}

/// The C function `horus_last_error_message`: see `horus.h`.
#[unsafe(no_mangle)]
pub extern "C" fn horus_last_error_message() -> *const c_char {
    LAST_ERROR.with(|last| last.as_ptr().cast())
}

/// Implements the conversion of error types of `horus_core` to a [`Failure`] with the same text.
/// `names_topic` says whether these texts contain the name of the topic.
macro_rules! failures {
    (names_topic: $names_topic:literal, $($error:ty: |$this:ident| $status:expr;)*) => {
        $(impl From<$error> for Failure {
            #[cold]
            fn from($this: $error) -> Self {
                Self { status: $status, text: $this.to_string(), names_topic: $names_topic }
            }
        })*
    };
}

failures! {
    names_topic: false,
    HandleError: |error| match error {
        HandleError::Busy | HandleError::Shared => HORUS_E_BUSY,
        HandleError::TooMany | HandleError::Nested => HORUS_E_LIMIT,
        HandleError::NoBarrier => HORUS_E_SYSTEM,
        _ => HORUS_E_HANDLE,
    };
    NamespaceError: |error| namespace_status(&error);
    OpenError: |error| open_status(&error);
    PlanError: |_error| HORUS_E_NODE;
    CommandError: |_error| HORUS_E_NODE;
    StartError: |error| match &error {
        StartError::NoNodes => HORUS_E_NODE,
        StartError::Topics(error) => error.as_open_error().map_or(HORUS_E_SYSTEM, open_status),
        _ => HORUS_E_SYSTEM,
    };
    NamespaceRemoveError: |error| match &error {
        NamespaceRemoveError::InUse { .. } => HORUS_E_BUSY,
        NamespaceRemoveError::Io { source, .. } => system_status(source),
        _ => HORUS_E_SYSTEM,
    };
    SchemaTextError: |_error| HORUS_E_SCHEMA;
    WaitError: |error| match error {
        WaitError::Empty => HORUS_E_ARGUMENT,
        _ => HORUS_E_FORKED,
    };
    WaitSetFull: |_error| HORUS_E_LIMIT;
}

failures! {
    names_topic: true,
    TopicError: |error| match &error {
        TopicError::SchemaMismatch { .. } => HORUS_E_TYPE,
        error => error.as_open_error().map_or(HORUS_E_SYSTEM, open_status),
    };
    RecvTimeoutError: |error| match error {
        RecvTimeoutError::Timeout { .. } => HORUS_TIMEOUT,
        RecvTimeoutError::RegionLost { .. } => HORUS_E_REGION_LOST,
        RecvTimeoutError::LaneNotMapped { .. } => HORUS_E_NO_MEMORY,
        RecvTimeoutError::Incompatible { cause, .. } => mismatch_status(cause),
        RecvTimeoutError::NamespaceRemoved { .. } => HORUS_E_NAMESPACE_REMOVED,
        RecvTimeoutError::NameLost { errno, .. } => mapping_error_status(errno),
        _ => HORUS_E_FORKED,
    };
    EndpointWaitError: |error| match error {
        EndpointWaitError::Timeout { .. } => HORUS_TIMEOUT,
        EndpointWaitError::TooMany { .. } => HORUS_E_ARGUMENT,
        EndpointWaitError::Endpoint(EndpointError::RegionLost { .. }) => HORUS_E_REGION_LOST,
        _ => HORUS_E_FORKED,
    };
    LoanError: |error| match error {
        LoanError::Full { .. } => HORUS_FULL,
        LoanError::NotPinnable { .. } => HORUS_E_NOT_PINNABLE,
        LoanError::RegionLost { .. } => HORUS_E_REGION_LOST,
        LoanError::TooLong { .. } | LoanError::SlotTooShort { .. } => HORUS_E_MESSAGE,
        LoanError::NoSpace { errno, .. } => mapping_error_status(errno),
        LoanError::NameLost { errno, .. } => mapping_error_status(errno),
        LoanError::Ended { .. } => HORUS_E_LOAN,
        _ => HORUS_E_FORKED,
    };
    SendError<()>: |error| match error {
        SendError::Full { .. } => HORUS_FULL,
        SendError::RegionLost { .. } => HORUS_E_REGION_LOST,
        SendError::TooLong { .. } | SendError::Unencodable { .. } => HORUS_E_MESSAGE,
        SendError::NoSpace { errno, .. } => mapping_error_status(errno),
        SendError::NameLost { errno, .. } => mapping_error_status(errno),
        _ => HORUS_E_FORKED,
    };
    RecvError: |error| match error {
        RecvError::RegionLost { .. } => HORUS_E_REGION_LOST,
        RecvError::LaneNotMapped { .. } => HORUS_E_NO_MEMORY,
        RecvError::Incompatible { cause, .. } => mismatch_status(cause),
        RecvError::NamespaceRemoved { .. } => HORUS_E_NAMESPACE_REMOVED,
        RecvError::NameLost { errno, .. } => mapping_error_status(errno),
        _ => HORUS_E_FORKED,
    };
    BorrowError: |error| match error {
        BorrowError::NotPinnable { .. } => HORUS_E_NOT_PINNABLE,
        _ => HORUS_E_LIMIT,
    };
}

fn namespace_status(error: &NamespaceError) -> i32 {
    match error {
        NamespaceError::Name(_) => HORUS_E_NAME,
        NamespaceError::BadDirectory { .. } | NamespaceError::UnknownGroup { .. } => {
            HORUS_E_ARGUMENT
        }
        NamespaceError::Io { source, .. }
        | NamespaceError::Registry(RegistryError::Io { source, .. }) => system_status(source),
        NamespaceError::Registry(
            RegistryError::Full { .. } | RegistryError::TooManyOpen { .. },
        ) => HORUS_E_LIMIT,
        NamespaceError::NotADirectory { .. }
        | NamespaceError::Refused { .. }
        | NamespaceError::OfGroup { .. }
        | NamespaceError::NotOfGroup { .. }
        | NamespaceError::Registry(
            RegistryError::NotAFile { .. }
            | RegistryError::Refused { .. }
            | RegistryError::NotOfGroup { .. }
            | RegistryError::Damaged { .. },
        ) => HORUS_E_DAMAGED,
        _ => HORUS_E_SYSTEM,
    }
}

/// Returns the status for an I/O error: the status for the resource that is exhausted, such as
/// memory or space, or `HORUS_E_SYSTEM` for other errors.
fn system_status(error: &io::Error) -> i32 {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, _) => HORUS_E_NO_SPACE,
        // No more file descriptors, in this process or in the system.
        (_, Some(EMFILE | ENFILE)) => HORUS_E_LIMIT,
        _ => HORUS_E_SYSTEM,
    }
}

/// Returns the C status for `cause`, the reason why a subscriber receives no messages from any
/// publisher.
const fn mismatch_status(cause: Mismatch) -> i32 {
    match cause {
        Mismatch::Type => HORUS_E_TYPE,
        Mismatch::Reliability => HORUS_E_QOS,
    }
}

/// Returns the C status for `errno`, the error number of a failed attempt to map longer slots or a
/// new topic file.
fn mapping_error_status(errno: i32) -> i32 {
    match system_status(&io::Error::from_raw_os_error(errno)) {
        // WHY: the file system has space, but this process may not map more.
        HORUS_E_SYSTEM if errno == ENOMEM => HORUS_E_NO_MEMORY,
        status => status,
    }
}

fn open_status(error: &OpenError) -> i32 {
    match error {
        OpenError::Name(_) => HORUS_E_NAME,
        OpenError::Namespace(error) => namespace_status(error),
        OpenError::Io { source, .. } => system_status(source),
        OpenError::NotFound { .. } => HORUS_E_NOT_FOUND,
        OpenError::SchemaMismatch { .. } => HORUS_E_TYPE,
        OpenError::TooManyPublishers { .. } | OpenError::TooManySubscribers { .. } => HORUS_E_LIMIT,
        OpenError::Shape(_) | OpenError::TypeTooLong { .. } => HORUS_E_ARGUMENT,
        OpenError::Forked => HORUS_E_FORKED,
        OpenError::RegionLost { .. } => HORUS_E_REGION_LOST,
        OpenError::NoSpace { .. } => HORUS_E_NO_SPACE,
        OpenError::NotRemoved { .. } => HORUS_E_BUSY,
        OpenError::LaneNotMapped { .. } => HORUS_E_NO_MEMORY,
        OpenError::NotATopic { .. }
        | OpenError::Damaged { .. }
        | OpenError::LayoutVersion { .. }
        | OpenError::StaleOfOther { .. }
        | OpenError::RegistryReplaced { .. } => HORUS_E_DAMAGED,
        _ => HORUS_E_SYSTEM,
    }
}

impl From<PublishLentError> for Failure {
    #[cold]
    fn from(error: PublishLentError) -> Self {
        match error {
            PublishLentError::Send(error) => error.into(),
            PublishLentError::Loan(error) => error.into(),
            error => Self::new(HORUS_E_SYSTEM, error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(error: RegistryError) -> OpenError {
        OpenError::Namespace(NamespaceError::Registry(error))
    }

    #[test]
    fn each_exhausted_resource_has_its_own_status() {
        let io = |number| {
            let doing = "make";
            let path = Default::default();
            NamespaceError::Io {
                doing,
                path,
                source: io::Error::from_raw_os_error(number),
            }
        };
        let full = || RegistryError::Full {
            path: Default::default(),
            limit: 1024,
        };
        let enospc = io::Error::from_raw_os_error(28);
        let create = RegistryError::Io {
            doing: "create",
            path: Default::default(),
            source: enospc,
        };
        assert_eq!(Failure::from(namespace(full())).status, HORUS_E_LIMIT);
        assert_eq!(
            Failure::from(NamespaceError::Registry(full())).status,
            HORUS_E_LIMIT
        );
        assert_eq!(Failure::from(namespace(create)).status, HORUS_E_NO_SPACE);
        assert_eq!(Failure::from(io(28)).status, HORUS_E_NO_SPACE);
        assert_eq!(
            Failure::from(OpenError::Namespace(io(EMFILE))).status,
            HORUS_E_LIMIT
        );
        assert_eq!(Failure::from(io(13)).status, HORUS_E_SYSTEM);
    }

    #[test]
    fn slots_that_cannot_grow_name_the_exhausted_resource() {
        let wanted = [
            (28, HORUS_E_NO_SPACE),
            (ENOMEM, HORUS_E_NO_MEMORY),
            (EMFILE, HORUS_E_LIMIT),
            (13, HORUS_E_SYSTEM),
        ];
        for (errno, status) in wanted {
            assert_eq!(mapping_error_status(errno), status, "{errno}");
        }
    }

    #[test]
    fn a_bad_name_of_a_namespace_is_a_name_error() {
        let name = horus_core::namespace::NamespaceName::new("a/b").unwrap_err();
        let error = OpenError::Namespace(NamespaceError::Name(name));
        assert_eq!(Failure::from(error).status, HORUS_E_NAME);
    }
}
