//! Broken inputs for every reader: generic damage to valid files, and the check that a reader survives it.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]

mod peak_memory;

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use dermis_io::Error;
use dermis_mesh::Scene;

/// Maximum time for a broken input; inputs are small, so this is generous even without optimization.
const MAX_TIME: Duration = Duration::from_secs(10);
/// Limit of `Budget` for the smallest file, doubled for the reader's own copies.
const MAX_BYTES: usize = 2 * (256 << 20);

/// At least 200 damaged versions of `valid`, each with a name that describes how to reproduce it.
pub fn damage(valid: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut random = SplitMix(valid.len() as u64);
    let mut broken = vec![("empty".to_owned(), Vec::new())];
    let length = valid.len();
    for step in 0..48 {
        // Dense near the start, which contains the headers, and evenly spaced over the rest.
        let cut = if step < 24 { step.min(length) } else { length * (step - 23) / 26 };
        broken.push((format!("cut at {cut}"), valid[..cut.min(length)].to_vec()));
    }
    broken.push(("one byte short".to_owned(), valid[..length.saturating_sub(1)].to_vec()));
    broken.push(("doubled".to_owned(), [valid, valid].concat()));
    for _ in 0..80 {
        let at = random.below(length);
        let bit = random.below(8);
        let mut bytes = valid.to_vec();
        bytes[at] ^= 1 << bit;
        broken.push((format!("bit {bit} of byte {at} flipped"), bytes));
    }
    const VALUES: [(&str, [u8; 8]); 5] = [
        ("all ones", [0xff; 8]),
        ("zeros", [0; 8]),
        ("huge little-endian", [0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]),
        ("huge big-endian", [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ("NaNs", [0, 0, 0xc0, 0x7f, 0, 0, 0xf8, 0x7f]),
    ];
    for step in 0..16 {
        for (name, value) in VALUES {
            // Headers first, then anywhere.
            let at = if step < 8 { (step * 4).min(length.saturating_sub(8)) } else { random.below(length) };
            let mut bytes = valid.to_vec();
            let end = (at + 8).min(length);
            bytes[at..end].copy_from_slice(&value[..end - at]);
            broken.push((format!("{name} at {at}"), bytes));
        }
    }
    for _ in 0..16 {
        let (from, to, count) = (random.below(length), random.below(length), random.below(64) + 1);
        let mut bytes = valid.to_vec();
        let count = count.min(length - from.max(to));
        bytes[to..to + count].copy_from_slice(&valid[from..from + count]);
        broken.push((format!("{count} bytes from {from} copied to {to}"), bytes));
    }
    assert!(broken.len() >= 200);
    broken
}

/// Reads each input; panics if the reader panics, takes too long or uses too much memory. Errors and results are both
/// acceptable.
pub fn assert_survives(inputs: &[(String, Vec<u8>)], read: impl Fn(&[u8]) -> Result<Scene, Error>) {
    for (name, bytes) in inputs {
        let start = Instant::now();
        let (outcome, peak) = peak_memory::measure(|| {
            std::panic::catch_unwind(AssertUnwindSafe(|| read(bytes).and_then(|scene| read_all_frames(&scene))))
        });
        assert!(outcome.is_ok(), "panicked on: {name}");
        assert!(peak < MAX_BYTES, "took {peak} bytes on: {name}");
        assert!(start.elapsed() < MAX_TIME, "took {:?} on: {name}", start.elapsed());
    }
}

/// Reads all frames: they can be read lazily, and damage to them must not cause a panic either.
fn read_all_frames(scene: &Scene) -> Result<(), Error> {
    for object in &scene.objects {
        if let Some(motion) = object.base_motion()? {
            for frame in 0..motion.frame_count().min(1000) {
                motion.frame(frame)?;
            }
        }
    }
    Ok(())
}

/// A small deterministic random number generator.
pub struct SplitMix(pub u64);

impl SplitMix {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `end` (0 if `end` is 0).
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}

/// Path of a real file in the folder `DERMIS_DATA`, if it exists; otherwise prints that a test is skipped.
pub fn shared_data(name: &str) -> Option<std::path::PathBuf> {
    let beside = || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("DERMIS_DATA").map_or_else(beside, Into::into).join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {name} does not exist");
    None
}
