//! Influence maps, the bones that act on each point: from skin weights, the examples, painted attributes, textures or a
//! file.

use std::path::{Path, PathBuf};

use dermis_io::ReadOptions;
use dermis_io::image::Grey;
use dermis_mesh::{Note, Object, Rig, SkinWeights};
use dermis_skin::envelope::{Examples, InfluenceMaps, MapOptions, automatic_influences};

use super::EnvelopeError;
use crate::error::Result;

/// Source of the influence maps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MapSource {
    /// The skin weights of the rig; the examples if it has none.
    #[default]
    Weights,
    /// The examples.
    Automatic,
    /// One attribute per joint, named by this prefix and the joint.
    Attributes(String),
    /// A folder of images `JOINT.png` over the first UVs.
    Textures(PathBuf),
    /// The skin weights of another file.
    File(String),
}

/// Influence maps of a rigged object from `source`.
pub(super) fn influences(
    source: &MapSource,
    options: &MapOptions,
    object: &Object,
    rig: &Rig,
    examples: &Examples,
    warnings: &mut Vec<Note>,
) -> Result<InfluenceMaps> {
    let mesh = &object.mesh;
    let weighted = rig.weights().rows().any(|mut row| row.any(|(_, weight)| weight > 0.0));
    let painted = match source {
        MapSource::Automatic => return Ok(automatic_influences(mesh, rig, examples, options)),
        MapSource::Weights if !weighted => {
            warnings.push(Note::new("the rig has no skin weights; the influence maps are found from the examples"));
            return Ok(automatic_influences(mesh, rig, examples, options));
        }
        MapSource::Weights => return Ok(InfluenceMaps::from_weights(mesh, rig, rig.weights(), options)),
        MapSource::Attributes(prefix) => attributes(object, rig, prefix)?,
        MapSource::Textures(folder) => textures(object, rig, folder)?,
        MapSource::File(source) => weights_of(source, object, rig)?,
    };
    Ok(if weighted {
        InfluenceMaps::painted(mesh, rig, &painted, rig.weights(), options.widen)
    } else {
        InfluenceMaps::painted(mesh, rig, &painted, &painted, options.widen)
    })
}

/// One scalar attribute per joint, named by the prefix and the joint.
fn attributes(object: &Object, rig: &Rig, prefix: &str) -> std::result::Result<SkinWeights, EnvelopeError> {
    let of_joint = |name: &str| object.attributes.get(&format!("{prefix}{name}")).map(Vec::as_slice);
    let columns: Vec<Option<&[f32]>> = rig.joints().iter().map(|joint| of_joint(&joint.name)).collect();
    if columns.iter().all(Option::is_none) {
        let known = object.attributes.keys().cloned().collect();
        return Err(EnvelopeError::NoAttribute { prefix: prefix.to_owned(), known });
    }
    let count = object.mesh.point_count();
    Ok(rows(count, &columns.iter().map(|column| column.map(<[f32]>::to_vec)).collect::<Vec<_>>()))
}

/// One grey image per joint, named after the joint, sampled at the first UVs of the vertices of each point.
fn textures(object: &Object, rig: &Rig, folder: &Path) -> std::result::Result<SkinWeights, EnvelopeError> {
    let layout = object.mesh.layout().filter(|layout| !layout.uvs.is_empty());
    let layout = layout.ok_or(EnvelopeError::NoUvs)?;
    let mut columns: Vec<Option<Vec<f32>>> = Vec::new();
    for joint in rig.joints() {
        let path = folder.join(format!("{}.png", joint.name));
        if joint.name.is_empty() || !path.is_file() {
            columns.push(None);
            continue;
        }
        let image = read_image(&path).map_err(|reason| EnvelopeError::Image { path, reason })?;
        // A point at a seam uses the mean of its vertices, so that the seam stays closed.
        let mut sums = vec![(0.0, 0.0); object.mesh.point_count()];
        for (uv, &point) in layout.uvs[0].iter().zip(&layout.vertex_points) {
            let (sum, count) = &mut sums[point as usize];
            *sum += value_at(&image, uv.x, uv.y);
            *count += 1.0;
        }
        columns.push(Some(sums.into_iter().map(|(sum, count): (f32, f32)| sum / count.max(1.0)).collect()));
    }
    if columns.iter().all(Option::is_none) {
        return Err(EnvelopeError::NoImage { folder: folder.to_path_buf() });
    }
    Ok(rows(object.mesh.point_count(), &columns))
}

