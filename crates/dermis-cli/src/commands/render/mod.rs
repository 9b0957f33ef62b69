//! `dermis render`: draws pictures without a browser or a GPU.

mod panels;
mod parse;

use std::process::ExitCode;

use dermis::render::{
    Backdrop, Heat, PanelFrame, Pictures, RenderOptions, check_frames, check_picture, write_frames, write_picture,
};
use dermis::renderer::View;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::Diagnostic;
use crate::job::{Facts, Job};
use crate::numbers::{counted, grouped, short};
use crate::options::{InputPart, count, expect_effect, positive};
use crate::parse::{coordinates, picture_size};
use crate::text::Text;
use parse::{ShadingName, backdrop, is_folder};

const EXAMPLES: &str = "Examples:
  dermis render sample:gallop -o gallop.png --frame 12
      one frame
  dermis render walk.abc walk.glb -o compare.png --label recorded --label skin --camera left
      two inputs side by side
  dermis render walk.glb --heat error --sequence walk.abc -o error.png --frame 0,12,24
      three frames, coloured by the error
  dermis render walk.glb -o frames/ --frames 0:48 --size 1280x720
      numbered frames of an animation";

/// Draw pictures of files, without a browser or a GPU
///
/// If several inputs, clips, frames, looks, cameras or labels are given, the picture has several panels. A list with one
/// value applies to all panels; shorter lists are repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Files, folders, numbered files, or sample:NAME
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Write this PNG file, or numbered PNG files into this folder, one per frame
    #[arg(long, short, value_name = "FILE|FOLDER/")]
    output: std::path::PathBuf,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    /// Set the size of the picture in pixels
    #[arg(long, value_name = "WxH", value_parser = picture_size, default_value = "1600x1200")]
    size: [usize; 2],
    /// Colour surfaces by their materials, as clay, by their normals, by the weights of the joints, or by --heat [default: material, or heat if --heat is given]
    #[arg(long, value_name = "LOOK,…", value_delimiter = ',')]
    look: Vec<panels::LookName>,
    /// Show this quantity: error, volume, layers, weight:JOINT or attribute:NAME
    #[arg(long, value_name = "QUANTITY,…", value_delimiter = ',')]
    heat: Vec<Heat>,
    /// With --heat error, compare with this motion; repeatable
    #[arg(long, value_name = "FILE", requires = "heat")]
    sequence: Vec<String>,
    /// Set the value of the last colour of --heat, in the unit of the legend [default: the 98th percentile of all frames]
    #[arg(long, value_name = "VALUE", value_parser = positive, requires = "heat")]
    heat_max: Option<f64>,
    /// Show these frames, counted from 0; negative numbers count from the end, and 'rest' is the rest pose [default: 0]
    #[arg(long, value_name = "N,…", value_delimiter = ',', allow_hyphen_values = true, conflicts_with = "frames")]
    frame: Vec<PanelFrame>,
    /// Show these clips: a name, a unique part of a name, or an index from 0 [default: recorded frames, or the first clip]
    #[arg(long, value_name = "CLIP,…", value_delimiter = ',')]
    clip: Vec<String>,
    /// Look from three-quarter, front, back, left, right, top, or angles in degrees as AZIMUTH,ELEVATION[,ZOOM]; repeatable [default: three-quarter]
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    camera: Vec<View>,
    /// Centre the picture on this point, in the units of the file with Y up [default: show all frames]
    #[arg(long, value_name = "X,Y,Z", value_parser = coordinates, allow_hyphen_values = true)]
    look_at: Option<[f32; 3]>,
    /// Write this text below a panel; repeatable
    #[arg(long, value_name = "TEXT")]
    label: Vec<String>,
    /// Set the number of panels per row [default: all]
    #[arg(long, value_name = "N", value_parser = count)]
    columns: Option<usize>,
    /// Fill each panel with its shape instead of using the same scale for all
    #[arg(long)]
    fit_each: bool,
    /// Set the background: light, dark, transparent or #rrggbb
    #[arg(long, value_name = "COLOR", default_value = "light", value_parser = backdrop)]
    background: Backdrop,
    #[command(flatten)]
    extras: Extras,
    /// Use the normals of the file, or shade all surfaces smooth or flat
    #[arg(long, value_name = "KIND", default_value = "file")]
    shading: ShadingName,
    #[command(flatten)]
    part: InputPart,
}

