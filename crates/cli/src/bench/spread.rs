//! How latencies are spread.

use serde::Serialize;

/// Middle, edge and worst, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Spread {
    /// How many were measured.
    pub count: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
}

impl Spread {
    /// Of latencies in microseconds.
    pub fn of(mut micros: Vec<u64>) -> Self {
        micros.sort_unstable();
        let at = |share: f64| {
            let place = ((micros.len() as f64 * share).ceil() as usize).clamp(1, micros.len().max(1)) - 1;
            micros.get(place).map_or(0.0, |micros| *micros as f64 / 1000.0)
        };
        Self { count: micros.len(), p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1.0) }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { count, p50_ms, p99_ms, max_ms } = self;
        write!(f, "p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms, max {max_ms:.1} ms ({count} events)")
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn the_edge_is_the_smallest_that_so_many_stay_below() {
        let spread = Spread::of((1..=1000).map(|ms| ms * 1000).rev().collect());
        assert_eq!((spread.p50_ms, spread.p99_ms, spread.max_ms), (500.0, 990.0, 1000.0));
        assert_eq!(Spread::of(vec![7_000]).p99_ms, 7.0);
        assert_eq!(Spread::of(Vec::new()).max_ms, 0.0);
    }
}
