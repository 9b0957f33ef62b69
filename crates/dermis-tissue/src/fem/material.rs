//! What the tissue is made of.

/// Young's modulus per node, Poisson's ratio and density.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Young's modulus of each node of the mesh, in pascal; an element has the mean of its nodes. Larger is stiffer.
    pub young_modulus_pa: Vec<f32>,
    /// Poisson's ratio, 0 to 0.49; larger keeps volume better and costs iterations.
    pub poisson_ratio: f32,
    /// Density in kilograms per cubic metre.
    pub density_kg_per_m3: f32,
}

/// The range of Young's moduli.
pub const YOUNG_MODULUS_RANGE_PA: std::ops::RangeInclusive<f32> = 1e-2..=1e10;
/// The range of Poisson's ratios: at 0.5 the linear element locks.
pub const POISSON_RATIO_RANGE: std::ops::RangeInclusive<f32> = 0.0..=0.49;
/// The range of densities.
pub const DENSITY_RANGE_KG_PER_M3: std::ops::RangeInclusive<f32> = 1e-2..=1e6;

/// A material that cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MaterialError {
    /// A modulus for each node is missing.
    #[error("{moduli} Young's moduli for {nodes} nodes: there must be one for each")]
    Count {
        /// The number of moduli.
        moduli: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A number is outside its range.
    #[error("{what} is {value}, outside {least} to {most}")]
    Range {
        /// What, and of which node.
        what: String,
        /// Its value.
        value: f32,
        /// The lower end of the range.
        least: f32,
        /// The upper end of the range.
        most: f32,
    },
}

impl Material {
    /// The same tissue everywhere.
    pub fn uniform(node_count: usize, young_modulus_pa: f32, poisson_ratio: f32, density_kg_per_m3: f32) -> Self {
        Self { young_modulus_pa: vec![young_modulus_pa; node_count], poisson_ratio, density_kg_per_m3 }
    }

    /// Refuses what cannot be simulated on a mesh of `node_count` nodes.
    pub fn check(&self, node_count: usize) -> Result<(), MaterialError> {
        if self.young_modulus_pa.len() != node_count {
            return Err(MaterialError::Count { moduli: self.young_modulus_pa.len(), nodes: node_count });
        }
        expect_in("Poisson's ratio", self.poisson_ratio, &POISSON_RATIO_RANGE)?;
        expect_in("the density in kg/m³", self.density_kg_per_m3, &DENSITY_RANGE_KG_PER_M3)?;
        for (node, modulus) in self.young_modulus_pa.iter().enumerate() {
            if !YOUNG_MODULUS_RANGE_PA.contains(modulus) {
                expect_in(&format!("Young's modulus of node {node} in Pa"), *modulus, &YOUNG_MODULUS_RANGE_PA)?;
            }
        }
        Ok(())
    }

    /// μ = E / 2(1 + ν) of an element.
    pub(crate) fn shear_modulus(&self, nodes: [u32; 4]) -> f32 {
        let sum: f32 = nodes.iter().map(|&node| self.young_modulus_pa[node as usize]).sum();
        0.25 * sum / (2.0 * (1.0 + self.poisson_ratio))
    }

    /// λ/μ = 2ν / (1 − 2ν).
    pub(crate) fn lame_ratio(&self) -> f32 {
        2.0 * self.poisson_ratio / (1.0 - 2.0 * self.poisson_ratio)
    }
}

fn expect_in(what: &str, value: f32, range: &std::ops::RangeInclusive<f32>) -> Result<(), MaterialError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(MaterialError::Range { what: what.to_owned(), value, least: *range.start(), most: *range.end() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_what_cannot_be_simulated_and_says_where() {
        let good = Material::uniform(3, 2e3, 0.3, 1e3);
        assert_eq!(good.check(3), Ok(()));
        assert!(good.check(4).unwrap_err().to_string().starts_with("3 Young's moduli for 4 nodes"));
        let mut soft = good.clone();
        soft.young_modulus_pa[1] = f32::NAN;
        assert!(soft.check(3).unwrap_err().to_string().contains("node 1"));
        assert!(Material { poisson_ratio: 0.5, ..good.clone() }.check(3).is_err());
        assert!(Material { density_kg_per_m3: 0.0, ..good }.check(3).is_err());
    }
}