/// Parts of the picture apart from the surface.
#[derive(Debug, clap::Args)]
struct Extras {
    /// Omit the floor and its shadows
    #[arg(long)]
    no_floor: bool,
    /// Draw the edges of the polygons
    #[arg(long)]
    wireframe: bool,
    /// Draw the joints as octahedra
    #[arg(long)]
    joints: bool,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    inputs: Vec<String>,
    size: [usize; 2],
    panels: usize,
    pictures: usize,
    triangles: usize,
    heat: Option<HeatFacts>,
}

#[derive(Debug, Serialize)]
struct HeatFacts {
    quantity: String,
    range: [f64; 2],
}

/// Draws the pictures, writes them and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let is_film = is_folder(&args.output)?;
    expect_effect([(args.part.frames.is_some(), is_film, "--frames", "if the output is a folder, such as frames/")])?;
    expect_effect([(!args.frame.is_empty(), !is_film, "--frame", "if the output is a .png file")])?;
    let write = dermis::io::WriteOptions { force: args.force, ..dermis::io::WriteOptions::default() };
    if is_film {
        check_frames(&args.output, &write)?;
    } else {
        check_picture(&args.output, &write)?;
    }
    let mut job = Job::new(format!("drawing {}", args.output.display()), shared);
    let panels = panels::read(args, &mut job)?;
    job.clock.lap("read");
    let options = options(args);
    let made = job.stoppable(|watch| {
        let inputs = panels.inputs();
        if is_film {
            Pictures::of_motion(&inputs, &args.part.frames.unwrap_or_default(), &options, watch)
        } else {
            Pictures::still(&inputs, &options, watch)
        }
    });
    let mut pictures = match args.files.as_slice() {
        [file] => made.map_err(|error| Diagnostic::from(error).in_file(file))?,
        _ => made?,
    };
    job.notes.append(&mut pictures.warnings);
    let written = job.stoppable(|watch| {
        if is_film {
            write_frames(&args.output, &pictures, &write, watch)
        } else {
            write_picture(&args.output, &pictures, &write, watch)
        }
    })?;
    job.clock.lap("draw");
    job.has_written(&args.output, written);
    let heat = pictures.legend().map(|legend| HeatFacts { quantity: legend.title.clone(), range: legend.range });
    let (count, triangles) = (pictures.count(), pictures.triangle_count());
    let (inputs, panels) = (args.files.clone(), panels.count());
    job.summarize(&Summary { inputs, size: args.size, panels, pictures: count, triangles, heat })
}

fn options(args: &Args) -> RenderOptions {
    RenderOptions {
        width: args.size[0],
        height: args.size[1],
        columns: args.columns,
        backdrop: args.background,
        floor: !args.extras.no_floor,
        wireframe: args.extras.wireframe,
        skeleton: args.extras.joints,
        normals: args.shading.normals(),
        same_scale: !args.fit_each,
        heat_max: args.heat_max,
        ..RenderOptions::default()
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let [width, height] = self.size;
        let pictures = counted(self.pictures, "picture", "pictures");
        let panels = counted(self.panels, "panel", "panels");
        text.title(
            &self.inputs.join(" "),
            format!("{pictures} of {width}x{height}, {panels}, {} triangles", grouped(self.triangles)),
        );
        if let Some(HeatFacts { quantity, range: [low, high] }) = &self.heat {
            text.row("colours", format!("{quantity}: {} to {}", short(*low), short(*high)));
        }
    }
}
