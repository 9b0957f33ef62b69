//! Options of the flesh: numbers, or values painted on the skin.

use std::collections::BTreeMap;
use std::str::FromStr;

use dermis::bodies::{BodyOptions, read_body};
use dermis::names;
use dermis::tissue::layered::{BuildOptions, Flesh, Thickness, YOUNG_MODULUS_PA};
use dermis::tissue::layers::FleshOptions;

use crate::diagnostic::{Diagnostic, InFile};
use crate::options::{expect_effect, fraction, non_negative, positive};

/// Thickness and material of the flesh
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Flesh")]
pub(super) struct FleshArgs {
    /// Set the relative depth d of the simulated layer (unitless): a number (1 simulates nothing, 2 is thick), the
    /// NAME of a painted attribute, or `FILE:NAME` for an attribute of another file [default: from the shape]
    #[arg(long, value_name = "D")]
    thickness: Option<Source>,
    /// Map painted values from 0 to 1 to this range of d [default: 0:1]
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, requires = "thickness")]
    thickness_range: Option<[f32; 2]>,
    #[arg(long, value_name = "PA", help = format!("Set Young's modulus in pascals: a number, the NAME of a painted attribute, or `FILE:NAME` [default: {YOUNG_MODULUS_PA} for bodies of human size, more for larger ones]"))]
    stiffness: Option<Source>,
    /// Map painted values from 0 to 1 to this range of Young's modulus in pascals [default: 0:1]
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, requires = "stiffness")]
    stiffness_range: Option<[f32; 2]>,
    #[arg(long, value_name = "NU", value_parser = non_negative, help = format!("Set Poisson's ratio, 0 to 0.49; larger values preserve volume better [default: {}]", BuildOptions::default().poisson_ratio))]
    poisson: Option<f64>,
    #[arg(long, value_name = "RHO", value_parser = positive, help = format!("Set the density in kg/m³ [default: {}]", BuildOptions::default().density_kg_per_m3))]
    density: Option<f64>,
    #[arg(long, value_name = "RATE", value_parser = non_negative, help = format!("Set the damping rate per second [default: {}]", BuildOptions::default().damping_rate_per_s))]
    damping: Option<f64>,
}

/// Extent of the simulated layer
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Flesh")]
pub(super) struct LayerArgs {
    #[arg(long, value_name = "FRACTION", value_parser = fraction, conflicts_with = "thickness", help = format!("Simulate this fraction of the elements, 0 to 1, if --thickness is not given [default: {}]", FleshOptions::default().element_fraction))]
    layer: Option<f64>,
    /// Simulate hands, feet and head as well
    #[arg(long)]
    whole_body: bool,
}

/// Help of `argument` if values that are not given stay unchanged.
pub(super) fn keep_by_default(argument: clap::Arg) -> clap::Arg {
    let is_value = ["thickness", "stiffness", "poisson", "density", "damping"].contains(&argument.get_id().as_str());
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    match help.split_once(" [default: ") {
        Some((help, _)) if is_value => argument.help(format!("{help} [default: unchanged]")),
        _ => argument,
    }
}

/// A number, or the name of an attribute of the skin.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    Number(f32),
    Painted { file: Option<String>, name: String },
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse::<f32>() {
            return if number.is_finite() { Ok(Self::Number(number)) } else { Err("it must be finite".to_owned()) };
        }
        match text.rsplit_once(':') {
            Some((file, name)) if !file.is_empty() && !name.is_empty() => {
                Ok(Self::Painted { file: Some(file.to_owned()), name: name.to_owned() })
            }
            Some(_) => Err("it must be a number, NAME or FILE:NAME".to_owned()),
            None => Ok(Self::Painted { file: None, name: text.to_owned() }),
        }
    }
}

/// Attributes of the skin, by name.
type Attributes = BTreeMap<String, Vec<f32>>;

impl LayerArgs {
    /// Applies the options to `options`, with the flesh of `args`.
    pub(super) fn apply(
        &self,
        args: &FleshArgs,
        options: &mut BuildOptions,
        own: &Attributes,
    ) -> Result<(), Diagnostic> {
        let default = FleshOptions::default();
        let element_fraction = self.layer.unwrap_or(default.element_fraction);
        let by_flesh = Thickness::ByFlesh(FleshOptions { element_fraction, ..default });
        options.thickness = match &args.thickness {
            None => by_flesh,
            Some(Source::Number(value)) => Thickness::Uniform(*value),
            Some(painted) => Thickness::PerPoint(painted.values(own, args.thickness_range, 0)?),
        };
        let modulus = args.stiffness.as_ref().map(|source| source.values(own, args.stiffness_range, 1)).transpose()?;
        options.young_modulus_pa = modulus.unwrap_or_else(|| options.young_modulus_pa.clone());
        let set = |value: Option<f64>, field: &mut f32| *field = value.map_or(*field, |value| value as f32);
        set(args.poisson, &mut options.poisson_ratio);
        set(args.density, &mut options.density_kg_per_m3);
        set(args.damping, &mut options.damping_rate_per_s);
        options.pin_end_effectors = !self.whole_body;
        args.check_ranges()
    }
}

