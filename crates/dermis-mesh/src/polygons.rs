//! Polygon meshes as stored in files, and their conversion to and from triangles.
//!
//! [`PolygonMesh`] is the representation of OBJ, Alembic, USD and FBX: polygons over points, with UVs, normals and colours
//! indexed per corner. It converts to and from [`TriMesh`]. A polygon with n corners always yields n − 2 consecutive
//! triangles, so the triangles of a polygon can be found by counting.

use std::cmp::Ordering;

use glam::{Vec2, Vec3, Vec4};

use crate::first_equal::{first_equal, renumber};
use crate::layout::{Layout, Material};
use crate::mesh_error::{MeshError, check_finite, expect_count, expect_indexable};
use crate::tri_mesh::TriMesh;
use crate::triangulate::triangulate;

pub use crate::polygon_list::Polygons;

/// Values that corners refer to by index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CornerData<T> {
    /// Distinct values.
    pub values: Vec<T>,
    /// Index of the value of each corner.
    pub indices: Vec<u32>,
}

impl<T: Copy> CornerData<T> {
    /// Compares the values (not the indices) of two corners bitwise.
    fn compare<const K: usize>(&self, a: u32, b: u32, numbers: impl Fn(T) -> [f32; K]) -> Ordering {
        let [a, b] = [a, b].map(|corner| self.indices[corner as usize]);
        if a == b {
            return Ordering::Equal;
        }
        let bits = |index: u32| numbers(self.values[index as usize]).map(f32::to_bits);
        bits(a).cmp(&bits(b))
    }
}

/// A polygon mesh with attributes per corner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolygonMesh {
    /// Positions of the points.
    pub points: Vec<Vec3>,
    /// Polygons, as point indices.
    pub polygons: Polygons,
    /// Unit normals.
    pub normals: Option<CornerData<Vec3>>,
    /// UV sets; the origin is the upper left corner of the image, as in glTF. See [`flip_v`].
    pub uvs: Vec<CornerData<Vec2>>,
    /// Linear RGBA colour sets.
    pub colors: Vec<CornerData<Vec4>>,
    /// Materials of the polygons.
    pub materials: Vec<Material>,
    /// Material of each polygon; empty if there are none.
    pub polygon_materials: Vec<u32>,
}

/// Converts a UV between the two conventions: origin at the upper left (glTF) or lower left (OBJ, USD, Alembic, FBX).
pub fn flip_v(uv: Vec2) -> Vec2 {
    Vec2::new(uv.x, 1.0 - uv.y)
}

impl PolygonMesh {
    /// Triangulates the polygons and creates one vertex per distinct combination of point and attributes.
    ///
    /// The layout is omitted if it contains no information: only triangles, no attributes and no materials.
    pub fn into_tri_mesh(self) -> Result<TriMesh, MeshError> {
        expect_indexable("points", self.points.len())?;
        check_finite(&self.points)?;
        self.polygons.check(self.points.len())?;
        self.check_corner_data()?;
        let cuts = self.triangulated_corners();
        let over_points = cuts.iter().map(|cut| cut.map(|corner| self.polygons.corners[corner as usize])).collect();
        let all_triangles = self.polygons.sizes.iter().all(|&size| size == 3);
        let no_attributes = self.normals.is_none() && self.uvs.is_empty() && self.colors.is_empty();
        if all_triangles && no_attributes && self.materials.is_empty() && self.polygon_materials.is_empty() {
            return TriMesh::new(self.points, over_points);
        }
        let (corner_vertices, first_corners) = self.split_vertices();
        let layout = Layout {
            vertex_points: first_corners.vertex_points,
            triangles: cuts.iter().map(|cut| cut.map(|corner| corner_vertices[corner as usize])).collect(),
            normals: self.normals.as_ref().map(|data| gather(data, &first_corners.corners, Vec3::ZERO)),
            tangents: None,
            uvs: self.uvs.iter().map(|data| gather(data, &first_corners.corners, Vec2::ZERO)).collect(),
            colors: self.colors.iter().map(|data| gather(data, &first_corners.corners, Vec4::ONE)).collect(),
            triangle_materials: self.triangle_materials(),
            polygons: (!all_triangles).then_some(Polygons { sizes: self.polygons.sizes, corners: corner_vertices }),
            materials: self.materials,
        };
        TriMesh::new(self.points, over_points)?.with_layout(layout)
    }

