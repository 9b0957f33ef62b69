//! Displacement maps of all frames.

use std::sync::Arc;

use dermis::active::wrinkle::{MapLayout, uv_triangles, with_atlas};
use dermis::io::output::Output;
use dermis::io::{WriteOptions, Written};
use dermis::math::progress::Progress;
use dermis::mesh::{Note, Object, Scene};

use super::cloth::failed;
use super::folded::{Folded, Wrinkled};
use super::{Args, MapFormat};
use crate::interrupt;
use crate::numbers::counted;
use crate::report::Report;
use crate::watch::Watch;

/// Writes a map per frame, and the mesh with its UVs where they are ours.
pub(super) fn write_maps(
    args: &Args,
    format: MapFormat,
    wrinkled: &Wrinkled,
    watch: &Watch,
) -> Result<Written, Report> {
    let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
    let mut output = Output::new(args.force);
    let mut notes = Vec::new();
    let failed_mesh = |error: dermis::mesh::MeshError| Report::new(error.to_string());
    let mesh = if uv_triangles(motion.mesh()).is_some() {
        Arc::clone(motion.mesh())
    } else {
        let note = "the cloth has no UVs; cloth.obj beside the maps has those that were made";
        notes.push(Note::at(&wrinkled.name, note));
        Arc::new(with_atlas(motion.mesh()).map_err(failed_mesh)?)
    };
    let uvs = uv_triangles(&mesh).unwrap_or_default();
    let map = MapLayout::new(&uvs, &layer.reached(curves), args.map_size as usize);
    if map.outside > 0 {
        let triangles = counted(map.outside, "triangle", "triangles");
        notes.push(Note::at(&wrinkled.name, format!("UVs of {triangles} reach out of the map and are cut off")));
    }
    if map.overlapping > 0 {
        let texels = counted(map.overlapping, "texel", "texels");
        notes.push(Note::at(&wrinkled.name, format!("UVs overlap in {texels}; each shows the first triangle")));
    }
    let samples = layer.samples(map.spots.clone());
    for (frame, curves) in curves.iter().enumerate() {
        if watch.report("writing maps", frame, motion.frame_count()).is_break() {
            return Err(Report::new(interrupt::STOPPED));
        }
        let positions = motion.frame(frame).map_err(failed)?;
        let image = map.image(&layer.apply(&positions, curves, &samples).heights);
        let (ending, bytes) = match format {
            MapFormat::Png => (
                "png",
                dermis::io::image::png16(map.size, &image, [-layer.highest(), layer.highest()])
                    .map_err(|error| Report::new(error.to_string()))?,
            ),
            MapFormat::Exr => ("exr", dermis::io::image::exr(map.size, &image)),
        };
        output.write_all(&args.output.join(format!("height.{frame:04}.{ending}")), &bytes)?;
    }
    let mut written = output.commit()?;
    if !Arc::ptr_eq(&mesh, motion.mesh()) {
        let scene = Scene { objects: vec![Object::of_mesh(wrinkled.name.clone(), mesh)], ..Scene::default() };
        let options = WriteOptions { force: args.force };
        let cloth = dermis::io::write(&args.output.join("cloth.obj"), &scene, &options, watch)?;
        written.files.extend(cloth.files);
        written.bytes += cloth.bytes;
    }
    written.notes.extend(notes);
    Ok(written)
}
