//! Universal Scene Description: `.usda`, `.usdc`, `.usd` and `.usdz`, reading and writing.
//!
//! Reading ([`read`]) uses the `openusd` crate, which parses and composes; writing ([`write`](write())) is implemented
//! here, because Pixar's USD rejects the binary files that the crate writes.

mod read;
mod write;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

pub(crate) use write::write;

/// Entry of a prim's `customData` for a name that USD does not allow.
const ORIGINAL_NAME: &str = "dermisName";

/// Animation with the shape weights of a stored pose.
const STORED_POSE: &str = "StoredPose";
/// Attribute of a `Skeleton` that lists the joints of a rig if there are additional helper joints.
const BONES: &str = "dermis:bones";

/// A name without characters that need escapes in `.usda`, which not all parsers support: they are replaced by `%` and
/// two digits.
fn encode_name(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len()), |mut encoded, character| {
        if matches!(character, '"' | '\\' | '%') || character.is_ascii_control() {
            encoded.extend(['%'].into_iter().chain(format!("{:02x}", u32::from(character)).chars()));
        } else {
            encoded.push(character);
        }
        encoded
    })
}

/// Inverse of [`encode_name`].
fn decode_name(name: &str) -> String {
    let mut parts = name.split('%');
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some(character) = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            decoded.push(char::from(character));
            decoded.push_str(&part[2..]);
        } else {
            decoded.push('%');
            decoded.push_str(part);
        }
    }
    decoded
}

/// Reads a file and referenced files in its folder and subfolders.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    read::read(input, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_names_round_trip() {
        for name in ["plain", "100 % \"sure\"\\", "tab\tnewline\n", "ünï%c3"] {
            let encoded = encode_name(name);
            assert!(!encoded.contains(['"', '\\', '\n']), "{encoded}");
            assert_eq!(decode_name(&encoded), name);
        }
    }
}
