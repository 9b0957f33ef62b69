//! Universal Scene Description: `.usda`, `.usdc`, `.usd` and `.usdz`, in and out.
//!
//! Reading ([`read`]) goes through the `openusd` crate, which parses and composes; writing ([`write`](write())) is our
//! own, because the binary files that the crate writes are refused by Pixar's USD.

mod read;
mod write;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

pub(crate) use write::write;

/// The entry of a prim's `customData` that keeps the name that the prim could not have.
const ORIGINAL_NAME: &str = "dermisName";

/// The animation that holds the shape weights of a stored pose.
const STORED_POSE: &str = "StoredPose";
/// Attribute of a `Skeleton` that lists the joints of a rig if there are additional helper joints.
const BONES: &str = "dermis:bones";

/// A name without characters that need escapes in `.usda`, which not every parser undoes: those are `%` and two digits.
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

/// Undoes [`encode_name`].
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

/// Reads a file; others that it names are read if they lie in its folder or below.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    read::read(input, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_names_come_back() {
        for name in ["plain", "100 % \"sure\"\\", "tab\tnewline\n", "ünï%c3"] {
            let encoded = encode_name(name);
            assert!(!encoded.contains(['"', '\\', '\n']), "{encoded}");
            assert_eq!(decode_name(&encoded), name);
        }
    }
}
