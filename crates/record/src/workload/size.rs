//! Lengths: of values in bytes, of scans in records, of batches in keys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// A length: fixed or drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Size {
    /// Always the same.
    Fixed {
        /// The length.
        bytes: u64,
    },
    /// Each length in the range equally often.
    Uniform {
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// Normal, rounded to nearest and clamped to min..=max (`db_bench`'s
    /// `value_size_distribution_type=normal`: sigma a sixth of the range).
    Normal {
        /// The mean, before clamping.
        mean: f64,
        /// Standard deviation.
        sigma: f64,
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// exp(Normal(ln median, sigma)), rounded to nearest and clamped to 1..=max (`LinkBench`).
    Lognormal {
        /// The median.
        median: u64,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The longest.
        max: u64,
    },
    /// min + n with the probability p (1-p)^n, and max for all that is longer (`LinkBench`'s
    /// multiget: p 0.382, and as it runs from 2 to 128).
    Geometric {
        /// The share of the shortest.
        p: f64,
        /// The shortest.
        min: u64,
        /// The longest.
        max: u64,
    },
    /// Generalized Pareto, location + sigma/k ((1-u)^-k - 1) rounded up, as `db_bench`'s mixgraph
    /// draws its values and scans. Lengths shorter than min become min, also after folding.
    Pareto {
        /// The shortest.
        min: u64,
        /// Shape.
        k: f64,
        /// Scale.
        sigma: f64,
        /// The longest.
        max: u64,
        /// Where the distribution begins, before rounding.
        #[serde(default, skip_serializing_if = "is_zero")]
        location: f64,
        /// The treatment of lengths above max.
        #[serde(default, skip_serializing_if = "Over::is_fold")]
        over: Over,
    },
    /// A distribution that was counted.
    Empirical {
        /// Lengths, ascending, and the share of draws that are at most so long: the last is 1.
        up_to: Vec<(u64, f64)>,
    },
}

/// The treatment of lengths above the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// The remainder modulo the longest, as `db_bench`.
    #[default]
    Fold,
    /// The longest.
    Clamp,
}

impl Over {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_fold(&self) -> bool {
        *self == Self::Fold
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

impl Size {
    /// Returns a distribution of lengths by their weights, of which at least one is above 0.
    pub fn empirical(weights: &[(u64, f64)]) -> Self {
        let mut sorted = weights.to_vec();
        sorted.sort_by_key(|(length, _)| *length);
        let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let mut up_to: Vec<(u64, f64)> = Vec::new();
        for (length, weight) in sorted.into_iter().filter(|(_, weight)| *weight > 0.0) {
            sum += weight;
            match up_to.last_mut().filter(|last| last.0 == length) {
                Some(last) => last.1 = sum / total,
                None => up_to.push((length, sum / total)),
            }
        }
        // Corrects what was lost to rounding.
        if let Some(last) = up_to.last_mut() {
            last.1 = 1.0;
        }
        Self::Empirical { up_to }
    }

    /// The mean length. For the clamped distributions this is computed numerically from their
    /// quantiles, so that plans and records agree with what is drawn.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed { bytes } => bytes as f64,
            Self::Uniform { min, max } => f64::midpoint(min as f64, max as f64),
            // The sum of (1-p)^n for n from 1 to max - min.
            Self::Geometric { p, min, max } => {
                min as f64 + (1.0 - p) / p * (1.0 - (1.0 - p).powf((max - min) as f64))
            }
            Self::Empirical { ref up_to } => {
                let mut before = 0.0;
                let parts = up_to.iter().map(|&(length, share)| {
                    let share_of_length = share - std::mem::replace(&mut before, share);
                    length as f64 * share_of_length
                });
                parts.sum()
            }
            Self::Normal { .. } | Self::Lognormal { .. } | Self::Pareto { .. } => {
                cached_mean(self, || mean_of_quantiles(|u| self.quantile(u) as f64))
            }
        }
    }

