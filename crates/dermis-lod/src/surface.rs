//! The mesh while it is simplified: points with their weights and shapes, vertices with their attributes, triangles.
//!
//! Collapses join points; at seams, a point has several vertices. An edge is *special* if it is on the boundary, if more
//! than two triangles use it, if its two triangles have different vertices at an end, or if their materials differ.

use dermis_mesh::{Layout, Level, MeshError, Object, Shape, SkinWeights, TriMesh};
use glam::{DVec3, Vec2, Vec3, Vec4};
use std::sync::Arc;

/// Freedom of movement of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No special edges: it can move freely.
    Free,
    /// Exactly two special edges of one kind: it can move along them.
    Curve,
    /// A corner of seams: it moves only if this saves more than other collapses.
    Corner,
    /// A corner of boundaries, or a non-manifold point: it cannot move.
    Fixed,
}

/// Kind of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Smooth,
    Seam,
    Boundary,
    NotManifold,
}

/// Points, vertices and triangles; those that were removed keep their index.
#[derive(Debug, Clone)]
pub(crate) struct Surface {
    pub points: Vec<DVec3>,
    /// Skin weights of each point, sorted by joint.
    pub rows: Vec<Vec<(u32, f64)>>,
    /// Offsets of each shape, per point.
    pub shapes: Vec<Vec<DVec3>>,
    /// Attributes of the points.
    pub scalars: Vec<Vec<f64>>,
    pub kinds: Vec<Kind>,
    pub vertex_points: Vec<u32>,
    /// Numbers of each vertex that are interpolated.
    pub numbers: Vec<f64>,
    pub columns: Columns,
    /// Triangles over vertices.
    pub triangles: Vec<[u32; 3]>,
    pub materials: Vec<u32>,
    pub alive: Vec<bool>,
    pub alive_count: usize,
    /// Triangles around each point.
    pub around: Vec<Vec<u32>>,
    pub max_influences: usize,
}

/// Meaning of the numbers of a vertex.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns {
    pub width: usize,
    pub normal: Option<usize>,
    pub tangent: Option<usize>,
    pub uvs: usize,
    pub uv_sets: usize,
    pub colors: usize,
    pub color_sets: usize,
    /// Offsets of the normals by shapes.
    pub shape_normals: usize,
}

impl Surface {
    /// Creates the surface from the triangles of `object` that do not repeat a point.
    pub(crate) fn new(object: &Object) -> Self {
        let mesh = &object.mesh;
        let layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
        let (columns, numbers) = numbers(object, &layout);
        let double = |point: &Vec3| point.as_dvec3();
        let proper = |triangle: &[u32; 3]| !dermis_mesh::adjacency::is_collapsed(*triangle);
        let kept: Vec<usize> = (0..mesh.triangle_count()).filter(|&t| proper(&mesh.triangles()[t])).collect();
        let material = |t: &usize| layout.triangle_materials.get(*t).copied().unwrap_or(0);
        let rig = object.rig.as_ref();
        let weights = rig.map(|rig| rig.weights()).filter(|weights| weights.point_count() > 0);
        let row = |point: usize| weights.map_or_else(Vec::new, |weights| sorted_row(weights, point));
        let shapes = rig.map_or(&[][..], |rig| rig.shapes());
        let mut surface = Self {
            points: mesh.points().iter().map(double).collect(),
            rows: (0..mesh.point_count()).map(row).collect(),
            shapes: shapes.iter().map(|shape| shape.offsets.iter().map(double).collect()).collect(),
            scalars: object.attributes.values().map(|v| v.iter().map(|&value| f64::from(value)).collect()).collect(),
            kinds: Vec::new(),
            materials: kept.iter().map(material).collect(),
            triangles: kept.iter().map(|&t| layout.triangles[t]).collect(),
            vertex_points: layout.vertex_points,
            numbers,
            columns,
            alive: vec![true; kept.len()],
            alive_count: kept.len(),
            around: vec![Vec::new(); mesh.point_count()],
            max_influences: weights.map_or(0, SkinWeights::max_influences).max(1),
        };
        for (index, triangle) in surface.triangles.iter().enumerate() {
            for &vertex in triangle {
                surface.around[surface.vertex_points[vertex as usize] as usize].push(index as u32);
            }
        }
        surface.kinds = (0..surface.points.len()).map(|point| surface.kind(point)).collect();
        surface
    }