/// The skin weights of another file, joints matched by name or else by order.
fn weights_of(source: &str, object: &Object, rig: &Rig) -> Result<SkinWeights> {
    let scene = dermis_io::read(source, &ReadOptions::default())?;
    let found = scene.objects.iter().find_map(|object| object.rig.as_ref());
    let found = found.ok_or_else(|| EnvelopeError::NoWeights { source_file: source.to_owned() })?;
    let (points, expected) = (found.weights().point_count(), object.mesh.point_count());
    if points != expected {
        return Err(EnvelopeError::MapPoints { found: points, expected }.into());
    }
    let named = |name: &str| rig.joints().iter().position(|joint| !name.is_empty() && joint.name == name);
    let by_name: Option<Vec<usize>> = found.joints().iter().map(|joint| named(&joint.name)).collect();
    let in_order = (found.joints().len() == rig.joints().len()).then(|| (0..rig.joints().len()).collect());
    let indices: Vec<usize> = by_name.or(in_order).ok_or_else(|| {
        let (found, expected) = (found.joints().len(), rig.joints().len());
        EnvelopeError::MapJoints { found, expected }
    })?;
    let row = |point: usize| found.weights().row(point).map(|(bone, weight)| (indices[bone as usize] as u32, weight));
    Ok(SkinWeights::from_rows((0..points).map(|point| row(point).collect::<Vec<_>>())))
}

fn rows(points: usize, columns: &[Option<Vec<f32>>]) -> SkinWeights {
    SkinWeights::from_rows((0..points).map(|point| {
        let entry = |(bone, column): (usize, &Option<Vec<f32>>)| Some((bone as u32, column.as_ref()?[point]));
        columns.iter().enumerate().filter_map(entry).filter(|(_, value)| value.is_finite()).collect::<Vec<_>>()
    }))
}

fn read_image(path: &Path) -> std::result::Result<Grey, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    Grey::read_png(std::io::BufReader::new(file)).map_err(|error| error.to_string())
}

/// The value of `image` between pixels, clamped to the edges; v points down.
fn value_at(image: &Grey, u: f32, v: f32) -> f32 {
    let texel = |at: f32, size: usize| {
        let at = (at * size as f32 - 0.5).clamp(0.0, (size - 1) as f32);
        let first = at as usize;
        (first, (first + 1).min(size - 1), at - first as f32)
    };
    let ((left, right, x), (top, bottom, y)) = (texel(u, image.width), texel(v, image.height));
    let pixel = |column: usize, row: usize| image.values[row * image.width + column];
    let row = |row: usize| pixel(left, row) * (1.0 - x) + pixel(right, row) * x;
    row(top) * (1.0 - y) + row(bottom) * y
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dermis_mesh::glam::{DAffine3, Vec2, Vec3};
    use dermis_mesh::{Joint, Layout, TriMesh};

    use super::*;

    fn write_png(path: &Path, width: usize, pixels: &[f32]) {
        std::fs::write(path, dermis_io::image::png16(width, pixels, [0.0, 1.0]).unwrap()).unwrap();
    }

    #[test]
    fn textures_are_sampled_at_the_uvs_of_points() {
        let folder = tempfile::tempdir().unwrap();
        write_png(&folder.path().join("hip.png"), 2, &[0.0, 1.0, 0.0, 1.0]);
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
        let layout = Layout {
            vertex_points: vec![0, 1, 2],
            triangles: vec![[0, 1, 2]],
            uvs: vec![vec![Vec2::ZERO, Vec2::ONE, Vec2::new(0.5, 0.5)]],
            ..Layout::default()
        };
        let mesh = Arc::new(TriMesh::new(points, vec![[0, 1, 2]]).unwrap().with_layout(layout).unwrap());
        let joints = ["hip", "knee"].map(|name| Joint::at(name, None, DAffine3::IDENTITY)).to_vec();
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(vec![vec![]; 3]), vec![]).unwrap();
        let object = Object::of_mesh("leg", mesh);
        let maps = textures(&object, &rig, folder.path()).unwrap();
        let rows: Vec<Vec<(u32, f32)>> = maps.rows().map(Iterator::collect).collect();
        assert_eq!(rows, [vec![(0, 0.0)], vec![(0, 1.0)], vec![(0, 0.5)]]);
        assert!(textures(&object, &rig, Path::new("nowhere")).is_err());
        std::fs::write(folder.path().join("knee.png"), "no image").unwrap();
        assert!(textures(&object, &rig, folder.path()).is_err());
    }
}
