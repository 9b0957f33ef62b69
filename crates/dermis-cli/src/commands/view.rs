//! `dermis view`: what files hold, in the browser.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use dermis::find_clip;
use dermis::io::{ReadOptions, WriteOptions, check_target};
use dermis_view::asset::Asset;
use dermis_view::{Gallery, ServeError, ServeOptions, Server, check_output};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::input;
use crate::interrupt;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis view sample:gallop
      a built-in sample
  dermis view walk.abc walk.glb
      a recorded motion beside the skin that was fitted to it, with its error
  dermis view walk.abc 10-bones.glb 20-bones.glb 30-bones.glb
      a ladder of fits
  dermis view hero.glb --paint stiffness -o painted.glb
      paint a value per point with a brush
  dermis view model.npz --clip run -o painted.npz
      simulate a layered body: pull it, poke it, paint how thick its flesh is";

/// Show files in the browser: play, compare, measure, sculpt and paint
///
/// A server on this machine gives the page to the browser; it answers nobody else and ends with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The inputs: files, folders or numbered files, or sample:NAME; more can be dropped on the page
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// The clip that is shown first, by its name or its number from 0
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// The port of the page [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Do not open the browser, only print the address
    #[arg(long)]
    no_open: bool,
    /// Paint this value per point with a brush, from 0 to 1
    #[arg(long, value_name = "NAME")]
    paint: Option<String>,
    /// Where the page saves what was sculpted or painted [default: it offers a download]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// Where the page is, as JSON.
#[derive(Debug, Serialize)]
struct Ready {
    url: String,
    files: Vec<String>,
}

/// Serves the page until Ctrl-C.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    if let Some(reason) = dermis_view::missing_page() {
        return Err(no_page(reason));
    }
    if let Some(output) = &args.output {
        check_target(output, &WriteOptions { force: args.force })?;
        check_output(output).map_err(|error| unwritable(output, &error))?;
    }
    let gallery = Arc::new(Gallery::default());
    fill(&gallery, args, shared)?;
    let options = ServeOptions {
        port: args.port,
        paint: args.paint.clone(),
        output: args.output.clone(),
        force: args.force,
        ..ServeOptions::default()
    };
    let server = Server::bind(gallery, options).map_err(|error| report_of(&error))?;
    let url = server.url();
    match shared.format {
        Format::Json => terminal::print_json(&Ready { url: url.clone(), files: args.files.clone() })?,
        Format::Pretty => {
            let paint = Paint::for_stdout(shared.color);
            terminal::print(&format!("the page is at {}; Ctrl-C ends it\n", paint.title(&url)))?;
        }
    }
    if !args.no_open && !open_browser(&url) && !shared.quiet {
        eprintln!("no browser could be started; open the address by hand");
    }
    let served = interrupt::while_serving(|| server.run(interrupt::asked_to_stop));
    served.map_err(|error| report_of(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads all files into `gallery`.
fn fill(gallery: &Gallery, args: &Args, shared: &Shared) -> Result<(), Report> {
    let (mut found, mut clips) = (false, Vec::new());
    for file in &args.files {
        let mut asset = read(file, shared)?;
        asset.first_clip = args.clip.as_deref().and_then(|clip| find_clip(clip, &asset.clip_names()).ok());
        found |= asset.first_clip.is_some();
        clips.extend(asset.clip_names().into_iter().map(ToOwned::to_owned));
        gallery.add(asset);
    }
    if let Some(clip) = args.clip.as_deref().filter(|_| !found) {
        let clips: Vec<&str> = clips.iter().map(String::as_str).collect();
        find_clip(clip, &clips)?;
    }
    Ok(())
}

/// What is said where the binary has no page in it.
pub(crate) fn no_page(reason: &str) -> Report {
    Report::new("this build of dermis has no page to show")
        .detail(reason)
        .hint("install Node.js 18 or later with npm and build dermis again")
}

fn unwritable(output: &Path, error: &std::io::Error) -> Report {
    let report = Report::new("the output could not be written").in_file(output.to_string_lossy());
    report.detail(error.to_string()).hint("choose a folder that you may write to")
}

/// Reads `file` into `gallery`.
pub(crate) fn add(gallery: &Gallery, file: &str, shared: &Shared) -> Result<usize, Report> {
    Ok(gallery.add(read(file, shared)?))
}

fn read(file: &str, shared: &Shared) -> Result<Asset, Report> {
    let watch = Watch::new(format!("reading {file}"), shared);
    let scene = input::read(file, &ReadOptions::default(), &watch)?;
    Gallery::asset_of(file, scene).map_err(|error| Report::new(error.to_string()).in_file(file))
}

fn report_of(error: &ServeError) -> Report {
    let report = Report::new(error.to_string());
    match error {
        ServeError::Bind { .. } => report.hint("leave --port out to take any that is free"),
        _ => report,
    }
}

/// Opens `url` as the desktop does; `false` where there is no way to.
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
