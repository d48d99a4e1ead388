//! Results of benchmarks as rows, which are printed in tables and written as JSON.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::measure::machine::Machine;
use crate::measure::micro::BatchResult;
use crate::measure::spread::MedianUncertainty;
use crate::measure::stats::{self, Percentiles, PercentilesWithoutOutliers, Ratio, Samples};
use crate::measure::stream::StreamResult;
use crate::measure::tsc::TscClock;
use crate::measure::workload::RoundResult;
use crate::report::additional_values::AdditionalValues;
use crate::report::histograms::{self, RowSamples};

/// Key in the settings of a report for the text that says how each row was measured.
const MEASUREMENT_METHOD_KEY: &str = "basis";

/// One result of a benchmark, which is a line in the tables of the report. Values that do not apply
/// are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The id of the row, which is a path such as `one_way/cross_process/spsc_shm/16B`.
    pub id: String,
    /// Number of messages. `None` if the row measures operations that move no messages, as some
    /// rows of Python and C++ do.
    #[serde(flatten)]
    pub counts: Option<MessageCounts>,
    /// Percentiles of all samples of the row in nanoseconds. No samples were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns: Option<Percentiles>,
    /// Percentiles after Tukey's filter in nanoseconds, shown next to those of all samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_ns: Option<PercentilesWithoutOutliers>,
    /// The 95 % confidence interval of the median, and the variation among the rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<MedianUncertainty>,
    /// Times of the `send` call alone. They are not latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_ns: Option<SendTimes>,
    /// Number of messages received per second in a stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub msgs_per_s: Option<f64>,
    /// 95 % confidence interval of `msgs_per_s`, computed from the rates of the single streams.
    /// Absent if there are fewer than six streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub msgs_per_s_ci: Option<[f64; 2]>,
    /// Number of threads that are busy at the same time. `None` if the id of the row implies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_threads: Option<usize>,
    /// True if there are fewer CPUs than busy threads. The figures then measure the kernel's
    /// scheduler.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oversubscribed: bool,
    /// Median of the row divided by the floor of two cache lines in the same placement and run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_ratio: Option<f64>,
    /// Bootstrap 95 % confidence interval of `floor_ratio`, as its lower and its upper end. Absent
    /// if there are fewer than six rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_ratio_ci: Option<[f64; 2]>,
    /// Values that only some rows have, such as values of schedulers.
    #[serde(flatten)]
    pub additional: AdditionalValues,
    /// All samples of the row. They are written to a file of [`histograms`] and not to the JSON.
    #[serde(skip)]
    pub samples: Option<RowSamples>,
}

/// Number of messages of a row, without the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    /// Number of messages or other operations that were sent.
    pub sent: u64,
    /// Number of messages that were received and verified.
    pub received: u64,
    /// Number of messages that never arrived: `sent - received`.
    pub lost: u64,
}

/// Times of the `send` call alone, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct SendTimes {
    pub p50: f64,
    pub p99: f64,
}

impl Row {
    /// Creates a row from samples whose unit is `ns_per_unit` nanoseconds. All operations count as
    /// successful.
    pub fn from_samples(id: &str, samples: &Samples, ns_per_unit: f64) -> Row {
        Row {
            id: id.to_owned(),
            ns: Some(samples.percentiles(ns_per_unit)),
            filtered_ns: Some(samples.percentiles_without_outliers(ns_per_unit)),
            spread: MedianUncertainty::from_samples(samples, ns_per_unit),
            samples: Some(RowSamples {
                samples: samples.clone(),
                ns_per_unit,
            }),
            ..Row::default()
        }
        .with_counts(samples.count(), samples.count())
    }

    /// Returns the number of messages that were sent; 0 if the row does not record it.
    pub fn sent_messages(&self) -> u64 {
        self.counts.unwrap_or_default().sent
    }

    /// Returns the number of messages that were received; 0 if the row does not
    /// record it.
    pub fn received_messages(&self) -> u64 {
        self.counts.unwrap_or_default().received
    }

    /// Returns the number of messages that were lost; 0 if the row does not record it.
    pub fn lost_messages(&self) -> u64 {
        self.counts.unwrap_or_default().lost
    }

    /// Creates a row from timed batches. Its percentiles are percentiles of the batches' means.
    pub fn from_batches(id: &str, batches: &BatchResult, clock: &TscClock) -> Row {
        Row::from_samples(
            id,
            &batches.batches,
            clock.ns_per_tick / batches.operations_per_batch as f64,
        )
        .with_counts(batches.operations, batches.verified)
    }

    /// Creates a row of one-way latencies from rounds of ping-pong. [`RoundResult::ns_per_unit`]
    /// converts the times to one-way times.
    pub fn from_rounds(id: &str, round: &RoundResult, clock: &TscClock) -> Row {
        Row::from_samples(id, &round.ticks, round.ns_per_unit(clock))
            .with_counts(round.sent, round.received)
    }

