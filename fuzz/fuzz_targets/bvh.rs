#![no_main]

use dermis_io::ReadOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dermis_fuzz::exercise(dermis_io::read_bytes("bvh", data, &ReadOptions::default())));
