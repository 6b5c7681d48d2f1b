//! Figures that are taken when somebody looks.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// What is shown to Prometheus, to which figures are added. Names are as Prometheus has them, but counters have no
/// `_total`, which is added. Each name is added once. Whatever is added fails only when it cannot be written.
pub struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    /// Adds to what this writes.
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// Adds a figure that goes up and down.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn gauge<N: EncodeGaugeValue>(&mut self, name: &str, help: &str, value: N) -> fmt::Result {
        ConstGauge::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Gauge)?)
    }

    /// Adds such figures of several, each under the value of a label.
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

    /// Adds a figure that counts since the start.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn counter<N: EncodeCounterValue>(&mut self, name: &str, help: &str, value: N) -> fmt::Result {
        ConstCounter::new(value).encode(self.0.encode_descriptor(name, help, None, MetricType::Counter)?)
    }

    /// Adds such figures of several, each under the value of a label.
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
