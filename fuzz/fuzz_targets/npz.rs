#![no_main]

use dermis_io::ReadOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = dermis_io::npz::read_bytes(data, &ReadOptions::default());
});
