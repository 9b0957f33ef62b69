//! Cloth that wrinkles where it is compressed (Active Geometry, §4; Rohmer et al. 2010).
//!
//! A coarse simulation gets shorter where cloth would fold. From the stretch of its triangles against the rest shape
//! (`stretch`) come lines along which it should fold (`trace`, `track`); these are the skeletons of an implicit
//! surface (`field`) onto which samples of the cloth are projected along their normals (`project`). `cloth` does all of
//! this for a whole animation.
//!
//! Curves depend on the frames before and are followed one frame after the other; projecting samples does not.
//! Where we deviate: the paper's R(u) lacks a length and is read as `R_min (1 − 2/π)/‖v‖`; the offset β comes from the
//! profile that is really projected on, and how much a wrinkle takes up from what the cloth around it has lost.

mod amplitude;
mod atlas;
mod cloth;
mod coarsen;
mod error;
#[allow(clippy::inline_always, reason = "a kernel is compiled for the wide registers only with all that it calls")]
mod field;
mod follow;
mod grid;
mod height_maps;
mod map;
mod options;
mod profile;
mod project;
mod refine;
mod share;
mod stretch;
mod surface;
mod trace;
mod track;

use dermis_mesh::geometry::{point_normals, total_area};
use dermis_mesh::{MeshError, Note, TriMesh};
use glam::{Vec2, Vec3};

pub use amplitude::TakenUp;
pub use atlas::with_atlas;
pub use cloth::{ClothError, ClothOptions, MAX_LEVELS, WrinkleMeasures, WrinkledCloth, rest_points, wrinkle};
pub use coarsen::{Coarse, coarsen};
pub use error::WrinkleError;
pub use follow::Follower;
pub use height_maps::HeightMaps;
pub use map::{MapLayout, uv_triangles};
pub use options::WrinkleOptions;
pub use project::Samples;
pub use refine::Refined;
pub use surface::Spot;
pub use track::{CurveNode, Curves, Tracker};

use amplitude::Loss;
use field::REACH;
use project::{Lifted, Pose};
use stretch::RestTriangles;
use surface::Surface;
use track::segments;

/// The default radius, in mean sides of the rest triangles.
const RADIUS_OF_SIDE: f32 = 0.75;

/// The shape in which the cloth is not stretched.
#[derive(Debug, Clone, Copy)]
pub enum RestShape<'a> {
    /// The rest pose of the mesh.
    Pose,
    /// Other positions of the same points.
    Points(&'a [Vec3]),
    /// The pattern that UV set 0 shows, scaled to the area of the rest pose.
    Uvs,
}

/// A cloth prepared for wrinkling.
#[derive(Debug, Clone)]
pub struct WrinkleLayer {
    options: WrinkleOptions,
    surface: Surface,
    rest: RestTriangles,
    radius: f32,
    notes: Vec<Note>,
}

/// What a frame looks like with wrinkles.
#[derive(Debug, Clone, PartialEq)]
pub struct WrinkledFrame {
    /// The positions of the samples.
    pub positions: Vec<Vec3>,
    /// How far each was moved along its normal; negative where folds go the other way.
    pub heights: Vec<f32>,
}

