//! Parsers of numeric options: values out of range are rejected with the range.

use dermis::io::budget::parse_bytes;

/// Defines parsers of numeric options.
///
/// Values outside the range are rejected with the range in the message; clap adds option and value.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident: $type:ty, $holds:expr, $range:literal) => {
        $(#[$doc])*
        pub(crate) fn $name(text: &str) -> Result<$type, String> {
            let holds: fn(&$type) -> bool = $holds;
            text.trim().parse().ok().filter(holds).ok_or_else(|| concat!("it must be ", $range).to_owned())
        }
    };
}

number!(
    /// A count of at least 1.
    count: usize, |count| *count >= 1, "a whole number of at least 1"
);
number!(
    /// A count of at least 0.
    count_or_none: usize, |_| true, "a whole number of at least 0"
);
number!(
    /// A size of square maps.
    map_size: usize, |size| (16..=8192).contains(size), "a whole number from 16 to 8192"
);
number!(
    /// A number of representative points.
    representative_points: usize, |points| (1..=500).contains(points), "a whole number from 1 to 500"
);
number!(
    /// A number of steps per frame.
    substeps: usize, |steps| (1..=1000).contains(steps), "a whole number from 1 to 1000"
);
number!(
    /// Poisson's ratio.
    poisson_ratio: f64, |ratio| (0.0..=0.49).contains(ratio), "a number from 0 to 0.49"
);
number!(
    /// A length, factor or limit.
    positive: f64, |number| number.is_finite() && *number > 0.0, "positive and finite"
);
number!(
    /// A rate, weight or limit.
    non_negative: f64, |number| number.is_finite() && *number >= 0.0, "0 or more"
);
number!(
    /// A fraction.
    fraction: f64, |number| (0.0..=1.0).contains(number), "a number from 0 to 1"
);
/// A frame rate.
pub(crate) fn frame_rate(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        Ok(_) => Err("a frame rate must be positive and finite, such as 24".to_owned()),
        Err(_) => Err("it must be a number of frames per second, such as 24".to_owned()),
    }
}

number!(
    /// A duration of recorded motion.
    duration: f64, |seconds| *seconds > 0.0 && *seconds <= 3600.0, "a time in seconds above 0 and at most 3600"
);

/// Width and height of a picture.
pub(crate) fn picture_size(text: &str) -> Result<[usize; 2], String> {
    let sides = text.trim().split_once(['x', 'X', '×']);
    let sides = sides.and_then(|(width, height)| Some([width.trim().parse().ok()?, height.trim().parse().ok()?]));
    sides.ok_or_else(|| "it must be a width and a height in pixels, such as 1600x1200".to_owned())
}

/// A point: three numbers.
pub(crate) fn coordinates(text: &str) -> Result<[f32; 3], String> {
    let numbers = text.split(',').map(|number| number.trim().parse::<f32>().ok().filter(|number| number.is_finite()));
    let numbers = numbers.collect::<Option<Vec<f32>>>().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| "it must be three numbers, such as 0,1.5,0".to_owned())
}

/// A number of bytes, with K, M, G or T for powers of 1024.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).filter(|bytes| *bytes >= 1 << 20);
    bytes.ok_or_else(|| "it must be a number of bytes of at least 1M, such as 500M or 8G".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_points_are_lists_of_numbers() {
        assert_eq!(picture_size("1600x1200"), Ok([1600, 1200]));
        assert!(["", "1600", "x", "1600x", "-1x5", "1.5x2"].iter().all(|text| picture_size(text).is_err()));
        assert_eq!(coordinates("0, 1.5,-2"), Ok([0.0, 1.5, -2.0]));
        assert!(["", "1,2", "1,2,3,4", "1,2,nan"].iter().all(|text| coordinates(text).is_err()));
    }

    #[test]
    fn numbers_out_of_range_are_rejected_with_the_range() {
        assert_eq!(count("-3").unwrap_err(), "it must be a whole number of at least 1");
        assert!(count("0").is_err() && count("2.5").is_err() && count("7") == Ok(7));
        assert!(positive("nan").is_err() && positive("0").is_err() && positive("1e-3") == Ok(1e-3));
        assert!(fraction("1.1").is_err() && fraction("1") == Ok(1.0));
        assert!(non_negative("-0.1").is_err() && duration("4000").is_err());
        assert_eq!((memory("500M"), memory("2g"), memory("1.5GB")), (Ok(500 << 20), Ok(2 << 30), Ok(3 << 29)));
        assert!(memory("0").is_err() && memory("nan").is_err() && memory("8X").is_err() && memory("1T") == Ok(1 << 40));
    }
}
