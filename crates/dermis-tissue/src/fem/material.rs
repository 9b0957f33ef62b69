//! Material parameters of the tissue.

/// Young's modulus per node, Poisson's ratio and density.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Young's modulus of each node of the mesh, in pascals; an element uses the mean of its nodes. Larger is stiffer.
    pub young_modulus_pa: Vec<f32>,
    /// Poisson's ratio, 0 to 0.49. Larger preserves volume better and takes more iterations.
    pub poisson_ratio: f32,
    /// Density in kilograms per cubic metre.
    pub density_kg_per_m3: f32,
}

/// Valid range of Young's moduli.
pub const YOUNG_MODULUS_RANGE_PA: std::ops::RangeInclusive<f32> = 1e-2..=1e10;
/// Valid range of Poisson's ratios. Linear elements lock at 0.5.
pub const POISSON_RATIO_RANGE: std::ops::RangeInclusive<f32> = 0.0..=0.49;
/// Valid range of densities.
pub const DENSITY_RANGE_KG_PER_M3: std::ops::RangeInclusive<f32> = 1e-2..=1e6;

/// Error of an invalid material.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MaterialError {
    /// The number of moduli differs from the number of nodes.
    #[error("{moduli} Young's moduli given for {nodes} nodes; one per node is required")]
    Count {
        /// Number of moduli.
        moduli: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A parameter is outside its valid range.
    #[error("invalid {parameter} {value}: it must be between {min} and {max}")]
    Range {
        /// Name of the parameter, with the node if there is one value per node.
        parameter: String,
        /// The invalid value.
        value: f32,
        /// Lower end of the range.
        min: f32,
        /// Upper end of the range.
        max: f32,
    },
}

impl Material {
    /// Creates a material with the same Young's modulus at every node.
    pub fn uniform(node_count: usize, young_modulus_pa: f32, poisson_ratio: f32, density_kg_per_m3: f32) -> Self {
        Self { young_modulus_pa: vec![young_modulus_pa; node_count], poisson_ratio, density_kg_per_m3 }
    }

    /// Checks that the material is valid for a mesh of `node_count` nodes.
    pub fn check(&self, node_count: usize) -> Result<(), MaterialError> {
        if self.young_modulus_pa.len() != node_count {
            return Err(MaterialError::Count { moduli: self.young_modulus_pa.len(), nodes: node_count });
        }
        expect_in("Poisson's ratio", self.poisson_ratio, &POISSON_RATIO_RANGE)?;
        expect_in("density in kg/m³", self.density_kg_per_m3, &DENSITY_RANGE_KG_PER_M3)?;
        for (node, modulus) in self.young_modulus_pa.iter().enumerate() {
            if !YOUNG_MODULUS_RANGE_PA.contains(modulus) {
                expect_in(&format!("Young's modulus of node {node} in Pa"), *modulus, &YOUNG_MODULUS_RANGE_PA)?;
            }
        }
        Ok(())
    }

    /// Shear modulus μ = E / 2(1 + ν) of an element.
    pub(crate) fn shear_modulus(&self, nodes: [u32; 4]) -> f32 {
        let sum: f32 = nodes.iter().map(|&node| self.young_modulus_pa[node as usize]).sum();
        0.25 * sum / (2.0 * (1.0 + self.poisson_ratio))
    }

    /// Ratio of the Lamé parameters, λ/μ = 2ν / (1 − 2ν).
    pub(crate) fn lame_ratio(&self) -> f32 {
        2.0 * self.poisson_ratio / (1.0 - 2.0 * self.poisson_ratio)
    }
}

fn expect_in(parameter: &str, value: f32, range: &std::ops::RangeInclusive<f32>) -> Result<(), MaterialError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(MaterialError::Range { parameter: parameter.to_owned(), value, min: *range.start(), max: *range.end() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_invalid_parameters_and_reports_the_node() {
        let good = Material::uniform(3, 2e3, 0.3, 1e3);
        assert_eq!(good.check(3), Ok(()));
        assert!(good.check(4).unwrap_err().to_string().starts_with("3 Young's moduli given for 4 nodes"));
        let mut soft = good.clone();
        soft.young_modulus_pa[1] = f32::NAN;
        assert!(soft.check(3).unwrap_err().to_string().contains("node 1"));
        assert!(Material { poisson_ratio: 0.5, ..good.clone() }.check(3).is_err());
        assert!(Material { density_kg_per_m3: 0.0, ..good }.check(3).is_err());
    }
}
