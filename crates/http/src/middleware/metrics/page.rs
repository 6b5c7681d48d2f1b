//! Metrics whose values are read when Prometheus collects them.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The page of metrics that is being encoded for Prometheus.
///
/// Names follow Prometheus' conventions, except that those of counters are given without `_total`, which is appended. Each name
/// may be added once.
pub struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    /// Creates a page that is written by this encoder.
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// Adds a gauge.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn gauge<N: EncodeGaugeValue>(&mut self, name: &str, help: &str, value: N) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    /// Adds a family of gauges, one for each value of a label.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn gauges<'v, N: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, N)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (of, value) in values {
            ConstGauge::new(value).encode(family.encode_family(&[(label, of)])?)?;
        }
        Ok(())
    }

    /// Adds a counter, with its value since the start of the process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn counter<N: EncodeCounterValue>(&mut self, name: &str, help: &str, value: N) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    /// Adds a family of counters, one for each value of a label.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn counters<'v, N: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, N)>,
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (of, value) in values {
            ConstCounter::new(value).encode(family.encode_family(&[(label, of)])?)?;
        }
        Ok(())
    }
}