impl FleshArgs {
    /// Returns whether no option is given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { thickness, stiffness, poisson, density, damping, .. } = self;
        thickness.is_none() && stiffness.is_none() && [poisson, density, damping].iter().all(|value| value.is_none())
    }

    /// Applies the given options to `flesh` and keeps the other values.
    pub(super) fn edit(&self, flesh: &mut Flesh, own: &Attributes) -> Result<(), Diagnostic> {
        let count = flesh.thickness.len();
        if let Some(source) = &self.thickness {
            flesh.thickness = source.values(own, self.thickness_range, count)?;
        }
        if let Some(source) = &self.stiffness {
            flesh.young_modulus_pa = source.values(own, self.stiffness_range, count)?;
        }
        let set = |value: Option<f64>, field: &mut f32| *field = value.map_or(*field, |value| value as f32);
        set(self.poisson, &mut flesh.poisson_ratio);
        set(self.density, &mut flesh.density_kg_per_m3);
        set(self.damping, &mut flesh.damping_rate_per_s);
        self.check_ranges()
    }

    /// Rejects ranges for values that are not painted.
    fn check_ranges(&self) -> Result<(), Diagnostic> {
        let is_number = |source: &Option<Source>| matches!(source, Some(Source::Number(_)));
        let (thickness, stiffness) = (!is_number(&self.thickness), !is_number(&self.stiffness));
        expect_effect([
            (self.thickness_range.is_some(), thickness, "--thickness-range", "if --thickness is a painted attribute"),
            (self.stiffness_range.is_some(), stiffness, "--stiffness-range", "if --stiffness is a painted attribute"),
        ])
    }
}

impl Source {
    /// The values: a number repeated `count` times, or painted values mapped from 0 and 1 to `range`.
    fn values(&self, own: &Attributes, range: Option<[f32; 2]>, count: usize) -> Result<Vec<f32>, Diagnostic> {
        let (file, name) = match self {
            Self::Number(value) => return Ok(vec![*value; count]),
            Self::Painted { file, name } => (file, name),
        };
        let other = match file {
            Some(file) => Some(read_body(file, &BodyOptions::default()).in_file(file)?.attributes),
            None => None,
        };
        let attributes = other.as_ref().unwrap_or(own);
        let Some(values) = attributes.get(name) else {
            let known: Vec<&str> = attributes.keys().map(String::as_str).collect();
            let listed = if known.is_empty() {
                "attributes: none".to_owned()
            } else {
                format!("attributes: {}", known.join(", "))
            };
            let closest = names::closest(name, known).map(|name| format!("did you mean '{name}'?"));
            let diagnostic = Diagnostic::new(format!("there is no attribute called '{name}'")).detail(listed);
            let diagnostic = file.iter().fold(diagnostic, Diagnostic::in_file);
            return Err(diagnostic.maybe_hint(closest).hint("paint one with 'dermis view FILE --paint NAME -o FILE'"));
        };
        let [low, high] = range.unwrap_or([0.0, 1.0]);
        Ok(values.iter().map(|value| low + (high - low) * value).collect())
    }
}

fn range(text: &str) -> Result<[f32; 2], String> {
    let parsed = text.split_once(':').and_then(|(low, high)| Some([low.parse().ok()?, high.parse().ok()?]));
    match parsed {
        Some(range @ [low, high]) if f32::is_finite(low) && f32::is_finite(high) => Ok(range),
        _ => Err("it must be a range such as 1:2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_numbers_names_or_names_in_files() {
        assert_eq!("1.5".parse(), Ok(Source::Number(1.5)));
        assert_eq!("soft".parse(), Ok(Source::Painted { file: None, name: "soft".into() }));
        let in_file = Source::Painted { file: Some("a.glb".into()), name: "soft".into() };
        assert_eq!("a.glb:soft".parse(), Ok(in_file));
        assert!("a.glb:".parse::<Source>().is_err());
        assert!("inf".parse::<Source>().is_err());
    }
}
