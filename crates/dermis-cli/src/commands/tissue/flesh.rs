//! What the flesh is, as options: numbers, or values painted on the skin.

use std::collections::BTreeMap;
use std::str::FromStr;

use dermis::bodies::{BodyOptions, read_body};
use dermis::names;
use dermis::tissue::layered::{BuildOptions, Flesh, Thickness};
use dermis::tissue::layers::FleshOptions;

use crate::report::Report;

/// What is between bones and skin
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Flesh")]
pub(super) struct FleshArgs {
    /// The thickness d of the simulated layer: by 'flesh', a number (1 is none, 2 is thick), or the NAME of painted
    /// values of the input, or of another file as `FILE:NAME`
    #[arg(long, value_name = "D")]
    thickness: Option<Source>,
    /// Painted thickness 0 to 1 means this range of d
    #[arg(long, value_name = "LOW:HIGH", value_parser = range)]
    thickness_range: Option<[f32; 2]>,
    /// The part of the elements that the layer has where the thickness is by flesh, 0 to 1
    #[arg(long, value_name = "PART", value_parser = part)]
    layer: Option<f64>,
    /// Young's modulus in pascal: a number, or the NAME of painted values of the input, or `FILE:NAME`
    #[arg(long, value_name = "PA")]
    stiffness: Option<Source>,
    /// Painted stiffness 0 to 1 means this range of Young's modulus
    #[arg(long, value_name = "LOW:HIGH", value_parser = range)]
    stiffness_range: Option<[f32; 2]>,
    /// Poisson's ratio, 0 to 0.49: larger keeps volume better
    #[arg(long, value_name = "NU")]
    poisson: Option<f32>,
    /// Density in kilograms per cubic metre
    #[arg(long, value_name = "RHO")]
    density: Option<f32>,
    /// The rate at which motion decays, per second
    #[arg(long, value_name = "RATE", value_parser = rate)]
    damping: Option<f32>,
    /// Let hands, feet and head be simulated too
    #[arg(long)]
    whole_body: bool,
}

/// A number, or the name of values on the skin.
#[derive(Debug, Clone, PartialEq)]
enum Source {
    ByFlesh,
    Number(f32),
    Painted { file: Option<String>, name: String },
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "flesh" {
            return Ok(Self::ByFlesh);
        }
        if let Ok(number) = text.parse::<f32>() {
            return if number.is_finite() { Ok(Self::Number(number)) } else { Err("it must be finite".to_owned()) };
        }
        match text.rsplit_once(':') {
            Some((file, name)) if !file.is_empty() && !name.is_empty() => {
                Ok(Self::Painted { file: Some(file.to_owned()), name: name.to_owned() })
            }
            Some(_) => Err("this is neither a number nor NAME nor FILE:NAME".to_owned()),
            None => Ok(Self::Painted { file: None, name: text.to_owned() }),
        }
    }
}

/// Values on the skin, by name.
type Attributes = BTreeMap<String, Vec<f32>>;

impl FleshArgs {
    /// Puts what was asked for into the options of a build.
    pub(super) fn apply(&self, options: &mut BuildOptions, own: &Attributes) -> Result<(), Report> {
        let by_flesh = |part: Option<f64>| {
            let default = FleshOptions::default();
            Thickness::ByFlesh(FleshOptions { element_fraction: part.unwrap_or(default.element_fraction), ..default })
        };
        options.thickness = match &self.thickness {
            None | Some(Source::ByFlesh) => by_flesh(self.layer),
            Some(Source::Number(value)) => Thickness::Uniform(*value),
            Some(painted) => Thickness::PerPoint(painted_values(painted, own, self.thickness_range)?),
        };
        match &self.stiffness {
            None => {}
            Some(Source::Number(value)) => options.young_modulus_pa = vec![*value],
            Some(painted) => options.young_modulus_pa = painted_values(painted, own, self.stiffness_range)?,
        }
        options.poisson_ratio = self.poisson.unwrap_or(options.poisson_ratio);
        options.density_kg_per_m3 = self.density.unwrap_or(options.density_kg_per_m3);
        options.damping_rate_per_s = self.damping.unwrap_or(options.damping_rate_per_s);
        options.pin_end_effectors = !self.whole_body;
        Ok(())
    }