impl WrinkleLayer {
    /// Prepares a cloth.
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
        let triangles = match rest {
            RestShape::Uvs => RestTriangles::new(pattern(mesh)?.into_iter(), &surface),
            _ => RestTriangles::new((0..mesh.triangle_count()).map(|t| surface.corners(t as u32, points)), &surface),
        };
        if triangles.total_area() <= 0.0 {
            return Err(WrinkleError::NoArea);
        }
        let radius = options.min_radius.unwrap_or_else(|| default_radius(&surface));
        if !(radius.is_finite() && radius > 0.0) {
            return Err(WrinkleError::Radius(radius));
        }
        let mut layer = Self { options: options.clone(), surface, rest: triangles, radius, notes: Vec::new() };
        layer.take_notes();
        Ok(layer)
    }

    fn take_notes(&mut self) {
        let (flat, tangled) = (self.rest.degenerate, self.surface.non_manifold);
        if flat > 0 {
            self.notes.push(Note::new(format!("{flat} triangles have no area at rest and take no part")));
        }
        if tangled > 0 {
            self.notes.push(Note::new(format!("wrinkles end at {tangled} edges that more than two triangles share")));
        }
    }

    /// What was assumed or left out.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The smallest radius of a fold.
    pub fn min_radius(&self) -> f32 {
        self.radius
    }

    /// The bound on heights.
    pub fn highest(&self) -> f32 {
        field::HIGHEST * self.radius
    }

    /// The area of the rest shape.
    pub fn rest_area(&self) -> f64 {
        self.rest.total_area()
    }

    /// The part of the rest shape's area that `points` with `triangles` have lost; negative where they have gained.
    pub fn area_lost(&self, points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
        1.0 - total_area(points, triangles) / self.rest_area()
    }

    /// Starts to follow the curves of a motion.
    pub fn tracker(&self) -> Tracker {
        Tracker::new(self.radius)
    }

    /// The curves of the next frame of the motion that `tracker` follows.
    ///
    /// # Panics
    /// If `positions` are not those of the cloth.
    pub fn advance(&self, tracker: &mut Tracker, positions: &[Vec3]) -> Curves {
        assert_eq!(positions.len(), self.surface.rest.len(), "a frame holds all points of the cloth");
        tracker.advance(&self.surface, &self.rest, positions, &self.options)
    }

    /// The triangles that the wrinkles of `curves` reach.
    pub fn reached<'a>(&self, curves: impl IntoIterator<Item = &'a Curves>) -> Vec<bool> {
        let mut marked = vec![false; self.surface.triangles.len()];
        let reach = REACH * self.radius;
        let mut nodes = grid::Grid::new(reach);
        for curves in curves {
            for node in curves.lines.iter().flatten() {
                let place = self.surface.rest_of(node.spot);
                // One of many that lie together is enough.
                if nodes.near(place, 0.25 * self.radius).next().is_none() {
                    nodes.insert(place, ());
                }
            }
        }
        for (triangle, mark) in marked.iter_mut().enumerate() {
            let [a, b, c] = self.surface.corners(triangle as u32, &self.surface.rest);
            *mark = [a, b, c, (a + b + c) / 3.0].iter().any(|&place| nodes.near(place, reach).next().is_some());
        }
        marked
    }

    /// A finer mesh: the marked triangles of `mesh`, which is the one of this layer, cut `levels` times.
    ///
    /// # Panics
    /// If `mesh` is not the one of this layer.
    pub fn refine(&self, mesh: &TriMesh, marked: &[bool], levels: u32) -> Result<Refined, MeshError> {
        assert_eq!(mesh.triangle_count(), marked.len(), "a mark per triangle");
        refine::refine(mesh, marked, levels)
    }

    /// Samples of the cloth at `spots`.
    pub fn samples(&self, spots: Vec<Spot>) -> Samples {
        Samples::new(&self.surface, spots, self.radius)
    }

    /// Finds the amplitude of `curves`, so that `triangles` over the samples have nearly the area of the rest shape, and
    /// where the samples are. Frames are given in order, with the same `taken_up`.
    ///
    /// # Panics
    /// If `positions` are not those of the cloth, or `triangles` not over the samples.
    pub fn fit(
        &self,
        taken_up: &mut TakenUp,
        positions: &[Vec3],
        curves: &mut Curves,
        samples: &Samples,
        triangles: &[[u32; 3]],
    ) -> WrinkledFrame {
        let lifted = self.lifted(positions, curves, samples);
        let coarse = total_area(positions, &self.surface.triangles);
        let loss = Loss { coarse, lost: self.rest_area() - coarse, lost_locally: curves.lost_locally };
        curves.amplitude = amplitude::factor(&lifted, triangles, self.highest(), &loss, taken_up);
        self.frame(&lifted, curves.amplitude)
    }

    /// Where the samples are in a frame of the coarse cloth with its curves.
    ///
    /// # Panics
    /// If `positions` are not those of the cloth.
    pub fn apply(&self, positions: &[Vec3], curves: &Curves, samples: &Samples) -> WrinkledFrame {
        self.frame(&self.lifted(positions, curves, samples), curves.amplitude)
    }

    fn lifted(&self, positions: &[Vec3], curves: &Curves, samples: &Samples) -> Lifted {
        assert_eq!(positions.len(), self.surface.rest.len(), "a frame holds all points of the cloth");
        let normals = point_normals(positions, &self.surface.triangles);
        let positions = self.surface.sunk(positions, &normals);
        let segments = segments(curves, &self.surface, &positions, &normals);
        let (surface, sides) = (&self.surface, &curves.sides[..]);
        samples.lifted(&Pose { surface, positions: &positions, normals: &normals, sides }, &segments)
    }

    fn frame(&self, lifted: &Lifted, factor: f32) -> WrinkledFrame {
        let highest = self.highest();
        let positions = amplitude::positions(lifted, factor, highest);
        WrinkledFrame { positions, heights: amplitude::heights(lifted, factor, highest) }
    }

    /// The curves as polylines in a frame of the cloth.
    pub fn polylines(&self, positions: &[Vec3], curves: &Curves) -> Vec<Vec<Vec3>> {
        let place = |node: &CurveNode| node.spot.blend(&self.surface.triangles, positions);
        curves.lines.iter().map(|line| line.iter().map(place).collect()).collect()
    }
}

/// The UV triangles, as large as the rest pose.
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
    let side = |triangle: usize| {
        let [a, b, c] = surface.corners(triangle as u32, &surface.rest);
        a.distance(b) + b.distance(c) + c.distance(a)
    };
    let count = surface.triangles.len();
    RADIUS_OF_SIDE * (0..count).map(side).sum::<f32>() / (3 * count) as f32
}

#[cfg(test)]
mod tests;
