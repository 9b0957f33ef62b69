//! Layered bodies (Kim et al. 2017, §4): a body model extended to tetrahedra, divided into an inside that follows the
//! pose and a simulated layer.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | data of a layered body, validated; its flesh can be edited |
//! | `binding` | binding of the skin to the nodes |
//! | `volume` | volumetric body model, §4.1 |
//! | `build` | construction from a body model |
//! | `rigged` | body model of a skin without a rig |
//! | `simulate` | simulation of a layered body |
//! | `record` | simulated motion as a mesh sequence |
//! | `facts` | statistics of a layered body |
//!
//! Lengths are metres.

mod binding;
mod build;
mod facts;
mod record;
mod rigged;
mod simulate;
mod volume;

use std::sync::Arc;

use dermis_mesh::{MeshError, TetMesh, UpAxis};

pub use binding::SkinBinding;
pub use build::{
    BuildOptions, BuildReport, Mesh, Mesher, Thickness, YOUNG_MODULUS_PA, build, modulus_for_size, rest_bones,
};
pub use facts::{LayerFacts, StepTimes};
pub use record::{
    MAX_SUBSTEPS, Recording, RecordingMeasures, STEP_S, SimulateOptions, check_forces, simulate, standing, steps_in,
};
pub use rigged::{RiggedSkin, rigged};
pub(crate) use simulate::unfolded;
pub use simulate::{BodySimulation, BodySimulationOptions, FrameReport};
pub use volume::volume_model;

use binding::Carriers;

use crate::dynamics::DriveError;
use crate::fem::{Material, MaterialError, ModelError};
use crate::layers::{DistanceField, Layers, LayersError};
use dermis_body::rigging::RiggingError;
use dermis_body::{BodyError, BodyModel, BodyMotion, expect_count};
use dermis_tet::bone_weights::BoneWeightsError;
use dermis_tet::harmonic::{BoundedWeightsError, Harmonic, HarmonicError};
use dermis_tet::tetrahedra::TetError;

/// Flesh under each point of the skin.
#[derive(Debug, Clone, PartialEq)]
pub struct Flesh {
    /// Relative depth d of each point of the skin; flesh above 1 is simulated, and a larger value gives a thicker
    /// layer.
    pub thickness: Vec<f32>,
    /// Young's modulus under each point of the skin, in pascals.
    pub young_modulus_pa: Vec<f32>,
    /// Poisson's ratio.
    pub poisson_ratio: f32,
    /// Density in kilograms per cubic metre.
    pub density_kg_per_m3: f32,
    /// Decay rate of velocities, per second.
    pub damping_rate_per_s: f32,
}

/// Components of a layered body.
#[derive(Debug, Clone, PartialEq)]
pub struct LayeredParts {
    /// Body model of the visible skin.
    pub body: BodyModel,
    /// Its motions.
    pub motions: Vec<BodyMotion>,
    /// Direction that points up.
    pub up: UpAxis,
    /// Tetrahedra of the template.
    pub tets: TetMesh,
    /// Binding of the skin to the nodes.
    pub binding: SkinBinding,
    /// Body model of all nodes.
    pub volume: BodyModel,
    /// Nodes of bones.
    pub bone_nodes: Vec<u32>,
    /// Flesh between bones and skin.
    pub flesh: Flesh,
}

/// A layered body; always valid, see [`LayeredBody::new`].
#[derive(Debug, Clone)]
pub struct LayeredBody {
    parts: LayeredParts,
    carriers: Carriers,
    field: Arc<DistanceField>,
    from_skin: Arc<Harmonic>,
    layers: Layers,
    material: Material,
}

