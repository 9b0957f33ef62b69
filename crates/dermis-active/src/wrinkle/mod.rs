//! Wrinkles of compressed cloth (Active Geometry, §4; Rohmer et al. 2010).
//!
//! A coarse simulation is compressed in regions in which real cloth folds. The stretch of its triangles relative to
//! the rest shape (`stretch`) determines curves along which it folds (`trace`, `track`). These are the skeletons of an
//! implicit surface (`field`), onto which samples of the cloth are projected along their normals (`project`). `cloth`
//! applies all steps to an animation; by default with heights from buckling (`buckle`) instead of curves. `learned` adds
//! folds that were learned from a fine simulation of the same garment.
//!
//! Curves depend on the previous frames and are tracked frame by frame; the projection of samples does not. Deviations:
//! the paper's R(u) lacks a length and is read as `R_min (1 − 2/π)/‖v‖`. The offset β is derived from the actual
//! profile of the implicit surface, and the length absorbed by a wrinkle from the area lost around it.

mod amplitude;
mod atlas;
mod buckle;
mod cloth;
mod coarsen;
mod error;
#[allow(clippy::inline_always, reason = "a kernel is compiled for the wide registers only with all that it calls")]
mod field;
mod follow;
mod frames;
mod gaps;
mod grid;
mod height_maps;
mod learned;
mod map;
mod measures;
mod options;
mod profile;
mod project;
mod refine;
mod strength;
mod stretch;
mod surface;
mod trace;
mod track;

use dermis_mesh::geometry::{point_normals, total_area};
use dermis_mesh::{MeshError, Note, TriMesh};
use glam::{Vec2, Vec3};
use rayon::prelude::*;

pub use amplitude::RecoveredArea;
pub use atlas::with_atlas;
pub use cloth::{ClothError, ClothOptions, Folds, MAX_LEVELS, WrinkledCloth, coarse_cloth, rest_points, wrinkle};
pub use coarsen::{Coarse, coarsen};
pub use error::WrinkleError;
pub use follow::Follower;
pub use height_maps::HeightMaps;
pub use learned::{
    FoldParts, FoldTraining, FoldsError, LearnOptions, LearnedCloth, LearnedFolds, apply_folds, train_folds,
};
pub use map::{MapLayout, uv_triangles};
pub use measures::WrinkleMeasures;
pub use options::WrinkleOptions;
pub use project::Samples;
pub use refine::Refined;
pub use surface::SurfacePoint;
pub use track::{CurveNode, Curves, Tracker};

use amplitude::Loss;
use buckle::{Base, Buckling};
use field::REACH;
use project::{Lifted, Pose};
use stretch::RestTriangles;
use surface::{Patch, Surface};
use track::segments;

/// Default radius, relative to the mean side of the rest triangles.
const RADIUS_OF_SIDE: f32 = 0.75;

/// Shape in which the cloth is not stretched.
#[derive(Debug, Clone, Copy)]
pub enum RestShape<'a> {
    /// Rest pose of the mesh.
    Pose,
    /// Other positions of the same points.
    Points(&'a [Vec3]),
    /// Pattern given by UV set 0, scaled to the area of the rest pose.
    Uvs,
}

/// Wrinkle layer, prepared for a cloth.
#[derive(Debug, Clone)]
pub struct WrinkleLayer {
    options: WrinkleOptions,
    surface: Surface,
    rest: RestTriangles,
    /// Corners of each triangle in the rest shape.
    rest_corners: Vec<[Vec3; 3]>,
    rest_area: f64,
    radius: f32,
    notes: Vec<Note>,
}

/// Frame with wrinkles.
#[derive(Debug, Clone, PartialEq)]
pub struct WrinkledFrame {
    /// Positions of the samples.
    pub positions: Vec<Vec3>,
    /// Displacement of each sample along its normal; negative for folds on the other side.
    pub heights: Vec<f32>,
}

impl WrinkleLayer {
    /// Prepares the layer for a cloth.
    pub fn new(mesh: &TriMesh, rest: RestShape<'_>, options: &WrinkleOptions) -> Result<Self, WrinkleError> {
        if mesh.triangle_count() == 0 {
            return Err(WrinkleError::NoTriangles);
        }
        let points = match rest {
            RestShape::Points(points) if points.len() != mesh.point_count() => {
                return Err(WrinkleError::RestPoints { found: points.len(), expected: mesh.point_count() });
            }
            RestShape::Points(points) => points,
            RestShape::Pose | RestShape::Uvs => mesh.points(),
        };
        let surface = Surface::new(points, mesh.triangles());
        let rest_corners = match rest {
            RestShape::Uvs => pattern(mesh)?,
            _ => (0..mesh.triangle_count()).map(|t| surface.corners(t as u32, points)).collect(),
        };
        let triangles = RestTriangles::new(rest_corners.iter().copied(), &surface);
        if triangles.total_area() <= 0.0 {
            return Err(WrinkleError::NoArea);
        }
        let radius = options.min_radius.unwrap_or_else(|| default_radius(&surface));
        if !(radius.is_finite() && radius > 0.0) {
            return Err(WrinkleError::Radius(radius));
        }
        let rest_area = triangles.total_area();
        let mut layer = Self {
            options: options.clone(),
            surface,
            rest: triangles,
            rest_corners,
            rest_area,
            radius,
            notes: Vec::new(),
        };
        layer.collect_notes();
        Ok(layer)
    }

