//! Errors of edits of the rest pose.

use crate::select::SelectError;

/// Reasons why a rest pose cannot be edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The scene has no triangles.
    #[error("the asset has no triangles")]
    NoTriangles,
    /// The object has recorded frames, but no skin.
    #[error("'{0}' has recorded frames, but no skin: an edit of its rest pose would not affect them")]
    NoSkin(String),
    /// The points of the object are nodes of tetrahedra.
    #[error("'{0}' has tetrahedra, whose nodes are its points")]
    Tetrahedra(String),
    /// The mesh has no texture coordinates.
    #[error("{0} has no texture coordinates, which a displacement map needs")]
    NoUvs(String),
    /// A texture coordinate is not finite.
    #[error("'{object}' has a texture coordinate that is not finite, at vertex {vertex}")]
    UvNotFinite {
        /// The object.
        object: String,
        /// The vertex.
        vertex: usize,
    },
    /// The file of a displacement map is not a PNG image.
    #[error("the displacement map cannot be decoded as PNG: {0}")]
    NotPng(String),
    /// The displacement map has too few pixels.
    #[error("invalid size {width} × {height} of the displacement map: both must be at least 2 pixels")]
    MapSize {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// The number of pixels of the displacement map does not match its size.
    #[error("the displacement map has {found} pixels, but its size needs {expected}")]
    MapPixels {
        /// Number of pixels.
        found: usize,
        /// Width times height.
        expected: usize,
    },
    /// The displacement map has colours.
    #[error("the displacement map is coloured: the channels of a pixel differ by up to {:.0} %", 100.0 * .0)]
    Coloured(f32),
    /// The height of white is not finite.
    #[error("invalid displacement {0} of white: it must be finite")]
    Scale(f64),
    /// The grey without displacement is not below white.
    #[error("invalid mid level {0}: it must be at least 0 and below 1")]
    MidLevel(f64),
    /// The edited mesh has no triangles.
    #[error("the edited mesh has no triangles")]
    NoEditedTriangles,
    /// Several meshes could have been edited.
    #[error("ambiguous mesh: none or several of the {} meshes have the topology of the edited mesh", names.len())]
    WhichMesh {
        /// Names of the meshes.
        names: Vec<String>,
    },
    /// The edited mesh has another location or size than the rest pose.
    #[error(
        "the edited mesh does not lie on the rest pose of '{object}': its points are {percent:.0} % of the diagonal away on average"
    )]
    Apart {
        /// The object.
        object: String,
        /// Mean distance in percent of the diagonal.
        percent: f64,
    },
    /// The transform of the stored pose at a point has no inverse.
    #[error("the edited mesh is in the stored pose, which flattens '{object}' at point {point}")]
    Flat {
        /// The object.
        object: String,
        /// The point of the edited mesh.
        point: usize,
    },
    /// A layer stores data per point that cannot be interpolated.
    #[error("'{object}' has a layer '{layer}', which cannot be transferred to a mesh with a different topology")]
    Layer {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// No mesh, or more than one, has the requested name.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}

impl EditError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::WhichMesh { names } => vec![format!("meshes: '{}'", names.join("', '"))],
            Self::Select(error) => error.details(),
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSkin(_) => "fit a skin to the frames first",
            Self::Tetrahedra(_) => "edit the skin before the body is built",
            Self::NoUvs(_) => "unwrap the mesh, or use an edited mesh instead of a map",
            Self::NotPng(_) => "use a grey PNG image with 8 or 16 bits, or a mesh file such as .obj",
            Self::Coloured(_) => {
                "use a grey image of heights; this is probably a normal map or a vector displacement map"
            }
            Self::Scale(_) => "0.01 displaces white by a centimetre",
            Self::MidLevel(_) => "0 displaces outwards only; 0.5 displaces in both directions",
            Self::WhichMesh { .. } => "name the mesh that was edited",
            Self::Apart { .. } => "export the edited mesh in the units and axes of the asset, in its rest pose",
            Self::Flat { .. } => "edit the bind pose of the asset",
            Self::Layer { .. } => "edit the asset before this layer is added",
            Self::Select(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