/// Error of the construction or simulation of a layered body.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayeredError {
    /// The body or its parts are inconsistent.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The skin cannot be filled with tetrahedra.
    #[error(transparent)]
    Tetrahedra(#[from] TetError),
    /// The tetrahedra are not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// Values cannot be extended to the inside.
    #[error(transparent)]
    Harmonic(#[from] HarmonicError),
    /// Weights cannot be extended to the inside.
    #[error(transparent)]
    Weights(#[from] BoundedWeightsError),
    /// The layers cannot be computed from the thickness.
    #[error(transparent)]
    Layers(#[from] LayersError),
    /// The flesh cannot be simulated.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// The layer cannot be simulated.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A pose cannot drive the body.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// A point of the skin is bound to a tetrahedron that does not exist, or by an invalid weight.
    #[error(
        "invalid binding of skin point {point}: the tetrahedron must be one of {count} and the weights must be finite"
    )]
    Binding {
        /// The offending point.
        point: usize,
        /// The number of tetrahedra.
        count: usize,
    },
    /// A node of a bone does not exist.
    #[error("bone node {node} does not exist: there are {count} nodes")]
    BoneNode {
        /// The offending node.
        node: u32,
        /// The number of nodes.
        count: usize,
    },
    /// A skeleton cannot be fitted to the skin.
    #[error(transparent)]
    Rigging(#[from] RiggingError),
    /// The weights of a skeleton cannot be computed.
    #[error(transparent)]
    BoneWeights(#[from] BoneWeightsError),
    /// A force has an invalid parameter.
    #[error("force {index}, counted from 0: {reason}")]
    Force {
        /// Its index in the list.
        index: usize,
        /// The problem.
        reason: &'static str,
    },
    /// The motion has no frames.
    #[error("the motion has no frames")]
    NoFrames,
    /// The result of a simulation is implausible.
    #[error(
        "implausible simulation: in frame {frame} the skin is {distance_m:.3} m from its pose, more than half the diagonal of the body ({limit_m:.3} m)"
    )]
    TooFar {
        /// The frame.
        frame: usize,
        /// The largest distance of the skin from its pose.
        distance_m: f32,
        /// Maximum plausible distance.
        limit_m: f32,
    },
    /// The observer stopped the work.
    #[error("stopped before the body was complete")]
    Stopped,
}

impl LayeredBody {
    /// Creates a layered body of `parts`, which must be consistent.
    pub fn new(parts: LayeredParts) -> Result<Self, LayeredError> {
        let (points, nodes) = (parts.body.point_count(), parts.tets.nodes().len());
        expect_count("nodes of the volumetric body", parts.volume.point_count(), nodes)?;
        expect_count("joints of the volumetric body", parts.volume.joints().len(), parts.body.joints().len())?;
        expect_count("shapes of the volumetric body", parts.volume.shapes().len(), parts.body.shapes().len())?;
        parts.binding.check(points, &parts.tets)?;
        if let Some(&node) = parts.bone_nodes.iter().find(|&&node| node as usize >= nodes) {
            return Err(LayeredError::BoneNode { node, count: nodes });
        }
        for motion in &parts.motions {
            for pose in &motion.poses {
                expect_count("joint angles of a motion", pose.angles.len(), parts.body.joints().len())?;
            }
        }
        let carriers = parts.binding.carriers(points, &parts.tets);
        let field = DistanceField::new(&parts.tets, &carriers.nodes, &parts.bone_nodes)?;
        let from_skin = Harmonic::new(&parts.tets, &carriers.nodes)?;
        Self::with_fields(parts, carriers, field, from_skin)
    }

    /// The body in the shape of the coefficients `betas`, with the same flesh.
    pub fn in_shape(&self, betas: &[f64]) -> Result<Self, LayeredError> {
        let parts = &self.parts;
        let volume = parts.volume.fixed_shape(betas)?;
        let tets = TetMesh::new(volume.mesh().points().to_vec(), parts.tets.tetrahedra().to_vec())?;
        Self::new(LayeredParts { body: parts.body.fixed_shape(betas)?, volume, tets, ..parts.clone() })
    }

    fn with_fields(
        parts: LayeredParts,
        carriers: Carriers,
        field: DistanceField,
        from_skin: Harmonic,
    ) -> Result<Self, LayeredError> {
        let (layers, material) = layers_of(&parts, &carriers, &field, &from_skin)?;
        let (field, from_skin) = (Arc::new(field), Arc::new(from_skin));
        Ok(Self { parts, carriers, field, from_skin, layers, material })
    }

    /// Replaces the flesh between bones and skin; if an error is returned, the flesh is unchanged.
    pub fn set_flesh(&mut self, flesh: Flesh) -> Result<(), LayeredError> {
        let before = std::mem::replace(&mut self.parts.flesh, flesh);
        match layers_of(&self.parts, &self.carriers, &self.field, &self.from_skin) {
            Ok((layers, material)) => {
                (self.layers, self.material) = (layers, material);
                Ok(())
            }
            Err(error) => {
                self.parts.flesh = before;
                Err(error)
            }
        }
    }

    /// Components of the body.
    pub fn parts(&self) -> &LayeredParts {
        &self.parts
    }

    /// Body model of the visible skin.
    pub fn body(&self) -> &BodyModel {
        &self.parts.body
    }

    /// Flesh between bones and skin.
    pub fn flesh(&self) -> &Flesh {
        &self.parts.flesh
    }

    /// Role of each node: following the pose, or simulated.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Material of all nodes.
    pub fn material(&self) -> &Material {
        &self.material
    }

    /// Extends `columns` values per point of the skin to all nodes, as Young's moduli are.
    pub(crate) fn extend_moduli(&self, skin: &[f64], columns: usize) -> Vec<f64> {
        self.from_skin.extend(&self.carriers.values(skin, columns), columns)
    }

    /// Extends `columns` values per point of the skin to all nodes, as the relative depth is: to 0 at the bones.
    pub(crate) fn extend_distance(&self, skin: &[f64], columns: usize) -> Vec<f64> {
        self.field.extend(&self.carriers.values(skin, columns), columns)
    }

    /// Returns the motion called `name`, or the first.
    pub fn motion(&self, name: Option<&str>) -> Option<&BodyMotion> {
        match name {
            Some(name) => self.parts.motions.iter().find(|motion| motion.name == name),
            None => self.parts.motions.first(),
        }
    }
}

/// Layers and material of all nodes, computed from the flesh under the skin.
fn layers_of(
    parts: &LayeredParts,
    carriers: &Carriers,
    field: &DistanceField,
    from_skin: &Harmonic,
) -> Result<(Layers, Material), LayeredError> {
    let (flesh, points) = (&parts.flesh, parts.body.point_count());
    expect_count("values of thickness", flesh.thickness.len(), points)?;
    expect_count("Young's moduli", flesh.young_modulus_pa.len(), points)?;
    // Errors refer to the point of the skin, not to a node inside.
    Material {
        young_modulus_pa: flesh.young_modulus_pa.clone(),
        poisson_ratio: flesh.poisson_ratio,
        density_kg_per_m3: flesh.density_kg_per_m3,
    }
    .check(points)?;
    let numbers = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| f64::from(value)).collect() };
    let thickness = carriers.values(&numbers(&flesh.thickness), 1);
    let layers = Layers::new(&parts.tets, field, &thickness)?;
    let moduli = from_skin.extend_scalar(&carriers.values(&numbers(&flesh.young_modulus_pa), 1));
    let range = crate::fem::YOUNG_MODULUS_RANGE_PA;
    let in_range = |modulus: f64| (modulus as f32).clamp(*range.start(), *range.end());
    let material = Material {
        young_modulus_pa: moduli.into_iter().map(in_range).collect(),
        poisson_ratio: flesh.poisson_ratio,
        density_kg_per_m3: flesh.density_kg_per_m3,
    };
    Ok((layers, material))
}