    /// Whether values that the input itself has are asked for.
    pub(super) fn is_painted_on_the_input(&self) -> bool {
        let is_own = |source: &Option<Source>| matches!(source, Some(Source::Painted { file: None, .. }));
        is_own(&self.thickness) || is_own(&self.stiffness)
    }

    /// Puts what was asked for into `flesh`; what was not stays.
    pub(super) fn edit(&self, flesh: &mut Flesh, own: &Attributes) -> Result<(), Report> {
        if self.layer.is_some() || self.whole_body || self.thickness == Some(Source::ByFlesh) {
            return Err(Report::new("a thickness by flesh is found when a body is built")
                .hint("run 'dermis tissue build' again, or give painted values or a number"));
        }
        let count = flesh.thickness.len();
        let values = |source: &Source, range: Option<[f32; 2]>| match source {
            Source::Number(value) => Ok(vec![*value; count]),
            painted => painted_values(painted, own, range),
        };
        if let Some(source) = &self.thickness {
            flesh.thickness = values(source, self.thickness_range)?;
        }
        if let Some(source) = &self.stiffness {
            flesh.young_modulus_pa = values(source, self.stiffness_range)?;
        }
        flesh.poisson_ratio = self.poisson.unwrap_or(flesh.poisson_ratio);
        flesh.density_kg_per_m3 = self.density.unwrap_or(flesh.density_kg_per_m3);
        flesh.damping_rate_per_s = self.damping.unwrap_or(flesh.damping_rate_per_s);
        Ok(())
    }
}

fn painted_values(source: &Source, own: &Attributes, range: Option<[f32; 2]>) -> Result<Vec<f32>, Report> {
    let Source::Painted { file, name } = source else {
        return Err(Report::new("'flesh' is a thickness, not a stiffness"));
    };
    let other = match file {
        Some(file) => {
            let read = read_body(file, &BodyOptions::default()).map_err(|error| Report::from(error).in_file(file))?;
            Some(read.attributes)
        }
        None => None,
    };
    let attributes = other.as_ref().unwrap_or(own);
    let Some(values) = attributes.get(name) else {
        let known: Vec<&str> = attributes.keys().map(String::as_str).collect();
        let listed = if known.is_empty() { "it has none".to_owned() } else { format!("it has: {}", known.join(", ")) };
        let closest = names::closest(name, known).map(|name| format!("did you mean '{name}'?"));
        let report = Report::new(format!("there are no values called '{name}' on the skin")).detail(listed);
        let report = file.iter().fold(report, |report, file| report.in_file(file.as_str()));
        return Err(report.maybe_hint(closest).hint("paint some with 'dermis view FILE --paint NAME -o FILE'"));
    };
    let [low, high] = range.unwrap_or([0.0, 1.0]);
    Ok(values.iter().map(|value| low + (high - low) * value).collect())
}

fn range(text: &str) -> Result<[f32; 2], String> {
    let parsed = text.split_once(':').and_then(|(low, high)| Some([low.parse().ok()?, high.parse().ok()?]));
    match parsed {
        Some(range @ [low, high]) if f32::is_finite(low) && f32::is_finite(high) => Ok(range),
        _ => Err("this is not a range such as 1:2".to_owned()),
    }
}

fn part(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("this is not a part from 0 to 1".to_owned()),
    }
}

fn rate(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(rate) if rate.is_finite() && rate >= 0.0 => Ok(rate),
        _ => Err("this is not a rate of at least 0 per second".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_numbers_names_or_names_in_files() {
        assert_eq!("flesh".parse(), Ok(Source::ByFlesh));
        assert_eq!("1.5".parse(), Ok(Source::Number(1.5)));
        assert_eq!("soft".parse(), Ok(Source::Painted { file: None, name: "soft".into() }));
        let in_file = Source::Painted { file: Some("a.glb".into()), name: "soft".into() };
        assert_eq!("a.glb:soft".parse(), Ok(in_file));
        assert!("a.glb:".parse::<Source>().is_err());
        assert!("inf".parse::<Source>().is_err());
    }
}
