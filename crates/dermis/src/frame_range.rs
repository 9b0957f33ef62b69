//! A range of frames, `start:end[:step]`, half-open like a slice in Python.
//!
//! Both ends are optional, negative numbers count from the end, and ends outside the frames are clamped to them:
//! `FrameRange::resolve` agrees with Python's `slice.indices` for positive steps. Unlike in Python, a range without
//! frames is an error, since an animation without frames cannot be written.

use std::fmt;
use std::str::FromStr;

/// A selection of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    /// The first frame; negative numbers count from the end. `None`: the first frame.
    pub start: Option<i64>,
    /// The frame before which to stop; negative numbers count from the end. `None`: after the last frame.
    pub end: Option<i64>,
    /// Step between frames, at least 1. Larger values keep fewer frames and divide the frame rate.
    pub step: usize,
}

/// Reasons why a text is not a range of frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameRangeError {
    /// A single number.
    #[error("'{0}' is one number, not a range; one frame is written '{0}:{1}'")]
    NotARange(String, String),
    /// More than three parts.
    #[error("'{0}' has more than three parts; a range is start:end or start:end:step")]
    TooManyParts(String),
    /// A part is not a whole number.
    #[error("'{0}' is not a whole number; a range is start:end or start:end:step")]
    NotANumber(String),
    /// The step is zero or negative.
    #[error("invalid step {0}: it must be 1 or more")]
    Step(i64),
}

impl FrameRange {
    /// Returns `(start, end, step)` for a motion of `count` frames; `None` if no frame is selected.
    pub fn resolve(&self, count: usize) -> Option<(usize, usize, usize)> {
        let count = i64::try_from(count).ok()?;
        let clamp = |at: i64| (if at < 0 { at.saturating_add(count) } else { at }).clamp(0, count);
        let start = self.start.map_or(0, clamp);
        let end = self.end.map_or(count, clamp);
        (start < end && self.step > 0).then_some((start as usize, end as usize, self.step))
    }

    /// Returns whether an end of the range lies outside a motion of `count` frames, and is clamped.
    pub fn exceeds(&self, count: usize) -> bool {
        let outside = |at: i64| usize::try_from(at.unsigned_abs()).map_or(true, |at| at > count);
        [self.start, self.end].into_iter().flatten().any(outside)
    }
}

impl Default for FrameRange {
    /// All frames.
    fn default() -> Self {
        Self { start: None, end: None, step: 1 }
    }
}

impl FromStr for FrameRange {
    type Err = FrameRangeError;

    fn from_str(text: &str) -> Result<Self, FrameRangeError> {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let (start, end, step) = match parts[..] {
            [start, end] => (start, end, ""),
            [start, end, step] => (start, end, step),
            [single] => {
                let number = number(single)?.ok_or_else(|| FrameRangeError::NotANumber(single.to_owned()))?;
                let end = if number == -1 { String::new() } else { number.saturating_add(1).to_string() };
                return Err(FrameRangeError::NotARange(single.to_owned(), end));
            }
            _ => return Err(FrameRangeError::TooManyParts(text.to_owned())),
        };
        let step = number(step)?.unwrap_or(1);
        let step = usize::try_from(step).ok().filter(|&step| step > 0).ok_or(FrameRangeError::Step(step))?;
        Ok(Self { start: number(start)?, end: number(end)?, step })
    }
}

fn number(text: &str) -> Result<Option<i64>, FrameRangeError> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| FrameRangeError::NotANumber(text.to_owned()))
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |at: Option<i64>| at.map(|at| at.to_string()).unwrap_or_default();
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        if self.step == 1 { Ok(()) } else { write!(f, ":{}", self.step) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(range: &str, count: usize) -> Vec<usize> {
        let (start, end, step) = range.parse::<FrameRange>().unwrap().resolve(count).unwrap_or((0, 0, 1));
        (start..end).step_by(step).collect()
    }

    #[test]
    fn ranges_match_slices_of_python() {
        assert_eq!(frames("2:5", 10), [2, 3, 4]);
        assert_eq!(frames("2:9:3", 10), [2, 5, 8]);
        assert_eq!(frames(":3", 10), [0, 1, 2]);
        assert_eq!(frames("8:", 10), [8, 9]);
        assert_eq!(frames("-2:", 10), [8, 9]);
        assert_eq!(frames("::4", 10), [0, 4, 8]);
        assert_eq!(frames(":-8", 10), [0, 1]);
        assert_eq!(frames("-100:100", 3), [0, 1, 2]);
        assert_eq!(frames("5:5", 10), [0usize; 0]);
        assert_eq!(frames("7:3", 10), [0usize; 0]);
        assert_eq!(frames("10:20", 10), [0usize; 0]);
    }

    #[test]
    fn rejects_invalid_ranges_with_a_reason() {
        let error = |text: &str| text.parse::<FrameRange>().unwrap_err().to_string();
        assert_eq!(error("5"), "'5' is one number, not a range; one frame is written '5:6'");
        assert_eq!(error("-1"), "'-1' is one number, not a range; one frame is written '-1:'");
        assert_eq!(error("1:2:3:4"), "'1:2:3:4' has more than three parts; a range is start:end or start:end:step");
        assert_eq!(error("a:3"), "'a' is not a whole number; a range is start:end or start:end:step");
        assert_eq!(error("0:9:0"), "invalid step 0: it must be 1 or more");
        assert_eq!(error("0:9:-2"), "invalid step -2: it must be 1 or more");
    }

    proptest! {
        #[test]
        fn never_leaves_the_frames_there_are(text in "-?[0-9]{0,4}:-?[0-9]{0,4}", count in 0usize..50) {
            if let Ok(range) = text.parse::<FrameRange>() {
                if let Some((start, end, _)) = range.resolve(count) {
                    prop_assert!(start < end && end <= count);
                }
                prop_assert_eq!(range.to_string().parse::<FrameRange>(), Ok(range));
            }
        }
    }
}