    /// The length that `u`, uniform in `0..1`, stands for.
    pub fn quantile(&self, u: f64) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { min, max } => (min + (u * (max - min + 1) as f64) as u64).min(max),
            Self::Normal { mean, sigma, min, max } => {
                let drawn = mean + sigma * normal_quantile(u);
                drawn.round().clamp(min as f64, max as f64) as u64
            }
            Self::Lognormal { median, sigma, max } => {
                let drawn = median as f64 * (sigma * normal_quantile(u)).exp();
                drawn.round().clamp(1.0, max as f64) as u64
            }
            Self::Geometric { p, min, max } => {
                let above = (-u).ln_1p() / (-p).ln_1p();
                min.saturating_add(above as u64).min(max)
            }
            Self::Pareto { min, k, sigma, max, location, over } => {
                let drawn = location + sigma / k * ((1.0 - u).powf(-k) - 1.0);
                let drawn = drawn.ceil() as u64;
                let inside = match over {
                    Over::Fold if drawn > max => drawn % max.max(1),
                    Over::Fold | Over::Clamp => drawn.min(max),
                };
                inside.max(min).max(1)
            }
            Self::Empirical { ref up_to } => {
                let index = up_to.partition_point(|(_, share)| *share <= u);
                up_to.get(index).or(up_to.last()).map_or(1, |(length, _)| *length)
            }
        }
    }

    /// The shortest length that can be drawn.
    pub fn min(&self) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { min, .. } | Self::Normal { min, .. } | Self::Geometric { min, .. } => {
                min
            }
            Self::Lognormal { .. } => 1,
            Self::Pareto { min, .. } => min.max(1),
            Self::Empirical { ref up_to } => up_to.first().map_or(1, |(length, _)| *length),
        }
    }

    /// The longest length that can be drawn.
    pub fn max(&self) -> u64 {
        match *self {
            Self::Fixed { bytes } => bytes,
            Self::Uniform { max, .. }
            | Self::Normal { max, .. }
            | Self::Lognormal { max, .. }
            | Self::Geometric { max, .. }
            | Self::Pareto { max, .. } => max,
            Self::Empirical { ref up_to } => up_to.last().map_or(1, |(length, _)| *length),
        }
    }
}

/// A mean that takes milliseconds, computed once: a plan of thousands of cases asks for the same.
fn cached_mean(size: &Size, mean: impl FnOnce() -> f64) -> f64 {
    thread_local!(static KNOWN: RefCell<Vec<(Size, f64)>> = const { RefCell::new(Vec::new()) });
    KNOWN.with_borrow_mut(|means| {
        if let Some((_, mean)) = means.iter().find(|(of, _)| of == size) {
            return *mean;
        }
        let mean = mean();
        means.push((size.clone(), mean));
        mean
    })
}

/// The mean of a distribution given by its quantile function, by the midpoint rule.
fn mean_of_quantiles(quantile: impl Fn(f64) -> f64) -> f64 {
    const POINTS: u32 = 100_000;
    let sum: f64 = (0..POINTS).map(|i| quantile((f64::from(i) + 0.5) / f64::from(POINTS))).sum();
    sum / f64::from(POINTS)
}

/// The standard normal quantile by Acklam's rational approximation (relative error 1.15e-9).
pub fn normal_quantile(u: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    const LOW: f64 = 0.024_25;
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, a| sum * x + a);
    let tail = |q: f64| horner(&C, q) / (horner(&D, q) * q + 1.0);
    let u = u.clamp(1e-300, 1.0 - 1e-16);
    if u < LOW {
        tail((-2.0 * u.ln()).sqrt())
    } else if u > 1.0 - LOW {
        -tail((-2.0 * (1.0 - u).ln()).sqrt())
    } else {
        let q = u - 0.5;
        let r = q * q;
        horner(&A, r) * q / (horner(&B, r) * r + 1.0)
    }
}