    fn collect_notes(&mut self) {
        let (degenerate, non_manifold) = (self.rest.degenerate, self.surface.non_manifold);
        if degenerate > 0 {
            self.notes
                .push(Note::new(format!("{degenerate} triangles have no area in the rest shape and are ignored")));
        }
        if non_manifold > 0 {
            self.notes.push(Note::new(format!("wrinkles end at {non_manifold} edges with more than two triangles")));
        }
    }

    /// Assumptions made and data dropped.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Minimum radius of a fold.
    pub fn min_radius(&self) -> f32 {
        self.radius
    }

    /// Maximum height of a wrinkle.
    pub fn max_height(&self) -> f32 {
        field::MAX_HEIGHT * self.radius
    }

    /// Area of the rest shape.
    pub fn rest_area(&self) -> f64 {
        self.rest_area
    }

    /// Sets the rest area to that of a finer rest shape, whose folds a simplification has removed from the mesh.
    #[must_use]
    pub fn with_rest_area(mut self, rest_area: f64) -> Self {
        self.rest_area = if rest_area.is_finite() { rest_area.max(self.rest.total_area()) } else { self.rest_area };
        self
    }

    /// Prepares the edges of `refined` for buckling.
    fn buckling(&self, refined: &Refined) -> Buckling {
        let ratio = (self.rest_area / self.rest.total_area()) as f32;
        Buckling::new(refined, &self.surface.triangles, &self.rest_corners, ratio)
    }

    /// The refined cloth of a frame without folds.
    fn base(&self, positions: &[Vec3], locations: &[SurfacePoint]) -> Base {
        assert_eq!(positions.len(), self.surface.rest.len(), "one position per point of the cloth");
        let triangles = &self.surface.triangles;
        let normals = point_normals(positions, triangles);
        let gaps = gaps::gaps(&self.surface, positions, &normals);
        let patches: Vec<Patch> = triangles.iter().map(|triangle| Patch::new(*triangle, positions, &normals)).collect();
        let of_location = |location: &SurfacePoint| {
            let (flat, gap) = (location.blend(triangles, positions), location.blend(triangles, &gaps));
            let smooth = patches[location.triangle as usize].at(location.weights);
            // Near another layer of cloth, the smoothed cloth must not bulge into it.
            let bulge = (smooth - flat).length();
            let part = if bulge > 0.0 { (gaps::MAX_BULGE * gap / bulge).min(1.0) } else { 1.0 };
            let normal = location.blend(triangles, &normals).normalize_or_zero();
            (flat, flat + (smooth - flat) * part, normal, gap)
        };
        let parts: Vec<_> = locations.par_iter().with_min_len(4096).map(of_location).collect();
        let mut base = Base::default();
        for (flat, smooth, normal, gap) in parts {
            base.flat.push(flat);
            base.smooth.push(smooth);
            base.normals.push(normal);
            base.gaps.push(gap);
        }
        base
    }

    /// Returns true if the cloth is compressed by more than the threshold anywhere.
    fn is_compressed(&self, positions: &[Vec3]) -> bool {
        let found = stretch::compression(&self.surface, &self.rest, positions);
        found.amounts.iter().any(|amount| *amount > self.options.threshold)
    }

    /// Fraction of the rest area that `points` with `triangles` have lost; negative if the area has grown.
    pub fn area_lost(&self, points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
        1.0 - total_area(points, triangles) / self.rest_area()
    }

    /// Creates a tracker for the curves of a motion.
    pub fn tracker(&self) -> Tracker {
        Tracker::new(self.radius)
    }

    /// Computes the curves of the next frame of the motion followed by `tracker`.
    ///
    /// # Panics
    /// If the number of `positions` differs from that of the cloth.
    pub fn advance(&self, tracker: &mut Tracker, positions: &[Vec3]) -> Curves {
        assert_eq!(positions.len(), self.surface.rest.len(), "one position per point of the cloth");
        tracker.advance(&self.surface, &self.rest, positions, &self.options)
    }

