//! `dermis wrinkle`: folds on a coarse cloth, where it is compressed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use dermis::active::wrinkle::{
    Curves, MapLayout, RestShape, Samples, WrinkleError, WrinkleLayer, WrinkleOptions, coarsen, uv_triangles,
    with_atlas,
};
use dermis::io::output::Output;
use dermis::io::{ReadOptions, WriteOptions, Written, check_target};
use dermis::math::progress::Progress;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{FrameSource, MeshSequence, Note, Object, Scene, SequenceError};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::Part;
use crate::input;
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, seconds, short};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

/// How often triangles near wrinkles are cut unless told.
const LEVELS: u32 = 2;
/// More often would make 4,096 triangles of each.
const MOST_LEVELS: i64 = 6;
/// What `--rest` calls the pattern in the UVs.
const UVS: &str = "uv";

const EXAMPLES: &str = "Examples:
  dermis wrinkle sample:towel -o towel.abc
      a refined mesh sequence with folds
  dermis wrinkle shirt.abc --rest pattern.obj --min-radius 0.01 -o folded.glb
  dermis wrinkle sample:flag --map png -o maps
      displacement maps, one per frame
  dermis wrinkle shirt.npz --coarsen 1500 --subdivide 3 -o folded.npz --curves curves
      made coarse first, refined everywhere, its curves as OBJ lines";

/// Fold a coarse cloth animation where it is compressed
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The input: a cloth animation
    input: String,
    /// The output: a mesh sequence, or with --map a folder
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The shape in which the cloth is not stretched: a file with the same mesh, or uv for the pattern in its UVs
    /// [default: the rest pose]
    #[arg(long, value_name = "FILE")]
    rest: Option<String>,
    /// The smallest radius of a fold, in scene units [default: from the size of the triangles]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    min_radius: Option<f32>,
    /// Cut all triangles this often, each into four [default: twice, only near wrinkles]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=MOST_LEVELS))]
    subdivide: Option<u32>,
    /// Write a displacement map of each frame into the folder OUT instead of a mesh sequence
    #[arg(long, value_name = "FORMAT", conflicts_with = "subdivide")]
    map: Option<MapFormat>,
    /// Texels per side of maps
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..=8192))]
    map_size: u32,
    /// Write the curves of each frame as OBJ lines into this folder
    #[arg(long, value_name = "FOLDER")]
    curves: Option<PathBuf>,
    /// Make the cloth coarse first: about this many triangles, the same in all frames
    #[arg(long, value_name = "TRIANGLES")]
    coarsen: Option<usize>,
    #[command(flatten)]
    part: Part,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MapFormat {
    /// 16 bits; white is the height that the summary states
    Png,
    /// Half floats, in scene units
    Exr,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    files: Vec<String>,
    bytes: u64,
    name: String,
    frames: usize,
    min_radius: f32,
    /// The height that is white in a PNG map: none is higher.
    map_height: f32,
    triangles_before: usize,
    triangles_after: usize,
    /// The most curves of a frame.
    curves: usize,
    /// The part of the rest area that each frame has lost.
    area_lost_before: Vec<f64>,
    area_lost_after: Vec<f64>,
    /// The largest change of a height from frame to frame, relative to the largest motion of the cloth.
    popping: f64,
    /// The largest height, in smallest radii.
    highest: f64,
    seconds_per_frame: f64,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    wrinkle: f64,
    write: f64,
    total: f64,
}

/// Wrinkles, writes, and says what was done.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let write_options = WriteOptions { force: args.force };
    if args.map.is_none() {
        check_target(&args.output, &write_options)?;
    }
    let watch = Watch::new(format!("wrinkling {}", args.input), shared);
    let began = Instant::now();
    let read_options = ReadOptions { frame_rate_hz: args.part.fps, topology: args.topology.clone() };
    let scene = input::read(&args.input, &read_options, &watch)?;
    let named = |report: Report| report.in_file(args.input.as_str());
    let mut scene = dermis::select(scene, &args.part.selection()).map_err(|error| named(Report::from(error)))?;
    let cloth = Cloth::new(args, &mut scene, &watch).map_err(named)?;
    let read = began.elapsed().as_secs_f64();
    let wrinkled = Wrinkled::new(cloth, args, &watch).map_err(named)?;
    scene.notes.extend(wrinkled.notes.iter().cloned());
    let wrinkle = began.elapsed().as_secs_f64() - read;
    let written = interrupt::while_writing(|| write(args, &mut scene, &wrinkled, &watch));
    watch.clear();
    let written = written.map_err(named)?;
    let total = began.elapsed().as_secs_f64();
    let times = Times { read, wrinkle, write: total - read - wrinkle, total };
    let summary = Summary::new(args, &wrinkled, &scene, &written, times);
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The coarse cloth.
struct Cloth {
    place: usize,
    name: String,
    motion: MeshSequence,
    layer: WrinkleLayer,
}

impl Cloth {
    fn new(args: &Args, scene: &mut Scene, watch: &Watch) -> Result<Self, Report> {
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
        let mut motion = object.motion().map_err(failed)?.ok_or_else(|| Report::new("nothing moves"))?;
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
        Ok(Self { place, name, motion, layer })
    }
}

