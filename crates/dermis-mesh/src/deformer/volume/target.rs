//! Target volume over time.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A multiple of the rest volume, constant or eased between keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<[f64; 2]>", into = "Vec<[f64; 2]>")]
pub struct Target {
    /// Seconds and factors, ascending in time.
    keys: Vec<[f64; 2]>,
}

/// Error for an invalid volume target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid volume target '{0}': use a positive factor such as 1.05, or ascending keys such as 0:1,1.5:1.2,3:1")]
pub struct TargetError(String);

impl Target {
    /// Creates a target with the same factor at all times.
    pub fn constant(factor: f64) -> Self {
        Self { keys: vec![[0.0, factor]] }
    }

    /// Creates a curve through `keys`, pairs of seconds and factor. Times must be ascending and factors positive.
    pub fn new(keys: Vec<[f64; 2]>) -> Result<Self, TargetError> {
        let ascending = keys.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let sensible = keys.iter().all(|[time, factor]| time.is_finite() && factor.is_finite() && *factor > 0.0);
        if keys.is_empty() || !ascending || !sensible {
            return Err(TargetError(format!("{keys:?}")));
        }
        Ok(Self { keys })
    }

    /// Returns the factor at a time: eased between keys, constant before the first and after the last.
    pub fn at(&self, seconds: f64) -> f64 {
        let after = self.keys.partition_point(|key| key[0] <= seconds);
        let (Some(&[start, from]), Some(&[end, to])) = (self.keys.get(after.wrapping_sub(1)), self.keys.get(after))
        else {
            return if after == 0 { self.keys[0][1] } else { self.keys[self.keys.len() - 1][1] };
        };
        let t = (seconds - start) / (end - start);
        from + (to - from) * t * t * (3.0 - 2.0 * t)
    }
}

impl Default for Target {
    fn default() -> Self {
        Self::constant(1.0)
    }
}

impl TryFrom<Vec<[f64; 2]>> for Target {
    type Error = TargetError;

    fn try_from(keys: Vec<[f64; 2]>) -> Result<Self, TargetError> {
        Self::new(keys)
    }
}

impl From<Target> for Vec<[f64; 2]> {
    fn from(target: Target) -> Self {
        target.keys
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let wrong = || TargetError(text.to_owned());
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        if !text.contains(':') {
            return Self::new(vec![[0.0, number(text)?]]).map_err(|_| wrong());
        }
        let key = |key: &str| {
            let (time, factor) = key.split_once(':').ok_or_else(wrong)?;
            Ok([number(time)?, number(factor)?])
        };
        let keys: Result<Vec<[f64; 2]>, TargetError> = text.split(',').map(key).collect();
        Self::new(keys?).map_err(|_| wrong())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.keys[..] {
            [[_, factor]] => write!(f, "{factor}"),
            keys => {
                let words: Vec<String> = keys.iter().map(|[time, factor]| format!("{time}:{factor}")).collect();
                f.write_str(&words.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_eased_between_its_keys() {
        let target: Target = "0:1,2:1.5, 4:1".parse().unwrap();
        assert_eq!(
            [target.at(-1.0), target.at(0.0), target.at(1.0), target.at(2.0), target.at(9.0)],
            [1.0, 1.0, 1.25, 1.5, 1.0]
        );
        assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        assert_eq!("1.05".parse::<Target>().unwrap().at(3.0), 1.05);
    }

    #[test]
    fn rejects_invalid_targets() {
        for text in ["", "x", "-1", "0", "nan", "1:1,0:1", "0:1,1", "inf"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
