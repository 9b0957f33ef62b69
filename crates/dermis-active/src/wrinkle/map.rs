//! Displacement maps: heights of the wrinkles over the texels of a UV layout.
//!
//! Near curves a texel is sampled four times, so that narrow folds are not missed, otherwise once at its centre.
//! Texels around each UV island repeat the nearest one inside, so that filtering does not produce visible edges. If
//! UVs overlap, the first triangle is used.

use dermis_mesh::TriMesh;
use glam::Vec2;

use super::surface::SurfacePoint;

/// Number of texels around an island that repeat its boundary.
const GUTTER_TEXELS: usize = 4;
/// Sample positions in a texel.
const CENTER_SAMPLE: [(f32, f32); 1] = [(0.5, 0.5)];
/// Sample positions in a texel near curves.
const FOUR_SAMPLES: [(f32, f32); 4] = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];
/// Minimum barycentric coordinate of a texel centre that counts as inside a triangle for overlaps. Centres closer to a
/// side are subject to rounding.
const MIN_INSIDE: f32 = 0.02;

/// Correspondence between texels and locations on the cloth.
#[derive(Debug, Clone)]
pub struct MapLayout {
    /// Texels per side.
    pub size: usize,
    /// Number of texels covered by more than one triangle.
    pub overlapping: usize,
    /// Number of triangles with UVs outside of the map.
    pub outside: usize,
    /// Sampled locations, texel by texel.
    pub locations: Vec<SurfacePoint>,
    /// Covered texels, with the number of samples of each.
    covered: Vec<(u32, u32)>,
    gutter: Vec<(u32, u32)>,
}

impl MapLayout {
    /// Builds a map of `size` texels per side over the UV triangles of a mesh, from the upper left corner. `near`
    /// marks the triangles near curves.
    ///
    /// # Panics
    /// If the lengths of `uvs` and `near` differ.
    pub fn new(uvs: &[[Vec2; 3]], near: &[bool], size: usize) -> Self {
        assert_eq!(uvs.len(), near.len(), "one UV triangle and one mark per triangle");
        let mut owner: Vec<Option<u32>> = vec![None; size * size];
        let (mut overlapping, mut outside) = (0, 0);
        for (triangle, corners) in uvs.iter().enumerate() {
            outside += usize::from(corners.iter().any(|uv| uv.min_element() < -1e-4 || uv.max_element() > 1.0001));
            for_texels(corners, size, |texel, weights| match owner[texel] {
                None => owner[texel] = Some(triangle as u32),
                Some(other) => {
                    let is_inside = |weights: [f32; 3]| weights.iter().all(|weight| *weight > MIN_INSIDE);
                    let theirs = weights_at(&uvs[other as usize], center_of(texel, size));
                    overlapping += usize::from(is_inside(weights) && theirs.is_some_and(is_inside));
                }
            });
        }
        let (mut locations, mut covered) = (Vec::new(), Vec::new());
        for (texel, triangle) in owner.iter().enumerate().filter_map(|(texel, owner)| Some((texel, (*owner)?))) {
            let offsets: &[(f32, f32)] = if near[triangle as usize] { &FOUR_SAMPLES } else { &CENTER_SAMPLE };
            covered.push((texel as u32, offsets.len() as u32));
            locations.extend(offsets.iter().map(|&(x, y)| {
                let position = Vec2::new((texel % size) as f32 + x, (texel / size) as f32 + y) / size as f32;
                SurfacePoint { triangle, weights: inside(&uvs[triangle as usize], position) }
            }));
        }
        Self { size, overlapping, outside, locations, gutter: gutter(&owner, size), covered }
    }

    /// Image of `heights`, which are those of the sampled locations.
    pub fn image(&self, heights: &[f32]) -> Vec<f32> {
        let mut image = vec![0.0; self.size * self.size];
        let mut rest = heights;
        for &(texel, count) in &self.covered {
            let (own, others) = rest.split_at(count as usize);
            image[texel as usize] = own.iter().sum::<f32>() / count as f32;
            rest = others;
        }
        for &(texel, source) in &self.gutter {
            image[texel as usize] = image[source as usize];
        }
        image
    }
}

/// Corners of each triangle in UV set 0; `None` if the mesh has no UVs.
pub fn uv_triangles(mesh: &TriMesh) -> Option<Vec<[Vec2; 3]>> {
    let layout = mesh.layout()?;
    let uvs = layout.uvs.first()?;
    Some(layout.triangles.iter().map(|triangle| triangle.map(|vertex| uvs[vertex as usize])).collect())
}

/// Calls `found` for each texel whose centre is in the triangle.
fn for_texels(corners: &[Vec2; 3], size: usize, mut found: impl FnMut(usize, [f32; 3])) {
    let scale = size as f32;
    let low = corners.iter().fold(Vec2::INFINITY, |low, corner| low.min(*corner)) * scale;
    let high = corners.iter().fold(Vec2::NEG_INFINITY, |high, corner| high.max(*corner)) * scale;
    let range = |low: f32, high: f32| {
        (low - 0.5).floor().clamp(0.0, scale) as usize..(high + 0.5).ceil().clamp(0.0, scale) as usize
    };
    for y in range(low.y, high.y) {
        for x in range(low.x, high.x) {
            let center = center_of(y * size + x, size);
            if let Some(weights) = weights_at(corners, center).filter(|weights| weights.iter().all(|w| *w >= -1e-4)) {
                found(y * size + x, weights);
            }
        }
    }
}

fn center_of(texel: usize, size: usize) -> Vec2 {
    Vec2::new((texel % size) as f32 + 0.5, (texel / size) as f32 + 0.5) / size as f32
}

fn weights_at([a, b, c]: &[Vec2; 3], position: Vec2) -> Option<[f32; 3]> {
    let area = (*b - *a).perp_dot(*c - *a);
    let (y, z) = ((position - *a).perp_dot(*c - *a) / area, (*b - *a).perp_dot(position - *a) / area);
    [1.0 - y - z, y, z].iter().all(|weight| weight.is_finite()).then_some([1.0 - y - z, y, z])
}

/// Nearest barycentric coordinates inside the triangle.
fn inside(corners: &[Vec2; 3], position: Vec2) -> [f32; 3] {
    let weights = weights_at(corners, position).unwrap_or([1.0, 0.0, 0.0]).map(|weight| weight.max(0.0));
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Texels around the covered ones, each with the texel that it repeats.
fn gutter(owner: &[Option<u32>], size: usize) -> Vec<(u32, u32)> {
    let mut source: Vec<Option<u32>> =
        (0..owner.len() as u32).map(|texel| owner[texel as usize].map(|_| texel)).collect();
    let mut gutter = Vec::new();
    for _ in 0..GUTTER_TEXELS {
        let first = gutter.len();
        for texel in (0..source.len()).filter(|&texel| source[texel].is_none()) {
            let (x, y) = (texel % size, texel / size);
            let columns = x.saturating_sub(1)..(x + 2).min(size);
            let around =
                (y.saturating_sub(1)..(y + 2).min(size)).flat_map(|y| columns.clone().map(move |x| y * size + x));
            if let Some(near) = around.into_iter().find_map(|near| source[near]) {
                gutter.push((texel as u32, near));
            }
        }
        for &(texel, near) in &gutter[first..] {
            source[texel as usize] = Some(near);
        }
    }
    gutter
}
