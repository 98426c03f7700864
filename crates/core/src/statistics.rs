//! Unbiased estimates from repeated attempts at a task: pass@k and pass^k.
//!
//! Of `n` attempts `c` passed. Both are averages over all ways to draw `k` of the `n`
//! attempts without putting any back:
//!
//! - pass@k = 1 − C(n−c, k) / C(n, k): at least one of `k` passes. Chen et al.,
//!   "Evaluating Large Language Models Trained on Code", arXiv:2107.03374, section 2.1.
//! - pass^k = C(c, k) / C(n, k): all of `k` pass. Yao et al., "τ-bench", arXiv:2406.12045.
//!
//! The quotients are computed as products of factors within [0, 1], so nothing overflows.

/// Outcomes of repeated attempts at one task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempts {
    total: u32,
    passed: u32,
}

/// The question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StatisticsError {
    /// More attempts passed than were made.
    #[error("{passed} of {total} attempts cannot have passed")]
    TooManyPassed {
        /// Attempts made.
        total: u32,
        /// Attempts said to have passed.
        passed: u32,
    },
    /// `k` is zero.
    #[error("k is 0, but at least one attempt has to be drawn")]
    NothingDrawn,
    /// `k` is more than the attempts made; the estimate would be biased.
    #[error("k is {drawn}, more than the {total} attempts made")]
    TooManyDrawn {
        /// Attempts made.
        total: u32,
        /// Attempts to draw, k.
        drawn: u32,
    },
}

impl Attempts {
    /// Takes down that `passed` of `total` attempts passed.
    ///
    /// # Errors
    /// When `passed` is more than `total`.
    pub const fn new(total: u32, passed: u32) -> Result<Self, StatisticsError> {
        if passed > total {
            return Err(StatisticsError::TooManyPassed { total, passed });
        }
        Ok(Self { total, passed })
    }

    /// Attempts made, n.
    #[must_use]
    pub const fn total(self) -> u32 {
        self.total
    }

    /// Attempts that passed, c.
    #[must_use]
    pub const fn passed(self) -> u32 {
        self.passed
    }

    /// The probability that at least one of `k` attempts passes.
    ///
    /// # Errors
    /// When `k` is zero or more than the attempts made.
    pub fn pass_at(self, k: u32) -> Result<f64, StatisticsError> {
        self.check(k)?;
        Ok(1.0 - all_from(self.total.saturating_sub(self.passed), self.total, k))
    }

    /// The probability that all of `k` attempts pass.
    ///
    /// # Errors
    /// When `k` is zero or more than the attempts made.
    pub fn pass_all(self, k: u32) -> Result<f64, StatisticsError> {
        self.check(k)?;
        Ok(all_from(self.passed, self.total, k))
    }

    const fn check(self, k: u32) -> Result<(), StatisticsError> {
        if k == 0 {
            return Err(StatisticsError::NothingDrawn);
        }
        if k > self.total {
            return Err(StatisticsError::TooManyDrawn {
                total: self.total,
                drawn: k,
            });
        }
        Ok(())
    }
}

/// C(part, k) / C(total, k): the probability that `k` draws from `total` without putting
/// back all fall into `part`. Needs `part ≤ total` and `k ≤ total`.
fn all_from(part: u32, total: u32, k: u32) -> f64 {
    if k > part {
        return 0.0;
    }
    // C(m, k) / C(n, k) is a product of k factors, or, since it equals
    // C(n−k, n−m) / C(n, n−m), of n−m factors: take the shorter one.
    let other = total.saturating_sub(part);
    if k <= other {
        (0..k)
            .map(|i| f64::from(part.saturating_sub(i)) / f64::from(total.saturating_sub(i)))
            .product()
    } else {
        (0..other)
            .map(|i| {
                f64::from(total.saturating_sub(k).saturating_sub(i))
                    / f64::from(total.saturating_sub(i))
            })
            .product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binomial(n: u32, k: u32) -> u128 {
        if k > n {
            return 0;
        }
        (0..k).fold(1, |value, i| value * u128::from(n - i) / u128::from(i + 1))
    }

    /// Integer division keeps 18 digits, far below the tolerance of the comparison.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the quotient has at most 60 bits and is compared within 1e-12"
    )]
    fn fraction(part: u128, whole: u128) -> f64 {
        const SCALE: u128 = 1_000_000_000_000_000_000;
        (part * SCALE / whole) as f64 / SCALE as f64
    }

    #[test]
    fn both_equal_the_exact_fractions() {
        for n in 1..=40 {
            for c in 0..=n {
                let attempts = Attempts::new(n, c).unwrap();
                for k in 1..=n {
                    let all = binomial(n, k);
                    let at = fraction(all - binomial(n - c, k), all);
                    let every = fraction(binomial(c, k), all);
                    assert!(
                        (attempts.pass_at(k).unwrap() - at).abs() < 1e-12,
                        "{n} {c} {k}"
                    );
                    assert!(
                        (attempts.pass_all(k).unwrap() - every).abs() < 1e-12,
                        "{n} {c} {k}"
                    );
                }
            }
        }
    }

    #[test]
    fn large_numbers_stay_finite_and_cheap() {
        let attempts = Attempts::new(u32::MAX, u32::MAX - 1).unwrap();
        assert_eq!(attempts.pass_at(2), Ok(1.0));
        assert!(attempts.pass_all(u32::MAX - 1).unwrap() < 1e-8);
        let rare = Attempts::new(1_000_000, 1).unwrap();
        assert!((rare.pass_at(500_000).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn impossible_questions_are_errors() {
        assert_eq!(
            Attempts::new(3, 4),
            Err(StatisticsError::TooManyPassed {
                total: 3,
                passed: 4
            })
        );
        let attempts = Attempts::new(3, 1).unwrap();
        assert_eq!(attempts.pass_at(0), Err(StatisticsError::NothingDrawn));
        assert_eq!(
            attempts.pass_all(4),
            Err(StatisticsError::TooManyDrawn { total: 3, drawn: 4 })
        );
    }
}
