//! Polygons: as files hold them, and cut into triangles.
//!
//! [`PolygonMesh`] is the form in which OBJ, Alembic, USD and FBX speak: polygons over points, with UVs, normals and
//! colours indexed per corner. It converts to and from [`TriMesh`].
//!
//! Triangles are cut from each polygon's first corner as a fan where that is valid (triangles, quads, convex
//! polygons), by ear clipping in the plane of the polygon's area vector where it is concave. A quad is cut along its
//! first diagonal unless that folds it over. A polygon of n corners always gives n − 2 triangles, in order, so that
//! triangles and polygons stay in step.

use std::collections::HashMap;

use glam::{Vec2, Vec3, Vec4};

use crate::layout::{Layout, Material};
use crate::tri_mesh::{MeshError, TriMesh, check_finite, expect_count};

/// Polygons over some set of vertices: how many corners each has, and the corners of all of them in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Polygons {
    /// The number of corners of each polygon.
    pub sizes: Vec<u32>,
    /// The vertices at the corners, polygon after polygon.
    pub corners: Vec<u32>,
}

impl Polygons {
    /// The corners of each polygon.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.corners.as_slice();
        self.sizes.iter().map(move |&size| {
            let (polygon, tail) = rest.split_at(size as usize);
            rest = tail;
            polygon
        })
    }

    /// How many triangles the polygons are cut into.
    pub fn triangle_count(&self) -> usize {
        self.corners.len() - 2 * self.sizes.len()
    }

    /// Checks that every polygon has at least three corners, all below `count`.
    pub fn check(&self, count: usize) -> Result<(), MeshError> {
        let mut total = 0usize;
        for (polygon, &size) in self.sizes.iter().enumerate() {
            if size < 3 {
                return Err(MeshError::TooFewCorners { polygon, size: size as usize });
            }
            total = total.saturating_add(size as usize);
        }
        expect_count("corners of polygons", self.corners.len(), total)?;
        for (index, polygon) in self.iter().enumerate() {
            for &target in polygon {
                if target as usize >= count {
                    let (element, kind, target) = ("polygon", "vertex", target as usize);
                    return Err(MeshError::IndexOutOfRange { element, index, kind, target, count });
                }
            }
        }
        Ok(())
    }
}

/// Values that corners refer to by index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CornerData<T> {
    /// The distinct values.
    pub values: Vec<T>,
    /// The value of each corner.
    pub indices: Vec<u32>,
}

/// A polygon mesh with attributes per corner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PolygonMesh {
    /// The positions of the points.
    pub points: Vec<Vec3>,
    /// The polygons, as indices of points.
    pub polygons: Polygons,
    /// Unit normals.
    pub normals: Option<CornerData<Vec3>>,
    /// UV sets; the origin is the image's upper left corner, as in glTF. See [`flip_v`].
    pub uvs: Vec<CornerData<Vec2>>,
    /// Linear RGBA colour sets.
    pub colors: Vec<CornerData<Vec4>>,
    /// The materials that the polygons use.
    pub materials: Vec<Material>,
    /// The material of each polygon; empty where there are none.
    pub polygon_materials: Vec<u32>,
}

/// A UV between the two conventions: origin at the image's upper left (glTF) and lower left (OBJ, USD, Alembic, FBX).
pub fn flip_v(uv: Vec2) -> Vec2 {
    Vec2::new(uv.x, 1.0 - uv.y)
}

impl PolygonMesh {
    /// Cuts the polygons into triangles and makes one vertex of each distinct combination of point and attributes.
    ///
    /// The layout is left out where it would say nothing: all triangles, no attributes, no materials.
    pub fn into_tri_mesh(self) -> Result<TriMesh, MeshError> {
        check_finite(&self.points)?;
        self.polygons.check(self.points.len())?;
        self.check_corner_data()?;
        let cuts = self.cut();
        let over_points = cuts.iter().map(|cut| cut.map(|corner| self.polygons.corners[corner as usize])).collect();
        let all_triangles = self.polygons.sizes.iter().all(|&size| size == 3);
        let bare = self.normals.is_none() && self.uvs.is_empty() && self.colors.is_empty() && self.materials.is_empty();
        if all_triangles && bare {
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
            expect_count("materials of polygons", self.polygon_materials.len(), self.polygons.sizes.len())?;
        }
        Ok(())
    }

    /// The triangles as indices of corners.
    fn cut(&self) -> Vec<[u32; 3]> {
        let mut cuts = Vec::with_capacity(self.polygons.triangle_count());
        let mut first = 0u32;
        for polygon in self.polygons.iter() {
            let before = cuts.len();
            let position = |corner: u32| self.points[polygon[corner as usize] as usize];
            cut_polygon(polygon.len() as u32, position, &mut cuts);
            for cut in &mut cuts[before..] {
                *cut = cut.map(|corner| first + corner);
            }
            first += polygon.len() as u32;
        }
        cuts
    }

    /// The vertex of each corner, and the first corner of each vertex. Points without a face keep one vertex.
    fn split_vertices(&self) -> (Vec<u32>, FirstCorners) {
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::with_capacity(self.points.len());
        let mut used = vec![false; self.points.len()];
        let mut first = FirstCorners::default();
        let corner_vertices = (0..self.polygons.corners.len())
            .map(|corner| {
                let point = self.polygons.corners[corner];
                used[point as usize] = true;
                *seen.entry(self.corner_key(corner)).or_insert_with(|| {
                    first.vertex_points.push(point);
                    first.corners.push(Some(corner));
                    first.corners.len() as u32 - 1
                })
            })
            .collect();
        for (point, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            first.vertex_points.push(point as u32);
            first.corners.push(None);
        }
        (corner_vertices, first)
    }

