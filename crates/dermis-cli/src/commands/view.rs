//! `dermis view`: shows files in the browser.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use dermis::find_clip;
use dermis::io::ReadOptions;
use dermis_view::asset::Asset;
use dermis_view::{AssetStore, ServeOptions, Server, check_output};
use serde_json::json;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::input;
use crate::input_units::InputUnits;
use crate::interrupt;
use crate::options::OptionalOutput;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis view sample:gallop
      a built-in sample
  dermis view walk.abc walk.glb
      a recorded motion next to the skin fitted to it, with its error
  dermis view walk.abc 10-bones.glb 20-bones.glb 30-bones.glb
      several fits of one motion
  dermis view hero.glb --paint stiffness -o painted.glb
      paint an attribute with a brush
  dermis view model.npz --clip run -o painted.npz
      simulate a layered body: pull, poke and paint the flesh
  dermis view lit.glb --light lit.npz
      precomputed light with soft shadows under a rotating sun";

/// Open files in the browser: play, compare, measure, sculpt and paint
///
/// Serves a page on 127.0.0.1 until Ctrl-C is pressed. Edits are saved to the output, or offered as a download if no
/// output is given.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Files, folders, numbered files, or sample:NAME; more can be dropped on the page
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// Show this clip first: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP", requires = "files")]
    clip: Option<String>,
    /// Show the first file under the light in this archive, written by `dermis light --transfer`
    #[arg(long, value_name = "FILE", requires = "files")]
    light: Option<PathBuf>,
    /// Serve the page on this port [default: any free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address without opening the browser
    #[arg(long)]
    no_open: bool,
    /// Paint this attribute with the brush, with values from 0 to 1 [default: mask]
    #[arg(long, value_name = "NAME")]
    paint: Option<String>,
    /// Save edits to this file; its extension selects the format [default: offer them as a download]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    units: InputUnits,
}

/// Serves the page until Ctrl-C.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    if let Some(reason) = dermis_view::missing_page() {
        return Err(no_page(reason));
    }
    OptionalOutput { output: args.output.clone(), force: args.force }.check()?;
    if let Some(output) = &args.output {
        check_output(output).map_err(|error| unwritable(output, &error))?;
    }
    let assets = Arc::new(AssetStore::default());
    fill(&assets, args, shared)?;
    let options = ServeOptions {
        port: args.port,
        paint: args.paint.clone(),
        output: args.output.clone(),
        force: args.force,
        ..ServeOptions::default()
    };
    let server = Server::bind(assets, options)?;
    let url = server.url();
    match shared.format {
        Format::Json => terminal::print_json(&json!({ "url": url, "files": args.files }))?,
        Format::Pretty => {
            let paint = Paint::for_stdout(shared.color);
            terminal::print(&format!("serving {}; press Ctrl-C to stop\n", paint.title(&url)))?;
        }
    }
    if !args.no_open && !open_browser(&url) && !shared.quiet {
        terminal::write_stderr("cannot open a browser; open the address manually\n");
    }
    interrupt::while_serving(|| server.run(interrupt::asked_to_stop))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads all files into `assets`.
fn fill(assets: &AssetStore, args: &Args, shared: &Shared) -> Result<(), Diagnostic> {
    let (mut found, mut clips) = (false, Vec::new());
    for (number, file) in args.files.iter().enumerate() {
        let mut asset = read(file, &args.units.applied(ReadOptions::default()), shared)?;
        if let Some(light) = args.light.as_deref().filter(|_| number == 0) {
            asset =
                asset.with_light(light).map_err(|error| Diagnostic::new(error.to_string()).in_file(light.display()))?;
        }
        asset.first_clip = args.clip.as_deref().and_then(|clip| find_clip(clip, &asset.clip_names()).ok());
        found |= asset.first_clip.is_some();
        clips.extend(asset.clip_names().into_iter().map(ToOwned::to_owned));
        assets.add(asset);
    }
    if let Some(clip) = args.clip.as_deref().filter(|_| !found) {
        let clips: Vec<&str> = clips.iter().map(String::as_str).collect();
        find_clip(clip, &clips)?;
    }
    Ok(())
}

/// Error of a binary that was built without the page.
pub(crate) fn no_page(reason: &str) -> Diagnostic {
    Diagnostic::new("this build of dermis does not contain the viewer page")
        .detail(reason)
        .hint("install Node.js 18 or later with npm and build dermis again")
}

fn unwritable(output: &Path, error: &std::io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::new("the output cannot be written").in_file(output.display());
    diagnostic.detail(error.to_string()).hint("choose a folder with write permission")
}

/// Reads `file` into `assets`.
pub(crate) fn add(
    assets: &AssetStore,
    file: &str,
    options: &ReadOptions,
    shared: &Shared,
) -> Result<usize, Diagnostic> {
    Ok(assets.add(read(file, options, shared)?))
}

fn read(file: &str, options: &ReadOptions, shared: &Shared) -> Result<Asset, Diagnostic> {
    let watch = Watch::new(format!("reading {file}"), shared);
    let scene = input::read(file, &shared.applied(options), &watch)?;
    AssetStore::asset_of(file, scene).in_file(file)
}

/// Opens `url` in the default browser; returns `false` if that fails.
fn open_browser(url: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
