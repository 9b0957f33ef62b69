//! The coarse cloth and its rest shape.

use std::sync::Arc;

use dermis::active::wrinkle::{RestShape, WrinkleError, WrinkleLayer, WrinkleOptions, coarsen};
use dermis::io::ReadOptions;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{FrameSource, MeshSequence, Object, Scene, SequenceError};

use super::{Args, UVS};
use crate::input;
use crate::report::Report;
use crate::watch::Watch;

/// The coarse cloth.
pub(super) struct Cloth {
    /// Its place among the objects of the scene.
    pub(super) place: usize,
    pub(super) name: String,
    pub(super) motion: MeshSequence,
    pub(super) layer: WrinkleLayer,
}

impl Cloth {
    pub(super) fn new(args: &Args, scene: &mut Scene, watch: &Watch) -> Result<Self, Report> {
        let moves = |object: &Object| object.sequence.is_some() || !object.clips.is_empty();
        let places: Vec<usize> = (0..scene.objects.len()).filter(|&at| moves(&scene.objects[at])).collect();
        let [place] = places[..] else {
            let names: Vec<&str> = places.iter().map(|&at| scene.objects[at].name.as_str()).collect();
            return Err(if names.is_empty() {
                Report::new("nothing moves").hint("give a cloth with frames or a clip")
            } else {
                let report = Report::new("several meshes move").detail(format!("meshes: {}", names.join(", ")));
                report.hint("choose the cloth with --mesh")
            });
        };
        let object = &scene.objects[place];
        let name = object.name.clone();
        let motion = dermis::evaluate::motion(object)?.ok_or_else(|| Report::new("nothing moves"))?;
        let warnings = motion.warnings;
        let mut motion = motion.sequence;
        let mut rest = match args.rest.as_deref().filter(|rest| *rest != UVS) {
            Some(file) => Some(read_rest(file, &motion, watch)?),
            None => None,
        };
        if let Some(triangles) = args.coarsen {
            let coarse = coarsen(&motion, triangles).map_err(failed)?.map_err(Report::from)?;
            rest = rest.map(|rest| coarse.points.iter().map(|&point| rest[point as usize]).collect());
            let (frames, rate) = (Picked { motion: motion.clone(), points: coarse.points }, motion.frame_rate_hz());
            let start = motion.start_seconds();
            motion = MeshSequence::from_source(Arc::new(coarse.mesh), Arc::new(frames), rate).map_err(failed)?;
            motion = motion.starting_at(start);
        }
        let shape = match (&rest, args.rest.as_deref()) {
            (Some(points), _) => RestShape::Points(points),
            (None, Some(UVS)) => RestShape::Uvs,
            _ => RestShape::Pose,
        };
        let options = WrinkleOptions { min_radius: args.min_radius, ..WrinkleOptions::default() };
        let layer = WrinkleLayer::new(motion.mesh(), shape, &options);
        let layer = layer.map_err(|error| Report::from(error).at(name.clone()))?;
        scene.notes.extend(warnings);
        Ok(Self { place, name, motion, layer })
    }
}

pub(super) fn failed(error: SequenceError) -> Report {
    Report::from(dermis::io::Error::from(error))
}

/// The rest shape from a file with the same mesh.
fn read_rest(file: &str, motion: &MeshSequence, watch: &Watch) -> Result<Vec<Vec3>, Report> {
    let scene = input::read(file, &ReadOptions::default(), watch)?;
    let mesh = motion.mesh();
    let fits = |object: &&Object| object.mesh.point_count() == mesh.point_count();
    let Some(object) = scene.objects.iter().find(fits) else {
        let found = scene.objects.iter().map(|object| object.mesh.point_count()).max().unwrap_or(0);
        let error = WrinkleError::RestPoints { found, expected: mesh.point_count() };
        return Err(Report::from(error).in_file(file));
    };
    let (ours, theirs) = (mesh.triangles(), object.mesh.triangles());
    let differs = (0..ours.len().max(theirs.len())).find(|&at| ours.get(at) != theirs.get(at));
    if let Some(triangle) = differs.filter(|_| !theirs.is_empty()) {
        return Err(Report::from(WrinkleError::RestTopology { triangle }).in_file(file));
    }
    Ok(object.mesh.points().to_vec())
}

/// Some points of a motion.
#[derive(Debug)]
struct Picked {
    motion: MeshSequence,
    points: Vec<u32>,
}

impl FrameSource for Picked {
    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn point_count(&self) -> usize {
        self.points.len()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let all = self.motion.frame(frame)?;
        for (place, &point) in out.iter_mut().zip(&self.points) {
            *place = all[point as usize];
        }
        Ok(())
    }
}