    fn check_corner_data(&self) -> Result<(), MeshError> {
        let corners = self.polygons.corners.len();
        if let Some(normals) = &self.normals {
            check_corners("normal", normals, corners)?;
        }
        for uvs in &self.uvs {
            check_corners("UV", uvs, corners)?;
        }
        for colors in &self.colors {
            check_corners("colour", colors, corners)?;
        }
        if !self.polygon_materials.is_empty() {
            expect_count("polygon materials", self.polygon_materials.len(), self.polygons.sizes.len())?;
        }
        Ok(())
    }

    /// Triangles as indices of corners.
    fn triangulated_corners(&self) -> Vec<[u32; 3]> {
        let mut cuts = Vec::with_capacity(self.polygons.triangle_count());
        let mut first = 0u32;
        for polygon in self.polygons.iter() {
            let before = cuts.len();
            let position = |corner: u32| self.points[polygon[corner as usize] as usize];
            triangulate(polygon.len() as u32, position, &mut cuts);
            for cut in &mut cuts[before..] {
                *cut = cut.map(|corner| first + corner);
            }
            first += polygon.len() as u32;
        }
        cuts
    }

    /// Vertex of each corner, and first corner of each vertex. Points without a face keep one vertex.
    fn split_vertices(&self) -> (Vec<u32>, FirstCorners) {
        let corners = &self.polygons.corners;
        let point_of = |corner: u32| corners[corner as usize];
        let same = first_equal(corners.len() as u32, self.points.len(), point_of, |a, b| self.compare_corners(a, b));
        let (corner_vertices, firsts) = renumber(&same);
        let mut first = FirstCorners {
            vertex_points: firsts.iter().map(|&corner| point_of(corner)).collect(),
            corners: firsts.into_iter().map(|corner| Some(corner as usize)).collect(),
        };
        let mut used = vec![false; self.points.len()];
        for &point in corners {
            used[point as usize] = true;
        }
        for (point, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            first.vertex_points.push(point as u32);
            first.corners.push(None);
        }
        (corner_vertices, first)
    }

