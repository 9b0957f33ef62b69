//! Builds the page with Node.js, if it is installed, into `OUT_DIR`, and lists its files for `src/page.rs`.
//!
//! The sources are copied first, so that npm and Vite do not write to the source tree. Without Node.js or its
//! packages, everything except the page is built; the reason is stored for the message of `dermis view`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Sources of the page in `web/`.
const SOURCES: [&str; 6] = ["build.mjs", "index.html", "package-lock.json", "package.json", "src", "tsconfig.json"];
const NOT_INSTALLED: &str = "is not installed";
/// If this variable is set to a value other than 0, the page is not built; used by packagers and tests.
const WITHOUT_PAGE: &str = "DERMIS_WITHOUT_PAGE";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed={WITHOUT_PAGE}");
    for source in SOURCES {
        println!("cargo::rerun-if-changed=web/{source}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let listed = match build(&out) {
        Ok(dist) => list(&dist)?,
        Err(reason) => {
            println!("cargo::warning=the page of 'dermis view' is not built: {reason}");
            if reason.ends_with(NOT_INSTALLED) {
                // A path that never exists triggers a new attempt in the next build.
                println!("cargo::rerun-if-changed={}", out.join("node-is-absent").display());
            }
            format!(
                "pub(crate) const MISSING: Option<&str> = Some({reason:?});\n\
                 pub(crate) static FILES: &[(&str, &[u8])] = &[];\npub(crate) const REPORT: &str = \"\";\n"
            )
        }
    };
    fs::write(out.join("page.rs"), listed)
}

/// Builds into a folder. Returns the reason if that fails.
fn build(out: &Path) -> Result<PathBuf, String> {
    if env::var_os(WITHOUT_PAGE).is_some_and(|value| value != "0" && !value.is_empty()) {
        return Err(format!("dermis was built with {WITHOUT_PAGE} set"));
    }
    let (web, dist) = (out.join("web"), out.join("dist"));
    copy_sources(&web).map_err(|error| format!("its sources cannot be copied: {error}"))?;
    install(&web)?;
    run(Command::new("node").arg("build.mjs").arg(&dist).current_dir(&web), "Node.js")?;
    Ok(dist)
}

fn copy_sources(web: &Path) -> io::Result<()> {
    let from = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("web");
    if web.join("src").exists() {
        fs::remove_dir_all(web.join("src"))?;
    }
    for source in SOURCES {
        copy(&from.join(source), &web.join(source))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::create_dir_all(to.parent().unwrap_or(to)).and_then(|()| fs::copy(from, to).map(|_| ()));
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Installs the packages of the lock file, unless they are installed.
fn install(web: &Path) -> Result<(), String> {
    let lock = fs::read(web.join("package-lock.json")).map_err(|error| error.to_string())?;
    let installed = web.join("node_modules/.installed");
    if fs::read(&installed).is_ok_and(|known| known == lock) {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let mut command = Command::new(npm);
    command.args(["ci", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]).current_dir(web);
    run(&mut command, "npm")?;
    fs::write(installed, lock).map_err(|error| error.to_string())
}

fn run(command: &mut Command, program: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{program} {NOT_INSTALLED}"),
        _ => error.to_string(),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    Err(format!("{} failed: {}", command.get_program().to_string_lossy(), last.join(" | ")))
}

fn list(dist: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    gather(dist, dist, &mut files)?;
    files.sort();
    let path = |name: &str| dist.join(name).display().to_string();
    let mut text = String::from("pub(crate) const MISSING: Option<&str> = None;\n");
    text += "pub(crate) static FILES: &[(&str, &[u8])] = &[\n";
    for name in files.iter().filter(|name| *name != "report.js") {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path(name));
    }
    let _ = writeln!(text, "];\npub(crate) const REPORT: &str = include_str!({:?});", path("report.js"));
    Ok(text)
}

fn gather(root: &Path, folder: &Path, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(root, &path, files)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            files.push(name.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}
