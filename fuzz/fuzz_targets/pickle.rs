#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dermis_fuzz::exercise(dermis_io::smpl::read_pickle_bytes(data)));