    /// What makes two corners the same vertex: the point and the values (not the indices) of all attributes.
    fn corner_key(&self, corner: usize) -> Vec<u32> {
        let mut key = vec![self.polygons.corners[corner]];
        if let Some(data) = &self.normals {
            key.extend(data.values[data.indices[corner] as usize].to_array().map(f32::to_bits));
        }
        for data in &self.uvs {
            key.extend(data.values[data.indices[corner] as usize].to_array().map(f32::to_bits));
        }
        for data in &self.colors {
            key.extend(data.values[data.indices[corner] as usize].to_array().map(f32::to_bits));
        }
        key
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
    expect_count("attribute indices of corners", data.indices.len(), corners)?;
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
    /// The polygons that the triangles were made from (or the triangles), with attributes per corner, for writing.
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
            polygons: Polygons { corners: layout.split_corners(corner_vertices), sizes: over_vertices.sizes },
        }
    }
}

impl Layout {
    fn split_corners(&self, vertices: &[u32]) -> Vec<u32> {
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

/// Cuts one polygon into `size − 2` triangles of its corners `0..size`, appended to `triangles`.
fn cut_polygon(size: u32, position: impl Fn(u32) -> Vec3, triangles: &mut Vec<[u32; 3]>) {
    let fan = |apex: u32| (1..size - 1).map(move |k| [apex, (apex + k) % size, (apex + k + 1) % size]);
    if size == 3 {
        return triangles.extend(fan(0));
    }
    let area_of = |[a, b, c]: [u32; 3]| (position(b) - position(a)).cross(position(c) - position(a));
    let normal: Vec3 = fan(0).map(area_of).sum();
    let keeps_orientation = |apex: u32| fan(apex).all(|triangle| area_of(triangle).dot(normal) > 0.0);
    if keeps_orientation(0) {
        return triangles.extend(fan(0));
    }
    if size == 4 && keeps_orientation(1) {
        return triangles.extend(fan(1));
    }
    // Ear clipping is quadratic; a polygon this large is not something an artist drew.
    const LARGEST_CLIPPED: u32 = 2048;
    if size > LARGEST_CLIPPED || normal.length_squared() == 0.0 {
        return triangles.extend(fan(0));
    }
    clip_ears(size, position, normal, triangles);
}

fn clip_ears(size: u32, position: impl Fn(u32) -> Vec3, normal: Vec3, triangles: &mut Vec<[u32; 3]>) {
    let side = |a: u32, b: u32, c: u32| (position(b) - position(a)).cross(position(c) - position(a)).dot(normal);
    let mut ring: Vec<u32> = (0..size).collect();
    while ring.len() > 3 {
        let n = ring.len();
        let corners = |at: usize| (ring[(at + n - 1) % n], ring[at], ring[(at + 1) % n]);
        let is_ear = |&at: &usize| {
            let (a, b, c) = corners(at);
            let inside = |&p: &u32| side(a, b, p) >= 0.0 && side(b, c, p) >= 0.0 && side(c, a, p) >= 0.0;
            side(a, b, c) > 0.0 && !ring.iter().filter(|&&p| p != a && p != b && p != c).any(inside)
        };
        // A degenerate or self-crossing polygon may have no ear: cut anywhere, so that the count stays n − 2.
        let at = (0..n).find(is_ear).unwrap_or(0);
        let (a, b, c) = corners(at);
        triangles.push([a, b, c]);
        ring.remove(at);
    }
    triangles.push([ring[0], ring[1], ring[2]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon_mesh(points: &[[f32; 2]], sizes: &[u32], corners: &[u32]) -> PolygonMesh {
        PolygonMesh {
            points: points.iter().map(|&[x, y]| Vec3::new(x, y, 0.0)).collect(),
            polygons: Polygons { sizes: sizes.to_vec(), corners: corners.to_vec() },
            ..PolygonMesh::default()
        }
    }

    fn signed_areas(mesh: &TriMesh) -> Vec<f32> {
        let points = mesh.points();
        let corner = |index: u32| points[index as usize];
        mesh.triangles().iter().map(|&[a, b, c]| (corner(b) - corner(a)).cross(corner(c) - corner(a)).z / 2.0).collect()
    }

    #[test]
    fn cuts_a_concave_polygon_inside_itself() {
        // An L: area 3, and its fan from corner 0 would stay inside only from some corners.
        let points = [[1.0, 2.0], [0.0, 2.0], [0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0]];
        let mesh = polygon_mesh(&points, &[6], &[0, 1, 2, 3, 4, 5]).into_tri_mesh().unwrap();
        let areas = signed_areas(&mesh);
        assert_eq!(areas.len(), 4);
        assert!(areas.iter().all(|&area| area > 0.0), "{areas:?}");
        assert!((areas.iter().sum::<f32>() - 3.0).abs() < 1e-6);
    }

    #[test]
    fn cuts_an_arrow_shaped_quad_along_the_diagonal_that_stays_inside() {
        let points = [[-1.0, -1.0], [0.0, -0.5], [1.0, -1.0], [0.0, 1.0]];
        let mesh = polygon_mesh(&points, &[4], &[0, 1, 2, 3]).into_tri_mesh().unwrap();
        assert!(signed_areas(&mesh).iter().all(|&area| area > 0.0));
    }

    #[test]
    fn splits_a_point_only_where_its_attributes_jump() {
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
    fn rejects_a_polygon_of_two_corners() {
        let error = polygon_mesh(&[[0.0, 0.0], [1.0, 0.0]], &[2], &[0, 1]).into_tri_mesh().unwrap_err();
        assert_eq!(error, MeshError::TooFewCorners { polygon: 0, size: 2 });
    }
}