    /// Points of a triangle.
    pub(crate) fn corners(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize].map(|vertex| self.vertex_points[vertex as usize])
    }

    /// The vertex of `point` in `triangle`.
    pub(crate) fn vertex_in(&self, triangle: u32, point: u32) -> Option<u32> {
        self.triangles[triangle as usize].into_iter().find(|&vertex| self.vertex_points[vertex as usize] == point)
    }

    /// Triangles that contain both points.
    pub(crate) fn shared(&self, a: u32, b: u32) -> impl Iterator<Item = u32> + '_ {
        self.around[a as usize].iter().copied().filter(move |&triangle| self.corners(triangle).contains(&b))
    }

    /// Points connected to `point` by an edge, in ascending order.
    pub(crate) fn neighbours(&self, point: u32) -> Vec<u32> {
        let corners = self.around[point as usize].iter().flat_map(|&triangle| self.corners(triangle));
        let mut found: Vec<u32> = corners.filter(|&corner| corner != point).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Kind of the edge between two points.
    pub(crate) fn edge(&self, a: u32, b: u32) -> Edge {
        let mut triangles = self.shared(a, b);
        let (Some(first), second) = (triangles.next(), triangles.next()) else { return Edge::NotManifold };
        let Some(second) = second else { return Edge::Boundary };
        if triangles.next().is_some() {
            return Edge::NotManifold;
        }
        let vertices = |triangle: u32| (self.vertex_in(triangle, a), self.vertex_in(triangle, b));
        let same_material = self.materials[first as usize] == self.materials[second as usize];
        if same_material && vertices(first) == vertices(second) { Edge::Smooth } else { Edge::Seam }
    }

    /// Fraction of the edges that are seams.
    pub(crate) fn seam_fraction(&self) -> f64 {
        let (mut seams, mut all) = (0_usize, 0_usize);
        for point in 0..self.points.len() as u32 {
            for other in self.neighbours(point).into_iter().filter(|&other| other > point) {
                all += 1;
                seams += usize::from(self.edge(point, other) == Edge::Seam);
            }
        }
        seams as f64 / all.max(1) as f64
    }

    fn kind(&self, point: usize) -> Kind {
        let around = &self.around[point];
        let edges = self.neighbours(point as u32).into_iter().map(|other| self.edge(point as u32, other));
        let special: Vec<Edge> = edges.filter(|&edge| edge != Edge::Smooth).collect();
        let mut vertices: Vec<u32> =
            around.iter().filter_map(|&triangle| self.vertex_in(triangle, point as u32)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        if special.contains(&Edge::NotManifold) || !self.is_one_fan(point as u32) {
            return Kind::Fixed;
        }
        match special.as_slice() {
            [] if vertices.len() == 1 => Kind::Free,
            [Edge::Boundary, Edge::Boundary] if vertices.len() == 1 => Kind::Curve,
            [Edge::Seam, Edge::Seam] if vertices.len() <= 2 => Kind::Curve,
            special if special.iter().all(|&edge| edge == Edge::Seam) => Kind::Corner,
            _ => Kind::Fixed,
        }
    }

    /// Returns whether `point` can leave the seams at it: a point of seams that is not on a boundary.
    pub(crate) fn can_leave_seams(&self, point: u32) -> bool {
        match self.kinds[point as usize] {
            Kind::Corner => true,
            Kind::Curve => self.neighbours(point).into_iter().all(|other| self.edge(point, other) != Edge::Boundary),
            Kind::Free | Kind::Fixed => false,
        }
    }

    /// Determines the kinds of `point` and its neighbours again.
    pub(crate) fn update_kinds(&mut self, point: u32) {
        for changed in self.neighbours(point).into_iter().chain([point]) {
            self.kinds[changed as usize] = self.kind(changed as usize);
        }
    }

    /// Returns true if all triangles around `point` are connected by edges at it.
    fn is_one_fan(&self, point: u32) -> bool {
        let around = &self.around[point as usize];
        if around.is_empty() {
            return true;
        }
        let mut reached = vec![false; around.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            let corners = self.corners(around[at]);
            let is_next = |other: u32| self.corners(other).iter().filter(|corner| corners.contains(corner)).count() > 1;
            open.extend((0..around.len()).filter(|&other| !reached[other] && is_next(around[other])));
        }
        reached.into_iter().all(|reached| reached)
    }

    /// Vertex of `a` and of `b` in each triangle that contains both; `None` if a vertex of `a` would have to be split.
    /// Vertices of `a` without a partner are to become vertices of `b`.
    pub(crate) fn vertex_moves(&self, a: u32, b: u32) -> Option<Vec<(u32, u32)>> {
        let both = |triangle: u32| Some((self.vertex_in(triangle, a)?, self.vertex_in(triangle, b)?));
        let mut pairs: Vec<(u32, u32)> = self.shared(a, b).filter_map(both).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs.windows(2).all(|pair| pair[0].0 != pair[1].0).then_some(pairs)
    }

    /// [`Self::vertex_moves`] if all vertices of `a` have a partner.
    pub(crate) fn vertex_pairs(&self, a: u32, b: u32) -> Option<Vec<(u32, u32)>> {
        let pairs = self.vertex_moves(a, b)?;
        let has_partner = |&triangle: &u32| {
            self.vertex_in(triangle, a).is_some_and(|vertex| pairs.iter().any(|pair| pair.0 == vertex))
        };
        self.around[a as usize].iter().all(has_partner).then_some(pairs)
    }

    /// Joins point `a` to `b`: `t` is the location between them, from `a` to `b`, and `position` the new rest position.
    pub(crate) fn collapse(&mut self, a: u32, b: u32, t: f64, position: DVec3, pairs: &[(u32, u32)]) {
        let (from, to) = (a as usize, b as usize);
        self.rows[to] = blended(&self.rows[from], &self.rows[to], t, self.max_influences);
        self.points[to] = position;
        for shape in &mut self.shapes {
            shape[to] = shape[from].lerp(shape[to], t);
        }
        for values in &mut self.scalars {
            values[to] += (1.0 - t) * (values[from] - values[to]);
        }
        let width = self.columns.width;
        for &(old, new) in pairs.iter().filter(|_| t < 1.0) {
            for column in 0..width {
                let (old, new) = (old as usize * width + column, new as usize * width + column);
                self.numbers[new] += (1.0 - t) * (self.numbers[old] - self.numbers[new]);
            }
        }
        let mut moved = Vec::new();
        for triangle in std::mem::take(&mut self.around[from]) {
            let corners = self.corners(triangle);
            if corners.contains(&b) {
                self.alive[triangle as usize] = false;
                self.alive_count -= 1;
                for corner in corners {
                    self.around[corner as usize].retain(|&other| other != triangle);
                }
                continue;
            }
            for vertex in &mut self.triangles[triangle as usize] {
                if let Some(&(_, new)) = pairs.iter().find(|pair| pair.0 == *vertex) {
                    *vertex = new;
                } else if self.vertex_points[*vertex as usize] == a {
                    moved.push(*vertex);
                }
            }
            self.around[to].push(triangle);
        }
        // Vertices without a partner keep their attributes.
        for vertex in moved {
            self.vertex_points[vertex as usize] = b;
        }
    }

    /// Creates a level of detail of `object` from the remaining triangles.
    pub(crate) fn level(&self, object: &Object) -> Result<Level, MeshError> {
        let kept: Vec<usize> = (0..self.triangles.len()).filter(|&t| self.alive[t]).collect();
        let old = object.mesh.layout();
        let vertices = Renumbered::new(self.vertex_points.len(), kept.iter().flat_map(|&t| self.triangles[t]));
        let vertex_points = || vertices.old.iter().map(|&vertex| self.vertex_points[vertex as usize]);
        let points = Renumbered::new(self.points.len(), vertex_points());
        let over_vertices: Vec<[u32; 3]> =
            kept.iter().map(|&t| self.triangles[t].map(|v| vertices.new[v as usize])).collect();
        let new_points: Vec<u32> = vertex_points().map(|point| points.new[point as usize]).collect();
        let over_points = over_vertices.iter().map(|corners| corners.map(|v| new_points[v as usize])).collect();
        let positions = points.old.iter().map(|&point| self.points[point as usize].as_vec3()).collect();
        let mut mesh = TriMesh::new(positions, over_points)?;
        if let Some(old) = old {
            let mut layout = self.layout(old, &vertices.old);
            layout.vertex_points = new_points;
            layout.triangles = over_vertices;
            if !old.triangle_materials.is_empty() {
                layout.triangle_materials = kept.iter().map(|&t| self.materials[t]).collect();
            }
            mesh = mesh.with_layout(layout)?;
        }
        let has_joints = object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
        let rows = points.old.iter().map(|&point| self.rows[point as usize].iter().map(|&(j, w)| (j, w as f32)));
        let gather = |values: &Vec<f64>| points.old.iter().map(|&point| values[point as usize] as f32).collect();
        Ok(Level {
            mesh: Arc::new(mesh),
            weights: if has_joints { SkinWeights::from_rows(rows) } else { SkinWeights::default() },
            shapes: self.level_shapes(object, &points.old, &vertices.old),
            attributes: object.attributes.keys().cloned().zip(self.scalars.iter().map(gather)).collect(),
        })
    }

    fn level_shapes(&self, object: &Object, points: &[u32], vertices: &[u32]) -> Vec<Shape> {
        let shapes = object.rig.as_ref().map_or(&[][..], |rig| rig.shapes());
        let mut column = self.columns.shape_normals;
        let shape = |(shape, offsets): (&Shape, &Vec<DVec3>)| {
            let normal_offsets = shape.normal_offsets.as_ref().map(|_| {
                column += 3;
                vertices.iter().map(|&vertex| self.vector(vertex, column - 3)).collect()
            });
            let offsets = points.iter().map(|&point| offsets[point as usize].as_vec3()).collect();
            Shape { name: shape.name.clone(), offsets, normal_offsets }
        };
        shapes.iter().zip(&self.shapes).map(shape).collect()
    }

    /// Attributes of `vertices`, without polygons, points and triangles.
    fn layout(&self, old: &Layout, vertices: &[u32]) -> Layout {
        let columns = self.columns;
        let at = |vertex: u32, column: usize| self.numbers[vertex as usize * columns.width + column] as f32;
        let unit = |vertex: u32, column: usize| self.vector(vertex, column).try_normalize();
        let normal = |&vertex: &u32| columns.normal.and_then(|column| unit(vertex, column)).unwrap_or(Vec3::Z);
        let sign = |vertex: u32| old.tangents.as_ref().map_or(1.0, |tangents| tangents[vertex as usize].w);
        let tangent = |&vertex: &u32| {
            columns.tangent.and_then(|column| unit(vertex, column)).unwrap_or(Vec3::X).extend(sign(vertex))
        };
        let uv = |set: usize| move |&v: &u32| Vec2::new(at(v, columns.uvs + 2 * set), at(v, columns.uvs + 2 * set + 1));
        let color =
            |set: usize| move |&v: &u32| Vec4::from_array(std::array::from_fn(|k| at(v, columns.colors + 4 * set + k)));
        Layout {
            normals: columns.normal.map(|_| vertices.iter().map(normal).collect()),
            tangents: columns.tangent.map(|_| vertices.iter().map(tangent).collect()),
            uvs: (0..columns.uv_sets).map(|set| vertices.iter().map(uv(set)).collect()).collect(),
            colors: (0..columns.color_sets).map(|set| vertices.iter().map(color(set)).collect()).collect(),
            materials: old.materials.clone(),
            ..Layout::default()
        }
    }

    fn vector(&self, vertex: u32, column: usize) -> Vec3 {
        let first = vertex as usize * self.columns.width + column;
        DVec3::from_slice(&self.numbers[first..first + 3]).as_vec3()
    }
}

/// Kept items in the order of their first use.
struct Renumbered {
    old: Vec<u32>,
    new: Vec<u32>,
}

impl Renumbered {
    fn new(count: usize, uses: impl Iterator<Item = u32>) -> Self {
        let mut result = Self { old: Vec::new(), new: vec![u32::MAX; count] };
        for item in uses {
            let new = &mut result.new[item as usize];
            if *new == u32::MAX {
                *new = result.old.len() as u32;
                result.old.push(item);
            }
        }
        result
    }
}

/// Weights interpolated between two points: at most `max_count` of the largest, sorted by joint, with the same sum.
pub(crate) fn blended(a: &[(u32, f64)], b: &[(u32, f64)], t: f64, max_count: usize) -> Vec<(u32, f64)> {
    if t >= 1.0 {
        return b.to_vec();
    }
    if t <= 0.0 {
        return a.to_vec();
    }
    let scaled = |row: &[(u32, f64)], factor: f64| row.iter().map(|&(j, w)| (j, factor * w)).collect::<Vec<_>>();
    let mut row = scaled(a, 1.0 - t);
    row.extend(scaled(b, t));
    row.sort_by_key(|(joint, _)| *joint);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    if row.len() > max_count {
        let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
        row.sort_by(|x, y| y.1.abs().total_cmp(&x.1.abs()).then(x.0.cmp(&y.0)));
        row.truncate(max_count);
        let kept: f64 = row.iter().map(|(_, weight)| weight).sum();
        if kept != 0.0 {
            for (_, weight) in &mut *row {
                *weight *= sum / kept;
            }
        }
        row.sort_by_key(|(joint, _)| *joint);
    }
    row
}

fn sorted_row(weights: &SkinWeights, point: usize) -> Vec<(u32, f64)> {
    let mut row: Vec<(u32, f64)> =
        weights.row(point).filter(|(_, w)| *w != 0.0).map(|(joint, weight)| (joint, f64::from(weight))).collect();
    row.sort_by_key(|(joint, _)| *joint);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    row
}

/// Numbers of all vertices, and their meaning.
fn numbers(object: &Object, layout: &Layout) -> (Columns, Vec<f64>) {
    let shapes = object.rig.as_ref().map_or(&[][..], |rig| rig.shapes());
    let shape_normals: Vec<&Vec<Vec3>> = shapes.iter().filter_map(|shape| shape.normal_offsets.as_ref()).collect();
    let (uv_sets, color_sets) = (layout.uvs.len(), layout.colors.len());
    let mut columns = Columns { uv_sets, color_sets, ..Columns::default() };
    let mut take = |width: usize| {
        columns.width += width;
        columns.width - width
    };
    let normal = layout.normals.as_ref().map(|_| take(3));
    let tangent = layout.tangents.as_ref().map(|_| take(3));
    let (uvs, colors) = (take(2 * uv_sets), take(4 * color_sets));
    let first_shape = take(3 * shape_normals.len());
    (columns.normal, columns.tangent, columns.uvs, columns.colors) = (normal, tangent, uvs, colors);
    columns.shape_normals = first_shape;
    let mut numbers = Vec::with_capacity(columns.width * layout.vertex_count());
    for vertex in 0..layout.vertex_count() {
        let mut put = |values: &[f32]| numbers.extend(values.iter().map(|&value| f64::from(value)));
        layout.normals.iter().for_each(|normals| put(&normals[vertex].to_array()));
        layout.tangents.iter().for_each(|tangents| put(&tangents[vertex].truncate().to_array()));
        layout.uvs.iter().for_each(|set| put(&set[vertex].to_array()));
        layout.colors.iter().for_each(|set| put(&set[vertex].to_array()));
        for offsets in &shape_normals {
            put(&offsets[vertex].to_array());
        }
    }
    (columns, numbers)
}
