//! Effects from a TOML file, and the painted attributes that they refer to:
//!
//! ```toml
//! "*elbow*" = { effect = "muscle", axis = [0, 1, 0] }
//! "spine*" = { effect = "folds", omega = 2, sigma = 0.1 }
//! "jaw" = { attribute = "chin", mu = [0, 0.5, 0.5] }
//! ```

use dermis_mesh::Object;
use dermis_mesh::deformer::volume::{Effects, JointEffect, VolumeOptions};

use super::error::VolumeError;

/// Parses the effects in the text of a TOML file.
pub fn effects_from_toml(text: &str) -> Result<Effects, VolumeError> {
    let wrong = |error: &toml::de::Error| VolumeError::Effects(error.to_string().trim().replace('\n', "; "));
    let table: toml::Table = toml::from_str(text).map_err(|error| wrong(&error))?;
    let mut effects = Effects::default();
    for (joints, value) in table {
        let settings: JointEffect = value
            .try_into()
            .map_err(|error: toml::de::Error| VolumeError::Effects(format!("'{joints}': {}", error.message())))?;
        effects.push(joints, settings)?;
    }
    Ok(effects)
}

/// Weights of the points for corrections of the whole body.
pub(super) fn body_weights(options: &VolumeOptions, object: &Object) -> Result<Vec<f64>, VolumeError> {
    match &options.body_attribute {
        Some(name) => painted(object, name),
        None => Ok(vec![1.0; object.mesh.point_count()]),
    }
}

/// Values of an attribute, clamped to be non-negative.
pub(super) fn painted(object: &Object, name: &str) -> Result<Vec<f64>, VolumeError> {
    let values = object.attributes.get(name).filter(|values| values.len() == object.mesh.point_count());
    let values = values.ok_or_else(|| {
        let known = object.attributes.keys().cloned().collect();
        VolumeError::NoSuchAttribute { wanted: name.to_owned(), known }
    })?;
    Ok(values.iter().map(|value| if value.is_finite() { f64::from(value.max(0.0)) } else { 0.0 }).collect())
}

#[cfg(test)]
mod tests {
    use dermis_mesh::deformer::volume::Effect;

    use super::*;

    #[test]
    fn uses_the_first_matching_pattern() {
        let text = "\"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0] }\n\"*\" = { effect = \"folds\", omega = 3 }";
        let effects = effects_from_toml(text).unwrap();
        assert_eq!(effects.of_joint("Elbow_L").effect, Effect::Muscle);
        assert_eq!(effects.of_joint("knee").omega, 3.0);
        assert_eq!(effects.unused(&["knee"]).collect::<Vec<_>>(), ["*elbow*"]);
        assert_eq!(Effects::default().of_joint("knee"), JointEffect::default());
    }

    #[test]
    fn rejects_invalid_effects_and_names_the_cause() {
        for (text, expected) in [
            ("\"a\" = { effect = \"jelly\" }", "jelly"),
            ("\"a\" = { efect = \"plain\" }", "efect"),
            ("\"a\" = { axis = [0, 0, 0] }", "must not be zero"),
            ("\"a\" = { strength = 2 }", "must be between"),
            ("\"a\" = { mu = [0, 0, 0] }", "mu"),
            ("\"a\" = { profile = { x = [[1, 0], [0, 1]] } }", "ascend"),
            ("a = ", "line 1"),
        ] {
            let error = effects_from_toml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