fn failed(error: SequenceError) -> Report {
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

/// The cloth with its wrinkles, measured.
struct Wrinkled {
    cloth: Arc<Folded>,
    sequence: MeshSequence,
    place: usize,
    name: String,
    area_lost_before: Vec<f64>,
    area_lost_after: Vec<f64>,
    popping: f64,
    highest: f64,
    seconds_per_frame: f64,
    notes: Vec<Note>,
}

/// All that makes the frames.
struct Folded {
    layer: WrinkleLayer,
    motion: MeshSequence,
    curves: Vec<Curves>,
    samples: Samples,
}

impl std::fmt::Debug for Folded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Folded({:?})", self.motion)
    }
}

impl FrameSource for Folded {
    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn point_count(&self) -> usize {
        self.samples.spots().len()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let positions = self.motion.frame(frame)?;
        out.copy_from_slice(&self.layer.apply(&positions, &self.curves[frame], &self.samples).positions);
        Ok(())
    }
}

impl Wrinkled {
    fn new(cloth: Cloth, args: &Args, watch: &Watch) -> Result<Self, Report> {
        let Cloth { place, name, motion, layer } = cloth;
        let frames = motion.frame_count();
        let stops = |done: usize| watch.report("wrinkling", done, 2 * frames).is_break();
        let (mut tracker, mut curves, mut elapsed) = (layer.tracker(), Vec::new(), 0.0);
        for frame in 0..frames {
            if stops(frame) {
                return Err(Report::new(interrupt::STOPPED));
            }
            let positions = motion.frame(frame).map_err(failed)?;
            let start = Instant::now();
            curves.push(tracker.advance(&positions));
            elapsed += start.elapsed().as_secs_f64();
        }
        let marked = match args.subdivide {
            Some(_) => vec![true; motion.mesh().triangle_count()],
            None => layer.reached(&curves),
        };
        let refined = layer.refine(motion.mesh(), &marked, args.subdivide.unwrap_or(LEVELS));
        let refined = refined.map_err(|error| Report::new(error.to_string()).at(name.clone()))?;
        let samples = layer.samples(refined.spots);
        let place_note = |note: &Note| Note::at(&name, note.message.clone());
        let mut notes: Vec<Note> = layer.notes().iter().map(place_note).collect();
        if curves.iter().all(|curves| curves.lines.is_empty()) {
            notes.push(Note::at(&name, "the cloth is nowhere compressed; it has no wrinkles and stays as it is"));
        }
        let rate = motion.frame_rate_hz();
        let folded = Arc::new(Folded { layer, motion, curves, samples });
        let source: Arc<dyn FrameSource> = Arc::clone(&folded) as Arc<dyn FrameSource>;
        let sequence = MeshSequence::from_source(Arc::new(refined.mesh), source, rate).map_err(failed)?;
        let sequence = sequence.starting_at(folded.motion.start_seconds());
        let mut wrinkled = Self {
            cloth: folded,
            sequence,
            place,
            name,
            area_lost_before: Vec::new(),
            area_lost_after: Vec::new(),
            popping: 0.0,
            highest: 0.0,
            seconds_per_frame: 0.0,
            notes,
        };
        elapsed += wrinkled.measure(&|done| stops(frames + done))?;
        wrinkled.seconds_per_frame = elapsed / frames as f64;
        Ok(wrinkled)
    }

    /// Measures all frames; the seconds that making them took.
    fn measure(&mut self, stops: &dyn Fn(usize) -> bool) -> Result<f64, Report> {
        let Folded { layer, motion, curves, samples } = &*self.cloth;
        let coarse = motion.mesh().triangles();
        let fine = self.sequence.mesh().triangles();
        let mut elapsed = 0.0;
        let (mut changed, mut moved) = (0.0f32, 0.0f32);
        let mut last: Option<(Vec<f32>, Vec<Vec3>)> = None;
        for (frame, curves) in curves.iter().enumerate() {
            if stops(frame) {
                return Err(Report::new(interrupt::STOPPED));
            }
            let positions = motion.frame(frame).map_err(failed)?;
            let start = Instant::now();
            let wrinkled = layer.apply(&positions, curves, samples);
            elapsed += start.elapsed().as_secs_f64();
            self.area_lost_before.push(layer.area_lost(&positions, coarse));
            self.area_lost_after.push(layer.area_lost(&wrinkled.positions, fine));
            let highest = wrinkled.heights.iter().copied().fold(0.0, f32::max);
            self.highest = self.highest.max(f64::from(highest / layer.min_radius()));
            if let Some((heights, places)) = last {
                let changes = heights.iter().zip(&wrinkled.heights).map(|(a, b)| (a - b).abs());
                changed = changed.max(changes.fold(0.0, f32::max));
                let motions = places.iter().zip(positions.iter()).map(|(a, b)| a.distance(*b));
                moved = moved.max(motions.fold(0.0, f32::max));
            }
            last = Some((wrinkled.heights, positions.into_owned()));
        }
        self.popping = if moved > 0.0 { f64::from(changed / moved) } else { f64::from(changed) };
        Ok(elapsed)
    }
}