    /// Compares the attributes of two corners of a point; equal corners share a vertex.
    fn compare_corners(&self, a: u32, b: u32) -> Ordering {
        let normals = self.normals.iter().map(|data| data.compare(a, b, |normal| normal.to_array()));
        let uvs = self.uvs.iter().map(|data| data.compare(a, b, |uv| uv.to_array()));
        let colors = self.colors.iter().map(|data| data.compare(a, b, |color| color.to_array()));
        normals.chain(uvs).chain(colors).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    fn triangle_materials(&self) -> Vec<u32> {
        let per_polygon = self.polygon_materials.iter().zip(&self.polygons.sizes);
        per_polygon.flat_map(|(&material, &size)| std::iter::repeat_n(material, size as usize - 2)).collect()
    }
}

#[derive(Default)]
struct FirstCorners {
    vertex_points: Vec<u32>,
    corners: Vec<Option<usize>>,
}

fn gather<T: Copy>(data: &CornerData<T>, corners: &[Option<usize>], missing: T) -> Vec<T> {
    corners.iter().map(|corner| corner.map_or(missing, |at| data.values[data.indices[at] as usize])).collect()
}

fn check_corners<T>(kind: &'static str, data: &CornerData<T>, corners: usize) -> Result<(), MeshError> {
    expect_count("corner attribute indices", data.indices.len(), corners)?;
    let count = data.values.len();
    match data.indices.iter().position(|&index| index as usize >= count) {
        Some(index) => {
            let target = data.indices[index] as usize;
            Err(MeshError::IndexOutOfRange { element: "corner", index, kind, target, count })
        }
        None => Ok(()),
    }
}

impl TriMesh {
    /// Polygons before triangulation (or the triangles), with attributes per corner, for writing.
    pub fn to_polygon_mesh(&self) -> PolygonMesh {
        let points = self.points().to_vec();
        let Some(layout) = self.layout() else {
            let polygons =
                Polygons { sizes: vec![3; self.triangle_count()], corners: self.triangles().as_flattened().to_vec() };
            return PolygonMesh { points, polygons, ..PolygonMesh::default() };
        };
        let over_vertices = layout.polygons.clone().unwrap_or_else(|| Polygons {
            sizes: vec![3; layout.triangles.len()],
            corners: layout.triangles.as_flattened().to_vec(),
        });
        let corner_vertices = &over_vertices.corners;
        PolygonMesh {
            points,
            normals: layout.normals.as_ref().map(|values| indexed(values, corner_vertices)),
            uvs: layout.uvs.iter().map(|values| indexed(values, corner_vertices)).collect(),
            colors: layout.colors.iter().map(|values| indexed(values, corner_vertices)).collect(),
            materials: layout.materials.clone(),
            polygon_materials: polygon_materials(layout, &over_vertices),
            polygons: Polygons { corners: layout.corner_points(corner_vertices), sizes: over_vertices.sizes },
        }
    }
}

impl Layout {
    fn corner_points(&self, vertices: &[u32]) -> Vec<u32> {
        vertices.iter().map(|&vertex| self.vertex_points[vertex as usize]).collect()
    }
}

fn indexed<T: Copy>(values: &[T], corner_vertices: &[u32]) -> CornerData<T> {
    CornerData { values: values.to_vec(), indices: corner_vertices.to_vec() }
}

fn polygon_materials(layout: &Layout, polygons: &Polygons) -> Vec<u32> {
    if layout.triangle_materials.is_empty() {
        return Vec::new();
    }
    let mut triangle = 0;
    let mut materials = Vec::with_capacity(polygons.sizes.len());
    for &size in &polygons.sizes {
        materials.push(layout.triangle_materials[triangle]);
        triangle += size as usize - 2;
    }
    materials
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn polygon_mesh(points: &[[f32; 2]], sizes: &[u32], corners: &[u32]) -> PolygonMesh {
        PolygonMesh {
            points: points.iter().map(|&[x, y]| Vec3::new(x, y, 0.0)).collect(),
            polygons: Polygons { sizes: sizes.to_vec(), corners: corners.to_vec() },
            ..PolygonMesh::default()
        }
    }

    #[test]
    fn splits_a_point_only_if_its_attributes_differ() {
        let mut mesh = polygon_mesh(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], &[3, 3], &[0, 1, 2, 0, 2, 3]);
        let uv = |x: f32| Vec2::new(x, 0.0);
        mesh.uvs = vec![CornerData { values: vec![uv(0.0), uv(1.0), uv(0.0)], indices: vec![0, 0, 0, 1, 2, 0] }];
        let split = mesh.clone().into_tri_mesh().unwrap();
        assert_eq!((split.point_count(), split.vertex_count()), (4, 5));
        let back = split.to_polygon_mesh();
        assert_eq!(back.polygons, mesh.polygons);
        let uvs: Vec<f32> = back.uvs[0].indices.iter().map(|&at| back.uvs[0].values[at as usize].x).collect();
        assert_eq!(uvs, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn keeps_quads_for_writing() {
        let mesh = polygon_mesh(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], &[4], &[0, 1, 2, 3]);
        let cut = mesh.clone().into_tri_mesh().unwrap();
        assert_eq!(cut.triangle_count(), 2);
        assert_eq!(cut.to_polygon_mesh(), mesh);
    }

    #[test]
    fn rejects_a_polygon_with_two_corners() {
        let error = polygon_mesh(&[[0.0, 0.0], [1.0, 0.0]], &[2], &[0, 1]).into_tri_mesh().unwrap_err();
        assert_eq!(error, MeshError::TooFewCorners { polygon: 0, size: 2 });
    }

    #[test]
    fn rejects_sizes_that_do_not_match_the_corners() {
        let sizes: [&[u32]; 4] = [&[0], &[1, 1], &[3, 3], &[u32::MAX, u32::MAX]];
        for sizes in sizes {
            let polygons = Polygons { sizes: sizes.to_vec(), corners: vec![0, 1, 2] };
            assert!(polygons.check(3).is_err(), "{sizes:?}");
            assert_eq!(polygons.iter().count(), sizes.len());
            let _ = polygons.triangle_count();
        }
    }

    #[test]
    fn points_without_a_face_keep_a_vertex() {
        let mut mesh = polygon_mesh(&[[0.0, 0.0], [9.0, 9.0], [1.0, 0.0], [1.0, 1.0]], &[3], &[0, 2, 3]);
        mesh.normals = Some(CornerData { values: vec![Vec3::Z], indices: vec![0; 3] });
        let cut = mesh.into_tri_mesh().unwrap();
        assert_eq!(cut.layout().unwrap().vertex_points, [0, 2, 3, 1]);
    }

    #[test]
    fn preserves_nan_uvs() {
        let mut mesh = polygon_mesh(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], &[3, 3], &[0, 1, 2, 0, 2, 3]);
        mesh.uvs = vec![CornerData { values: vec![Vec2::NAN], indices: vec![0; 6] }];
        let cut = mesh.into_tri_mesh().unwrap();
        assert_eq!(cut.vertex_count(), 4);
        assert!(cut.layout().unwrap().uvs[0].iter().all(|uv| uv.is_nan()));
    }