    /// Creates a row from repeated streams: adds up the messages of all streams, and sets the rate
    /// to the median of `rates`, as [`with_rates`](Self::with_rates) does.
    pub fn from_streams(id: &str, streams: &[StreamResult], rates: &[f64]) -> Row {
        let sent = streams.iter().map(StreamResult::sent_messages).sum();
        let received = streams.iter().map(|stream| stream.received).sum();
        let row = Row {
            id: id.to_owned(),
            ..Row::default()
        };
        row.with_counts(sent, received).with_rates(rates)
    }

    /// Returns the row with these numbers of messages. Those that were not received are lost.
    pub fn with_counts(mut self, sent: u64, received: u64) -> Row {
        let lost = sent - received;
        self.counts = Some(MessageCounts {
            sent,
            received,
            lost,
        });
        self
    }

    /// Returns the row with its ratio to the floor, and its interval, set to `ratio`.
    pub fn with_floor_ratio(mut self, ratio: Option<Ratio>) -> Row {
        self.floor_ratio = ratio.map(|ratio| ratio.median);
        self.floor_ratio_ci = ratio.and_then(|ratio| ratio.interval);
        self
    }

    /// Returns the row with its rate set to the median of `rates`, which are the rates of the
    /// single streams. The rate has a confidence interval if there are enough streams.
    pub fn with_rates(mut self, rates: &[f64]) -> Row {
        if !rates.is_empty() {
            self.msgs_per_s = Some(stats::median(&mut rates.to_vec()));
            self.msgs_per_s_ci = stats::median_interval(rates);
        }
        self
    }

    /// Returns the row with the number of threads that are busy at the same time. If the machine
    /// has fewer CPUs, the report marks the row as oversubscribed when it is added.
    pub fn with_busy_threads(mut self, threads: usize) -> Row {
        self.busy_threads = Some(threads);
        self
    }

    /// Returns the number of threads that are busy at the same time. If the row does not state this
    /// number, it is two for a row between two threads or processes, otherwise one.
    fn busy_thread_count(&self) -> usize {
        self.busy_threads
            .unwrap_or(1 + usize::from(self.id.contains("/cross_")))
    }

    /// Returns the row with the times of the `send` call, whose unit is `ns_per_unit` nanoseconds.
    pub fn with_send_times(mut self, samples: &Samples, ns_per_unit: f64) -> Row {
        let Percentiles { p50, p99, .. } = samples.percentiles(ns_per_unit);
        self.send_ns = Some(SendTimes { p50, p99 });
        self
    }
}

/// All results of a benchmark run, with the machine, the commit and the settings of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Report {
    pub machine: Machine,
    /// The commit of the sources, with `-dirty` appended if files were changed.
    pub commit: String,
    /// The settings of the run. The setting `basis` says how each row was measured.
    pub settings: Map<String, Value>,
    pub rows: Vec<Row>,
}

impl Report {
    /// Creates a report without rows.
    pub fn new(machine: Machine, commit: String) -> Report {
        Report {
            machine,
            commit,
            settings: Map::new(),
            rows: Vec::new(),
        }
    }

    /// Stores `value` as the setting `name` of the report.
    pub fn set_setting(&mut self, name: &str, value: impl Serialize) {
        self.settings.insert(name.to_owned(), json!(value));
    }

    /// Adds a row, and stores in the settings how it was measured (`RTT/2`, `TSC`, `batches of
    /// 1024`).
    pub fn add_row(&mut self, mut row: Row, method: &str) {
        row.oversubscribed |= row.busy_thread_count() > self.machine.usable_cpus();
        self.set_row_setting(MEASUREMENT_METHOD_KEY, &row.id, method);
        self.rows.push(row);
    }

    /// Stores `value` as the setting `group` of the row with the id `row_id`. All settings of this
    /// name are together in the settings of the report.
    pub fn set_row_setting(&mut self, group: &str, row_id: &str, value: impl Serialize) {
        self.settings.entry(group).or_insert_with(|| json!({}))[row_id] = json!(value);
    }

    /// Returns the row with this id; `None` if it was not measured.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Writes the report as JSON to the file `path`. Writes the histograms of its rows to a file
    /// next to it, whose name ends with `.hlog`.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        text.push('\n');
        std::fs::write(path, text)?;
        histograms::write_histogram_log(&self.rows, &path.with_extension("hlog"))
    }

    /// Returns a text that says how the row `id` was measured, such as `RTT/2`.
    pub fn measurement_method(&self, id: &str) -> &str {
        measurement_method(&self.settings, id)
    }
}

/// Returns the value for the row `id` in the group `group` of the settings of a report. Returns
/// `None` if there is none, or if it has a type other than `T`.
pub(crate) fn row_setting<'a, T: Deserialize<'a>>(
    settings: &'a Map<String, Value>,
    group: &str,
    id: &str,
) -> Option<T> {
    T::deserialize(settings.get(group)?.get(id)?).ok()
}

/// Returns the text that says how the row `id` was measured; empty if the settings have none.
pub(crate) fn measurement_method<'a>(settings: &'a Map<String, Value>, id: &str) -> &'a str {
    row_setting(settings, MEASUREMENT_METHOD_KEY, id).unwrap_or_default()
}