/// Puts the wrinkled cloth in the place of the coarse one and writes the scene, and the curves if they are wanted.
fn write(args: &Args, scene: &mut Scene, wrinkled: &Wrinkled, watch: &Watch) -> Result<Written, Report> {
    let object = Object::of_sequence(wrinkled.name.clone(), wrinkled.sequence.clone());
    scene.objects[wrinkled.place] = object;
    let mut written = match args.map {
        Some(format) => write_maps(args, format, wrinkled, watch)?,
        None => dermis::io::write(&args.output, scene, &WriteOptions { force: args.force }, watch)?,
    };
    if let Some(folder) = &args.curves {
        let mut output = Output::new(args.force);
        let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
        for (frame, curves) in curves.iter().enumerate() {
            let positions = motion.frame(frame).map_err(failed)?;
            let lines = layer.polylines(&positions, curves);
            let file = folder.join(format!("curves.{frame:04}.obj"));
            output.write_all(&file, dermis::io::obj::lines(&lines).as_bytes())?;
        }
        let more = output.commit()?;
        written.files.extend(more.files);
        written.bytes += more.bytes;
    }
    Ok(written)
}

/// Writes a map per frame, and the mesh with its UVs where they are ours.
fn write_maps(args: &Args, format: MapFormat, wrinkled: &Wrinkled, watch: &Watch) -> Result<Written, Report> {
    let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
    let mut output = Output::new(args.force);
    let mut notes = Vec::new();
    let failed_mesh = |error: dermis::mesh::MeshError| Report::new(error.to_string());
    let mesh = match uv_triangles(motion.mesh()) {
        Some(_) => Arc::clone(motion.mesh()),
        None => {
            notes.push(Note::at(
                &wrinkled.name,
                "the cloth has no UVs; cloth.obj beside the maps has those that were made",
            ));
            Arc::new(with_atlas(motion.mesh()).map_err(failed_mesh)?)
        }
    };
    let uvs = uv_triangles(&mesh).unwrap_or_default();
    let map = MapLayout::new(&mesh, &uvs, args.map_size as usize);
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
            MapFormat::Png => {
                ("png", dermis::io::image::png16(map.size, &image, layer.highest()).map_err(dermis::io::Error::from)?)
            }
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

impl Summary {
    fn new(args: &Args, wrinkled: &Wrinkled, scene: &Scene, written: &Written, seconds: Times) -> Self {
        let Folded { layer, motion, curves, .. } = &*wrinkled.cloth;
        Self {
            input: args.input.clone(),
            output: args.output.display().to_string(),
            files: written.files.iter().map(|file| file.display().to_string()).collect(),
            bytes: written.bytes,
            name: wrinkled.name.clone(),
            frames: motion.frame_count(),
            min_radius: layer.min_radius(),
            map_height: layer.highest(),
            triangles_before: motion.mesh().triangle_count(),
            triangles_after: wrinkled.sequence.mesh().triangle_count(),
            curves: curves.iter().map(|curves| curves.lines.len()).max().unwrap_or(0),
            area_lost_before: wrinkled.area_lost_before.clone(),
            area_lost_after: wrinkled.area_lost_after.clone(),
            popping: wrinkled.popping,
            highest: wrinkled.highest,
            seconds_per_frame: wrinkled.seconds_per_frame,
            notes: NoteFacts::each_once(scene.notes.iter().chain(&written.notes)),
            seconds,
        }
    }

    fn text(&self, paint: Paint) -> String {
        let mean = |values: &[f64]| 100.0 * values.iter().sum::<f64>() / values.len().max(1) as f64;
        let worst = |values: &[f64]| 100.0 * values.iter().copied().fold(0.0, f64::max);
        let (before, after) = (&self.area_lost_before, &self.area_lost_after);
        let Times { read, wrinkle, write, .. } = self.seconds;
        let [read, wrinkle, write] = [read, wrinkle, write].map(seconds);
        let (frames, curves) = (counted(self.frames, "frame", "frames"), counted(self.curves, "wrinkle", "wrinkles"));
        let (coarse, fine) = (counted(self.triangles_before, "triangle", "triangles"), self.triangles_after);
        let mut lines = vec![
            format!(
                "{}  {frames}, {coarse} refined to {fine}, up to {curves} of radius {}\n",
                paint.title(&self.name),
                short(f64::from(self.min_radius))
            ),
            format!(
                "  area lost: {:.2} % before, {:.2} % after (worst frame {:.2} %, {:.2} %)\n",
                mean(before),
                mean(after),
                worst(before),
                worst(after)
            ),
            format!(
                "  popping {:.3}, highest {:.2} radii, {:.1} ms per frame\n",
                self.popping,
                self.highest,
                1e3 * self.seconds_per_frame
            ),
            format!(
                "wrote {} ({}); read in {read}, wrinkled in {wrinkle}, written in {write}\n",
                paint.title(&self.output),
                bytes(self.bytes)
            ),
        ];
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}