    #[test]
    fn splits_a_point_into_many_vertices_in_subquadratic_time() {
        let corners = 300_000;
        let mut mesh = polygon_mesh(&[[0.0, 0.0]], &vec![3; corners / 3], &vec![0; corners]);
        let values = (0..corners).map(|corner| Vec2::new(corner as f32, 0.0)).collect();
        mesh.uvs = vec![CornerData { values, indices: (0..corners as u32).collect() }];
        let start = std::time::Instant::now();
        assert_eq!(mesh.into_tri_mesh().unwrap().vertex_count(), corners);
        // Comparing all pairs would take minutes; the sort takes a fraction of a second.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn corners_keep_their_point_and_attributes(
            corners in proptest::collection::vec((0..5_u32, 0..4_u32, 0..3_u32), 3..30)
        ) {
            let whole = corners.len() / 3 * 3;
            let corners = &corners[..whole];
            let mut mesh = polygon_mesh(&[[0.0, 0.0]; 5], &vec![3; whole / 3], &[]);
            mesh.polygons.corners = corners.iter().map(|corner| corner.0).collect();
            // Values 0 and 2 are equal and must not split a point.
            let values = [0.0, 1.0, 0.0, 3.0].map(|x| Vec2::new(x, 0.5)).to_vec();
            mesh.uvs = vec![CornerData { values: values.clone(), indices: corners.iter().map(|corner| corner.1).collect() }];
            let normals = vec![Vec3::X, Vec3::Y, Vec3::Z];
            mesh.normals = Some(CornerData { values: normals.clone(), indices: corners.iter().map(|corner| corner.2).collect() });
            let cut = mesh.into_tri_mesh().unwrap();
            let layout = cut.layout().unwrap();
            let mut distinct = std::collections::BTreeSet::new();
            for (&vertex, &(point, uv, normal)) in layout.triangles.as_flattened().iter().zip(corners) {
                let vertex = vertex as usize;
                prop_assert_eq!(layout.vertex_points[vertex], point);
                prop_assert_eq!(layout.uvs[0][vertex], values[uv as usize]);
                prop_assert_eq!(layout.normals.as_ref().unwrap()[vertex], normals[normal as usize]);
                distinct.insert((point, if uv == 2 { 0 } else { uv }, normal));
            }
            let faceless = (0..5).filter(|point| corners.iter().all(|corner| corner.0 != *point)).count();
            prop_assert_eq!(cut.vertex_count(), distinct.len() + faceless);
        }
    }
}
