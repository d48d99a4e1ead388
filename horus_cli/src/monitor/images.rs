//! The newest images of topics, for the web pages that show them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::http::{Request, Response};
use super::image_file::ImageFile;
use super::server::RequestContext;
use super::watch::WatchedTopic;

/// Minimum time between two images of a topic. Images in between are not read.
const IMAGE_PERIOD: Duration = Duration::from_millis(200);

/// Time after which a topic is closed if no page has requested its images.
const UNUSED_TIME_MAX: Duration = Duration::from_secs(5);

/// Maximum number of topics whose images can be shown at the same time. A request for a further
/// topic gets an error.
const TOPICS_MAX: usize = 8;

/// Width of a picture in pixels, if the request does not state one.
const DEFAULT_WIDTH: usize = 480;

/// The topics whose images pages have requested, and their newest images.
#[derive(Debug, Default)]
pub(super) struct Images(Mutex<BTreeMap<String, Arc<Mutex<ImageTopic>>>>);

/// A topic whose images a page shows.
#[derive(Debug)]
struct ImageTopic {
    watch: WatchedTopic,
    read: Option<Instant>,
    last_request: Instant,
}

impl Images {
    /// Answers the query `topic=TOPIC&width=PIXELS&after=NUMBER` with the newest image of the
    /// topic. The answer is empty if there is no image, or if the newest image has the number
    /// NUMBER.
    pub(super) fn newest_image_response(
        &self,
        request: &Request,
        request_context: RequestContext<'_>,
    ) -> Result<Response, Response> {
        let parameter = |name: &'static str| request.parameters(name).next();
        let number = |name| parameter(name).and_then(|text| text.parse().ok());
        let topic = parameter("topic").unwrap_or_default();
        let (after, width) = (
            number("after"),
            number("width").unwrap_or(DEFAULT_WIDTH as u64),
        );
        let source = self.source(topic)?;
        let mut source = lock_mutex(&source);
        source.read_newest_image(request_context);
        let Some((number, message)) = source.watch.newest_message() else {
            return Ok(Response::empty());
        };
        if after == Some(number) {
            return Ok(Response::empty());
        }
        let picture = ImageFile::of(message, width as usize);
        let picture = picture.map_err(|text| Response::error(409, &text))?;
        let response = Response::new(picture.content_type, picture.file);
        let response = response.with_header("Horus-Number", number);
        Ok(response.with_header("Horus-Picture", picture.description))
    }

    /// Closes the topics whose images no page has requested for [`UNUSED_TIME_MAX`].
    pub(super) fn close_unused(&self) {
        lock_mutex(&self.0).retain(|_, source| {
            // A source that is locked is in use.
            let source = source.try_lock();
            source.map_or(true, |source| {
                source.last_request.elapsed() < UNUSED_TIME_MAX
            })
        });
    }

    fn source(&self, topic: &str) -> Result<Arc<Mutex<ImageTopic>>, Response> {
        let mut topics = lock_mutex(&self.0);
        if let Some(source) = topics.get(topic) {
            return Ok(Arc::clone(source));
        }
        if topics.len() >= TOPICS_MAX {
            let text = format!("images of {TOPICS_MAX} topics are being shown");
            return Err(Response::error(503, &text));
        }
        let source = Arc::new(Mutex::new(ImageTopic {
            watch: WatchedTopic::new(topic),
            read: None,
            last_request: Instant::now(),
        }));
        topics.insert(topic.to_owned(), Arc::clone(&source));
        Ok(source)
    }
}

impl ImageTopic {
    /// Reads the newest image of the topic, unless less than [`IMAGE_PERIOD`] has passed since the
    /// last read.
    fn read_newest_image(&mut self, request_context: RequestContext<'_>) {
        self.last_request = Instant::now();
        if self.read.is_some_and(|read| read.elapsed() < IMAGE_PERIOD) {
            return;
        }
        self.read = Some(self.last_request);
        let known = Arc::clone(&request_context.broadcast.lock_newest_sample().known);
        self.watch.open_or_close(&known, request_context.context);
        self.watch.read();
    }
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is complete whenever the lock is free, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
