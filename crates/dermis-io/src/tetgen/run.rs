//! Runs `TetGen`, if it is installed, as a separate process on files in a temporary folder.
//!
//! `-p` fills a surface, `-Y` keeps its faces, `-q1.4` bounds the ratio of circumradius to shortest edge: as in Kim et
//! al. 2017. Points inside are isolated points of the `.poly` file, so they become nodes. `TetGen` is licensed under
//! the AGPL; it is neither linked nor shipped.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use dermis_mesh::{TetMesh, TriMesh};
use glam::Vec3;

use super::write_nodes;
use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

/// Options of [`run`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TetgenOptions {
    /// The program, by its name or path.
    pub program: PathBuf,
    /// Its switches.
    pub switches: String,
}

impl Default for TetgenOptions {
    fn default() -> Self {
        Self { program: "tetgen".into(), switches: "-pYq1.4".to_owned() }
    }
}

/// Fills `skin` with tetrahedra by `TetGen`: the points of the skin come first, then `inner`, then the program's own.
pub fn run(skin: &TriMesh, inner: &[Vec3], options: &TetgenOptions) -> Result<TetMesh, Error> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("skin.poly");
    write_poly(&input, skin, inner)?;
    let output = Command::new(&options.program).arg(&options.switches).arg(&input).output();
    let output = output.map_err(|error| not_started(&options.program, &error))?;
    let made = folder.path().join("skin.1.ele");
    if !output.status.success() || !made.exists() {
        return Err(failed(options, &output));
    }
    let scene = super::read(&Input::open(&made, false)?, &ReadOptions::default())?;
    let tets = scene.objects.into_iter().next().and_then(|object| object.tets);
    let tets = tets.ok_or_else(|| Error::malformed("TetGen wrote no tetrahedra"))?;
    let expected = skin.points().iter().chain(inner);
    if tets.nodes().len() < skin.point_count() + inner.len() || expected.zip(tets.nodes()).any(|(a, b)| a != b) {
        return Err(Error::malformed("TetGen renumbered the points of the skin")
            .with_hint("omit switches that merge or remove points"));
    }
    positive(&tets)
}

/// The same tetrahedra, each with a positive volume; those of `TetGen` have the opposite orientation.
fn positive(tets: &TetMesh) -> Result<TetMesh, Error> {
    let turned = |([a, b, c, d], volume): ([u32; 4], f64)| if volume < 0.0 { [b, a, c, d] } else { [a, b, c, d] };
    let tetrahedra = tets.tetrahedra().iter().copied().zip(tets.volumes()).map(turned).collect();
    Ok(TetMesh::new(tets.nodes().to_vec(), tetrahedra)?)
}

fn write_poly(path: &Path, skin: &TriMesh, inner: &[Vec3]) -> Result<(), Error> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let points: Vec<Vec3> = skin.points().iter().chain(inner).copied().collect();
    write_nodes(&mut file, points.into_iter())?;
    writeln!(file, "{} 0", skin.triangle_count())?;
    for [a, b, c] in skin.triangles() {
        writeln!(file, "1\n3 {a} {b} {c}")?;
    }
    writeln!(file, "0")?;
    Ok(file.flush()?)
}

fn not_started(program: &Path, error: &std::io::Error) -> Error {
    let program = program.display();
    let hint = "install TetGen and add it to the PATH, or use the built-in mesher";
    if error.kind() == std::io::ErrorKind::NotFound {
        Error::unsupported(format!("the program '{program}' is not installed")).with_hint(hint)
    } else {
        Error::unsupported(format!("the program '{program}' could not be started: {error}")).with_hint(hint)
    }
}

fn failed(options: &TetgenOptions, output: &std::process::Output) -> Error {
    const LAST_LINES: usize = 8;
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let error =
        Error::malformed(format!("'{} {}' failed ({})", options.program.display(), options.switches, output.status));
    let error = lines[lines.len().saturating_sub(LAST_LINES)..].iter().fold(error, |error, line| error.detail(*line));
    error.with_hint("TetGen rejects self-intersecting surfaces; the lattice mesher accepts any")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> TriMesh {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        TriMesh::new(points, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]).unwrap()
    }

    #[test]
    fn reports_a_missing_program() {
        let options = TetgenOptions { program: "no-such-program-here".into(), ..TetgenOptions::default() };
        let error = run(&tetrahedron(), &[], &options).unwrap_err();
        assert_eq!(error.to_string(), "the program 'no-such-program-here' is not installed");
        assert!(error.hint().unwrap().contains("built-in mesher"));
    }

    #[cfg(unix)]
    #[test]
    fn reads_the_output_and_reports_the_messages_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let program = |name: &str, text: &str| {
            let path = folder.path().join(name);
            let mut file = std::fs::File::create(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            drop(file);
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            TetgenOptions { program: path, ..TetgenOptions::default() }
        };
        // Replacement of TetGen for the test: copies the nodes of the .poly file and adds one tetrahedron.
        let works = program(
            "works",
            "#!/bin/sh\nbase=\"${2%.poly}\"\nhead -n 6 \"$2\" > \"$base.1.node\"\nprintf '1 4 0\\n0 1 0 2 3\\n' > \"$base.1.ele\"\n",
        );
        let tets = run(&tetrahedron(), &[Vec3::splat(0.1)], &works).unwrap();
        assert_eq!((tets.nodes().len(), tets.tetrahedra()), (5, &[[0, 1, 2, 3]][..]));
        let fails = program("fails", "#!/bin/sh\necho 'facets intersect'\nexit 3\n");
        let error = run(&tetrahedron(), &[], &fails).unwrap_err();
        assert_eq!(error.details(), ["facets intersect"]);
    }
}
