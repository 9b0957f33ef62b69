#![no_main]

use dermis_io::ReadOptions;
use libfuzzer_sys::fuzz_target;

// The two files are concatenated, separated by a zero byte.
fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |&byte| byte == 0);
    let nodes = parts.next().unwrap_or_default();
    dermis_fuzz::exercise(dermis_io::tetgen::read_bytes(nodes, parts.next(), &ReadOptions::default()));
});