    /// Marks the triangles within reach of the wrinkles of `curves`.
    pub fn reached<'a>(&self, curves: impl IntoIterator<Item = &'a Curves>) -> Vec<bool> {
        let mut marked = vec![false; self.surface.triangles.len()];
        let reach = REACH * self.radius;
        let mut nodes = grid::Grid::new(reach);
        for curves in curves {
            for node in curves.lines.iter().flatten() {
                let position = self.surface.rest_of(node.location);
                // One of several nearby nodes is sufficient.
                if nodes.near(position, 0.25 * self.radius).next().is_none() {
                    nodes.insert(position, ());
                }
            }
        }
        for (triangle, mark) in marked.iter_mut().enumerate() {
            let [a, b, c] = self.surface.corners(triangle as u32, &self.surface.rest);
            *mark = [a, b, c, (a + b + c) / 3.0].iter().any(|&position| nodes.near(position, reach).next().is_some());
        }
        marked
    }

    /// Refines the marked triangles of `mesh`, the mesh of this layer, `levels` times.
    ///
    /// # Panics
    /// If `mesh` is not the mesh of this layer.
    pub fn refine(&self, mesh: &TriMesh, marked: &[bool], levels: u32) -> Result<Refined, MeshError> {
        assert_eq!(mesh.triangle_count(), marked.len(), "one mark per triangle");
        refine::refine(mesh, marked, levels)
    }

    /// Prepares samples of the cloth at `locations`.
    pub fn samples(&self, locations: Vec<SurfacePoint>) -> Samples {
        Samples::new(&self.surface, locations, self.radius)
    }

    /// Determines the amplitude of `curves`, such that `triangles` over the samples have nearly the area of the rest
    /// shape, and the positions of the samples. Frames must be given in order, with the same `recovered`.
    ///
    /// # Panics
    /// If `positions` do not match the cloth, or `triangles` do not match the samples.
    pub fn fit(
        &self,
        recovered: &mut RecoveredArea,
        positions: &[Vec3],
        curves: &mut Curves,
        samples: &Samples,
        triangles: &[[u32; 3]],
    ) -> WrinkledFrame {
        let lifted = self.lifted(positions, curves, samples);
        let coarse = total_area(positions, &self.surface.triangles);
        let loss = Loss { coarse, lost: self.rest_area() - coarse, lost_locally: curves.lost_locally };
        curves.amplitude = amplitude::factor(&lifted, triangles, self.max_height(), &loss, recovered);
        self.frame(&lifted, curves.amplitude)
    }

    /// Positions of the samples in a frame of the coarse cloth with its curves.
    ///
    /// # Panics
    /// If the number of `positions` differs from that of the cloth.
    pub fn apply(&self, positions: &[Vec3], curves: &Curves, samples: &Samples) -> WrinkledFrame {
        self.frame(&self.lifted(positions, curves, samples), curves.amplitude)
    }

    fn lifted(&self, positions: &[Vec3], curves: &Curves, samples: &Samples) -> Lifted {
        assert_eq!(positions.len(), self.surface.rest.len(), "one position per point of the cloth");
        let normals = point_normals(positions, &self.surface.triangles);
        let positions = self.surface.inset(positions, &normals);
        let segments = segments(curves, &self.surface, &positions, &normals);
        let (surface, sides) = (&self.surface, &curves.sides[..]);
        samples.lifted(&Pose { surface, positions: &positions, normals: &normals, sides }, &segments)
    }

    fn frame(&self, lifted: &Lifted, factor: f32) -> WrinkledFrame {
        let max_height = self.max_height();
        let positions = amplitude::positions(lifted, factor, max_height);
        WrinkledFrame { positions, heights: amplitude::heights(lifted, factor, max_height) }
    }

    /// Curves as polylines in a frame of the cloth.
    pub fn polylines(&self, positions: &[Vec3], curves: &Curves) -> Vec<Vec<Vec3>> {
        let position_of = |node: &CurveNode| node.location.blend(&self.surface.triangles, positions);
        curves.lines.iter().map(|line| line.iter().map(position_of).collect()).collect()
    }
}

/// UV triangles, scaled to the area of the rest pose.
fn pattern(mesh: &TriMesh) -> Result<Vec<[Vec3; 3]>, WrinkleError> {
    let layout = mesh.layout().ok_or(WrinkleError::NoUvs)?;
    let uvs = layout.uvs.first().ok_or(WrinkleError::NoUvs)?;
    let corners = |triangle: &[u32; 3]| triangle.map(|vertex| uvs[vertex as usize]);
    let area = |[a, b, c]: [Vec2; 3]| 0.5 * f64::from((b - a).perp_dot(c - a).abs());
    let total: f64 = layout.triangles.iter().map(|triangle| area(corners(triangle))).sum();
    if !(total.is_finite() && total > 0.0) {
        return Err(WrinkleError::NoArea);
    }
    let scale = (total_area(mesh.points(), mesh.triangles()) / total).sqrt() as f32;
    let triangle = |triangle: &[u32; 3]| corners(triangle).map(|uv| (uv * scale).extend(0.0));
    Ok(layout.triangles.iter().map(triangle).collect())
}

fn default_radius(surface: &Surface) -> f32 {
    RADIUS_OF_SIDE * default_side(surface)
}

/// Mean side of the rest triangles.
fn default_side(surface: &Surface) -> f32 {
    let side = |triangle: usize| {
        let [a, b, c] = surface.corners(triangle as u32, &surface.rest);
        a.distance(b) + b.distance(c) + c.distance(a)
    };
    let count = surface.triangles.len();
    (0..count).map(side).sum::<f32>() / (3 * count) as f32
}

#[cfg(test)]
mod tests;
