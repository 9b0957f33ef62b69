//! `MurmurHash3` (x64, 128 bits, seed 0): the key that Alembic stores before every sample.
//!
//! The algorithm is Austin Appleby's, in the public domain. Alembic writes the two 64-bit words in little-endian order
//! and treats samples with equal keys and lengths as equal, so that repeated arrays are stored once.

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// The 16-byte key that precedes a sample of `bytes` in the file.
pub(super) fn key(bytes: &[u8]) -> [u8; 16] {
    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut h1, mut h2) = (0u64, 0u64);
    for block in blocks {
        let (k1, k2) = words(block);
        h1 = (h1 ^ scramble_first(k1)).rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ scramble_second(k2)).rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    // A missing word scrambles to zero, so a short tail is the same as one padded with zeros.
    let mut padded = [0; 16];
    padded[..tail.len()].copy_from_slice(tail);
    let (k1, k2) = words(&padded);
    h1 ^= scramble_first(k1) ^ bytes.len() as u64;
    h2 ^= scramble_second(k2) ^ bytes.len() as u64;

    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    let mut digest = [0; 16];
    digest[..8].copy_from_slice(&h1.to_le_bytes());
    digest[8..].copy_from_slice(&h2.to_le_bytes());
    digest
}

fn words(block: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*block);
    (both as u64, (both >> 64) as u64)
}

fn scramble_first(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn scramble_second(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut h: u64) -> u64 {
    h ^= h >> 33;
    h = h.wrapping_mul(0xff51_afd7_ed55_8ccd);
    h ^= h >> 33;
    h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_matches_known_digests() {
        let counting: Vec<u8> = (0..64).collect();
        let known: [(&[u8], u128); 5] = [
            (b"", 0),
            (b"hello", 0x029b_bd41_b3a7_d8cb_191d_ae48_6a90_1e5b),
            (b"The quick brown fox jumps over the lazy dog", 0x6c1b_07bc_7bbc_4be3_4793_9ac4_a93c_437a),
            (&counting, 0x0123_818d_2d52_d5ff_a18e_3356_eb38_22a2),
            (&counting[..47], 0x8248_9b08_7c63_0f8a_8c85_6ed9_4165_9776),
        ];
        for (bytes, digest) in known {
            assert_eq!(u128::from_be_bytes(key(bytes)), digest);
        }
    }
}
