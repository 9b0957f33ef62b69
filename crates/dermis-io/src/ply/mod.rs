//! PLY (Stanford polygon files): one static shape, or one frame of a numbered sequence (see `numbered`).
//!
//! Text and both byte orders are read, with every scalar type and any extra properties and elements; little-endian
//! binary is written. `nx ny nz` are normals; `s t`, `u v` or `texture_u texture_v` UVs (origin at the lower left);
//! `red green blue alpha` sRGB colours (written with 8 bits); further scalars of vertices are attributes of points.
//!
//! PLY splits points at seams without recording which vertices belong together. dermis writes the index of the point as
//! the vertex property `point`. If it is missing, vertices at equal positions are joined in a static file with normals
//! or UVs. The vertices of a sequence are not joined, since positions that are equal in one frame can differ in the
//! next.

mod body;
mod header;
mod write;

use std::sync::Arc;

use dermis_mesh::polygons::flip_v;
use dermis_mesh::weld::{Column, Weld, weld};
use dermis_mesh::{CornerData, Layout, Note, Object, PolygonMesh, Polygons, Scene, TriMesh};
use glam::{Vec2, Vec3};

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;
use body::Contents;

pub(crate) use write::write;

/// Reads a file; vertices at equal positions are one point.
pub(crate) fn read(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    scene(body::read(&input.bytes)?, &input.name, true)
}

/// Reads a file with vertices at equal positions kept separate.
pub(crate) fn read_unwelded(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    scene(body::read(&input.bytes)?, &input.name, false)
}

/// The points and polygons of one file of a sequence.
pub(crate) fn read_frame(bytes: &[u8]) -> Result<(Vec<Vec3>, Polygons), Error> {
    let contents = body::read(bytes)?;
    let points = points_of(&contents, false)?;
    contents.polygons.check(contents.positions.len())?;
    let corners = contents.polygons.corners.iter().map(|&vertex| points.vertex_points[vertex as usize]).collect();
    let positions = points.point_vertices.iter().map(|&vertex| contents.positions[vertex as usize]).collect();
    Ok((positions, Polygons { sizes: contents.polygons.sizes, corners }))
}

fn scene(mut contents: Contents, name: &str, may_weld: bool) -> Result<Scene, Error> {
    let points = points_of(&contents, may_weld)?;
    let mut notes = std::mem::take(&mut contents.notes);
    let (vertices, count) = (contents.positions.len(), points.point_vertices.len());
    if contents.points.is_none() && count < vertices {
        notes.push(Note::new(format!(
            "{vertices} vertices have {count} positions; vertices at the same position are one point"
        )));
    }
    let attribute = |values: &Vec<f32>| points.point_vertices.iter().map(|&vertex| values[vertex as usize]).collect();
    let attributes = contents.attributes.iter().map(|(name, values)| (name.clone(), attribute(values))).collect();
    let mesh = Arc::new(mesh(contents, points)?);
    let object = Object { name: name.to_owned(), mesh, attributes, ..Object::default() };
    Ok(Scene { objects: vec![object], notes, ..Scene::default() })
}

/// Point of each vertex: as stored, by equal positions, or one point per vertex.
fn points_of(contents: &Contents, may_weld: bool) -> Result<Weld, Error> {
    if let Some(points) = &contents.points {
        return stated_points(points, &contents.positions);
    }
    let vertices = contents.positions.len();
    if may_weld && (contents.normals.is_some() || contents.uvs.is_some()) {
        return Ok(weld(vertices, &[Column { values: bytemuck::cast_slice(&contents.positions), width: 3 }]));
    }
    let own: Vec<u32> = (0..vertices as u32).collect();
    Ok(Weld { vertex_points: own.clone(), point_vertices: own })
}

fn stated_points(points: &[u32], positions: &[Vec3]) -> Result<Weld, Error> {
    let wrong = |what: String| Error::malformed(what).at("the vertex property 'point'");
    const NONE: u32 = u32::MAX;
    let count = points.iter().max().map_or(0, |&last| last as usize + 1);
    if count > positions.len() {
        return Err(wrong(format!("{} vertices cannot have {count} points", positions.len())));
    }
    let mut firsts = vec![NONE; count];
    for (vertex, &point) in points.iter().enumerate() {
        let first = &mut firsts[point as usize];
        if *first == NONE {
            *first = vertex as u32;
        } else if positions[*first as usize] != positions[vertex] {
            return Err(wrong(format!(
                "vertices {first} and {vertex} belong to point {point} but have different positions"
            )));
        }
    }
    match firsts.iter().position(|&first| first == NONE) {
        Some(point) => {
            Err(wrong(format!("no vertex belongs to point {point}, but one belongs to point {}", count - 1)))
        }
        None => Ok(Weld { vertex_points: points.to_vec(), point_vertices: firsts }),
    }
}

fn mesh(contents: Contents, points: Weld) -> Result<TriMesh, Error> {
    let positions = points.point_vertices.iter().map(|&vertex| contents.positions[vertex as usize]).collect();
    let uvs: Option<Vec<Vec2>> = contents.uvs.map(|uvs| uvs.into_iter().map(flip_v).collect());
    if contents.polygons.sizes.is_empty() {
        let mesh = TriMesh::new(positions, Vec::new())?;
        if contents.normals.is_none() && uvs.is_none() && contents.colors.is_none() {
            return Ok(mesh);
        }
        let layout = Layout {
            vertex_points: points.vertex_points,
            normals: contents.normals,
            uvs: uvs.into_iter().collect(),
            colors: contents.colors.into_iter().collect(),
            ..Layout::default()
        };
        return Ok(mesh.with_layout(layout)?);
    }
    contents.polygons.check(contents.positions.len())?;
    let Polygons { sizes, corners } = contents.polygons;
    let over_points = corners.iter().map(|&vertex| points.vertex_points[vertex as usize]).collect();
    let mesh = PolygonMesh {
        points: positions,
        polygons: Polygons { sizes, corners: over_points },
        normals: contents.normals.map(|values| CornerData { values, indices: corners.clone() }),
        uvs: uvs.into_iter().map(|values| CornerData { values, indices: corners.clone() }).collect(),
        colors: contents.colors.into_iter().map(|values| CornerData { values, indices: corners.clone() }).collect(),
        ..PolygonMesh::default()
    };
    Ok(mesh.into_tri_mesh()?)
}
