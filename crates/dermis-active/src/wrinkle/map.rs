//! Displacement maps: the heights of the wrinkles over the texels of a UV layout.
//!
//! A texel is sampled at four places inside it, so that fine folds are not missed; texels around each island repeat the
//! nearest inside, so that filtering finds no edge. Where UVs overlap, the first triangle has the texel.

use dermis_mesh::TriMesh;
use glam::Vec2;

use super::surface::Spot;

/// Texels around an island that repeat it.
const GUTTER: usize = 4;
/// Where in a texel it is sampled.
const PLACES: [(f32, f32); 4] = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];

/// Which texels show which places of the cloth.
#[derive(Debug, Clone)]
pub struct MapLayout {
    /// Texels per side.
    pub size: usize,
    /// Texels that more than one triangle wants.
    pub overlapping: usize,
    /// Four places for each texel that is covered.
    pub spots: Vec<Spot>,
    covered: Vec<u32>,
    gutter: Vec<(u32, u32)>,
}

impl MapLayout {
    /// A map of `size` texels a side over the UV triangles of a mesh, from the upper left corner.
    ///
    /// # Panics
    /// If there is not a UV triangle for each triangle.
    pub fn new(mesh: &TriMesh, uvs: &[[Vec2; 3]], size: usize) -> Self {
        assert_eq!(uvs.len(), mesh.triangle_count(), "a UV triangle per triangle");
        let mut owner: Vec<Option<u32>> = vec![None; size * size];
        let mut overlapping = 0;
        for (triangle, corners) in uvs.iter().enumerate() {
            for_texels(corners, size, |texel, weights| match owner[texel] {
                None => owner[texel] = Some(triangle as u32),
                // Texels on a shared edge belong to both.
                Some(_) => overlapping += usize::from(weights.iter().all(|weight| *weight > 0.02)),
            });
        }
        let covered: Vec<u32> = (0..owner.len() as u32).filter(|&texel| owner[texel as usize].is_some()).collect();
        let spots = covered.iter().flat_map(|&texel| {
            let triangle = owner[texel as usize].unwrap_or(0);
            PLACES.map(|(x, y)| {
                let corner = Vec2::new((texel as usize % size) as f32 + x, (texel as usize / size) as f32 + y);
                Spot { triangle, weights: inside(&uvs[triangle as usize], corner / size as f32) }
            })
        });
        Self { size, overlapping, spots: spots.collect(), gutter: gutter(&owner, size), covered }
    }

    /// The image of `heights`, which are those of the spots.
    pub fn image(&self, heights: &[f32]) -> Vec<f32> {
        let mut image = vec![0.0; self.size * self.size];
        for (&texel, heights) in self.covered.iter().zip(heights.chunks_exact(PLACES.len())) {
            image[texel as usize] = heights.iter().sum::<f32>() / PLACES.len() as f32;
        }
        for &(texel, source) in &self.gutter {
            image[texel as usize] = image[source as usize];
        }
        image
    }
}

/// The corners of each triangle in UV set 0; `None` where the mesh has no UVs.
pub fn uv_triangles(mesh: &TriMesh) -> Option<Vec<[Vec2; 3]>> {
    let layout = mesh.layout()?;
    let uvs = layout.uvs.first()?;
    Some(layout.triangles.iter().map(|triangle| triangle.map(|vertex| uvs[vertex as usize])).collect())
}

/// Calls `found` for each texel whose middle lies in the triangle.
fn for_texels(corners: &[Vec2; 3], size: usize, mut found: impl FnMut(usize, [f32; 3])) {
    let scale = size as f32;
    let low = corners.iter().fold(Vec2::INFINITY, |low, corner| low.min(*corner)) * scale;
    let high = corners.iter().fold(Vec2::NEG_INFINITY, |high, corner| high.max(*corner)) * scale;
    let range = |low: f32, high: f32| {
        (low - 0.5).floor().clamp(0.0, scale) as usize..(high + 0.5).ceil().clamp(0.0, scale) as usize
    };
    for y in range(low.y, high.y) {
        for x in range(low.x, high.x) {
            let middle = Vec2::new(x as f32 + 0.5, y as f32 + 0.5) / scale;
            if let Some(weights) = weights(corners, middle).filter(|weights| weights.iter().all(|w| *w >= -1e-4)) {
                found(y * size + x, weights);
            }
        }
    }
}

fn weights([a, b, c]: &[Vec2; 3], place: Vec2) -> Option<[f32; 3]> {
    let area = (*b - *a).perp_dot(*c - *a);
    let (y, z) = ((place - *a).perp_dot(*c - *a) / area, (*b - *a).perp_dot(place - *a) / area);
    [1.0 - y - z, y, z].iter().all(|weight| weight.is_finite()).then_some([1.0 - y - z, y, z])
}

/// The nearest weights that do not leave the triangle.
fn inside(corners: &[Vec2; 3], place: Vec2) -> [f32; 3] {
    let weights = weights(corners, place).unwrap_or([1.0, 0.0, 0.0]).map(|weight| weight.max(0.0));
    let sum: f32 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// Texels around the covered ones, each with the one that it repeats.
fn gutter(owner: &[Option<u32>], size: usize) -> Vec<(u32, u32)> {
    let mut source: Vec<Option<u32>> =
        (0..owner.len() as u32).map(|texel| owner[texel as usize].map(|_| texel)).collect();
    let mut gutter = Vec::new();
    for _ in 0..GUTTER {
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
