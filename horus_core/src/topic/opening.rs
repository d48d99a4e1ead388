//! Opens a topic with the settings of an endpoint, for endpoints of any kind.

use std::sync::Arc;

use horus_shm::{
    NameLost, NameState, Namespace, OpenError, RawConsumer, RawProducer, ReadMode, Request,
    Segment, TopicName, TypeInfo,
};

use super::dynamic::DynamicType;
use super::{Qos, mismatch};
use crate::log::{Level, report_warning};
use crate::topic::error::TopicError;

/// The settings with which an endpoint of a topic is opened.
#[derive(Debug, Clone)]
pub(super) struct OpenSettings {
    pub(super) name: String,
    /// The message type of the endpoint; `None` to use the type of the topic, which must then
    /// exist.
    pub(super) info: Option<TypeInfo>,
    /// The namespace of the topic; `None` for the namespace that the environment variables select.
    pub(super) namespace: Option<Arc<Namespace>>,
    pub(super) qos: Qos,
    pub(super) max_message_bytes: Option<u64>,
    /// The default message: when a received message is shorter, the subscriber takes the missing
    /// bytes from this one. `None` if the missing bytes are zeros.
    pub(super) defaults: Option<Box<[u8]>>,
}

impl OpenSettings {
    pub(super) fn new(name: &str, info: Option<TypeInfo>) -> Self {
        let name = name.to_owned();
        let qos = Qos::new();
        Self {
            name,
            info,
            namespace: None,
            qos,
            max_message_bytes: None,
            defaults: None,
        }
    }

    /// Opens the topic's file. If the topic does not exist, creates it, or fails if these settings
    /// have no message type.
    pub(super) fn open_or_create_segment(&self) -> Result<Arc<Segment>, TopicError> {
        match self.info {
            Some(_) => self.open_segment_with(self.qos, Segment::open_or_create),
            None => self.open_segment_with(self.qos, Segment::open),
        }
    }

    fn open_segment_with(
        &self,
        qos: Qos,
        open: impl FnOnce(&Arc<Namespace>, &TopicName, &Request) -> Result<Arc<Segment>, OpenError>,
    ) -> Result<Arc<Segment>, TopicError> {
        horus_shm::set_on_name_lost(log_name_lost);
        let open = || {
            let name = TopicName::new(&self.name)?;
            let namespace = match &self.namespace {
                Some(namespace) => Arc::clone(namespace),
                None => Namespace::current()?,
            };
            let info = match &self.info {
                Some(info) => info.clone(),
                None => {
                    let segment = Segment::inspect(&namespace, &name)?;
                    type_of_topic(&segment)
                }
            };
            let mut request = qos.request(info);
            request.max_message_bytes = self.max_message_bytes;
            request.defaults.clone_from(&self.defaults);
            open(&namespace, &name, &request)
        };
        open().map_err(|error| self.to_topic_error(error))
    }

    pub(super) fn open_producer(&self, segment: &Arc<Segment>) -> Result<RawProducer, TopicError> {
        let raw = RawProducer::new(Arc::clone(segment), self.qos.stall_policy());
        let raw = raw.map_err(|error| self.to_topic_error(error))?;
        if raw.has_displaced_history() {
            let label = segment.label();
            let text = format_args!(
                "{label}: the latched messages of an earlier publisher are gone, because this \
                 publisher had to take its place: let fewer publishers run, or remove the topic \
                 when none does"
            );
            report_warning(Level::Warn, text);
        }
        mismatch::log_unmatched_subscribers(&raw);
        Ok(raw)
    }

    /// Reserves the memory of a lane for a publisher with these settings.
    pub(super) fn reserve_lane(&self, segment: Arc<Segment>) -> Result<(), TopicError> {
        RawProducer::reserve_lane(segment).map_err(|error| self.to_topic_error(error))
    }

    pub(super) fn open_consumer(&self, segment: &Arc<Segment>) -> Result<RawConsumer, TopicError> {
        let reading = if self.qos.requests_reliable() {
            ReadMode::Gated
        } else {
            ReadMode::KeepLast
        };
        let raw = RawConsumer::new(Arc::clone(segment), reading);
        raw.map_err(|error| self.to_topic_error(error))
    }

    /// Opens a reader of the topic, which must exist, and maps all memory of the topic read-only.
    pub(super) fn open_observer(&self) -> Result<RawConsumer, TopicError> {
        let qos = Qos::new().strict(self.qos.is_strict());
        let qos = qos.strict_schema(self.qos.is_schema_strict());
        let segment = self.open_segment_with(qos, Segment::open)?;
        RawConsumer::new(segment, ReadMode::Observer).map_err(|error| self.to_topic_error(error))
    }

    fn to_topic_error(&self, error: OpenError) -> TopicError {
        TopicError::new(&self.name, error)
    }
}

/// Returns the type of the messages that the topic of `segment` carries now. If messages vary in
/// length, its `bytes` is the length of the slots with which a new publisher begins.
fn type_of_topic(segment: &Segment) -> TypeInfo {
    let mut info = segment.present_type();
    if info.sized {
        // WHY not the length of the present slots: it is that of the longest message so far, and a
        // publisher of short messages must not reserve as much memory.
        let created_with = segment.type_info();
        info.bytes = match created_with.is_same_as(&info) {
            true => created_with.bytes,
            false => info.bytes.min(DynamicType::DEFAULT_MAX_MESSAGE_BYTES),
        };
    }
    info
}

/// Logs that a topic of this process has lost its file or its namespace.
#[cold]
fn log_name_lost(lost: &NameLost) {
    let topic = lost.topic;
    match lost.state {
        NameState::NamespaceRemoved => report_warning(
            Level::Error,
            format_args!(
                "{topic}: its namespace was removed or replaced: only those who have the topic \
                 open still exchange messages: drop all handles, open the namespace again, and \
                 then the topic. logind removes the namespaces of a user at logout, see RemoveIPC \
                 in docs/reliability.md"
            ),
        ),
        _ => report_warning(
            Level::Warn,
            format_args!(
                "{topic}: its file was removed or replaced: this process continues in the file \
                 that has the name now"
            ),
        ),
    }
}
