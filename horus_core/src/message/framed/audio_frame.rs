//! Uncompressed audio in frames.

use super::{ArrayLayout, Framed, Header, array_error_text};
use crate::message::{DType, FrameId, Primitive, Tail, timestamp_now_ns};

crate::message! {
    /// The header of an [`AudioFrame`]: uncompressed samples, with the samples of all channels at
    /// one time stored together.
    #[derive(Default)]
    pub struct AudioFrameHeader {
        /// Time of the first sample, by CLOCK_REALTIME: nanoseconds.
        pub timestamp_ns: u64,
        /// Number of samples of each channel: count.
        pub samples: u64,
        /// Sample rate of each channel: hertz.
        pub sample_rate: u32,
        /// Number of channels: count.
        pub channels: u16,
        /// Type of a sample, the code of a [`DType`]: no unit.
        pub dtype: u8,
        /// Reserved, 0: no unit.
        pub _reserved0: u8,
        /// Frame of the microphone: text.
        pub frame_id: FrameId,
        /// Reserved, 0: no unit.
        pub _reserved1: u64,
    }
}
layout! {
    AudioFrameHeader = 64 {
        timestamp_ns: 0, samples: 8, sample_rate: 16, channels: 20, dtype: 22, _reserved0: 23,
        frame_id: 24, _reserved1: 56,
    }
}

/// Uncompressed audio: the same number of samples of each channel, interleaved.
///
/// ```
/// use horus_core::message::{AudioFrame, AudioFrameHeader, DType};
///
/// let header = AudioFrameHeader::new(DType::I16, 2, 48_000, 480);
/// let mut frame = AudioFrame::zeroed(header)?;
/// frame.data_as_mut::<[i16; 2]>()?[0] = [1000, -1000];
/// assert_eq!((frame.data().len(), frame.seconds()), (1920, 0.01));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type AudioFrame<D = super::Buffer> = Framed<AudioFrameHeader, D>;

impl AudioFrameHeader {
    /// Returns the header for `samples` samples of each channel, stamped with the current time. The
    /// rate is in hertz.
    #[must_use]
    pub fn new(dtype: DType, channels: u16, sample_rate: u32, samples: u64) -> Self {
        let timestamp_ns = timestamp_now_ns();
        let dtype = dtype.code();
        Self {
            timestamp_ns,
            samples,
            sample_rate,
            channels,
            dtype,
            ..Self::default()
        }
    }

    /// Returns the duration of the frame in seconds; 0 if the sample rate is 0.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        match self.sample_rate {
            0 => 0.0,
            rate => self.samples as f64 / f64::from(rate),
        }
    }
}

impl Header for AudioFrameHeader {
    const NAME: &str = "AudioFrame";
    const TRAILING_DATA: Tail = Tail {
        name: "data",
        primitive: Primitive::U8,
    };
    const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

    fn data_bytes(&self) -> u64 {
        let size = DType::from_code(self.dtype).map_or(0, DType::size) as u64;
        self.samples.saturating_mul(u64::from(self.channels) * size)
    }

    fn validate(&self) -> Result<(), String> {
        DType::from_code(self.dtype)
            .map(|_| ())
            .ok_or_else(|| format!("samples of type {}", self.dtype))
    }

    fn array_layout(&self) -> Option<ArrayLayout> {
        let dtype = DType::from_code(self.dtype)?;
        let size = dtype.size() as u64;
        let channels = u64::from(self.channels);
        Some(ArrayLayout::new(
            dtype,
            &[(self.samples, channels * size), (channels, size)],
        ))
    }

    fn reshape(&mut self, dtype: DType, shape: &[u64]) -> Result<(), String> {
        let refused = || {
            array_error_text(
                Self::NAME,
                "samples and at most 65535 channels",
                dtype,
                shape,
            )
        };
        let (samples, channels) = match *shape {
            [samples] => (samples, 1),
            [samples, channels] => (samples, channels.try_into().map_err(|_| refused())?),
            _ => return Err(refused()),
        };
        (self.samples, self.channels, self.dtype) = (samples, channels, dtype.code());
        Ok(())
    }
}
