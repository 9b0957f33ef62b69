//! Pictures as files: one PNG, or a folder of numbered PNGs that is replaced as a whole.

use std::path::{Path, PathBuf};

use dermis_io::output::Output;
use dermis_io::{ErrorKind, WriteOptions, Written};
use dermis_math::progress::Progress;

use super::Pictures;
use crate::error::Result;

/// Prefix and extension of the files of a folder: `frame.0000.png`.
const PREFIX: &str = "frame.";
const EXTENSION: &str = ".png";

/// Checks that the picture `target` can be written.
pub fn check_picture(target: &Path, options: &WriteOptions) -> Result<()> {
    // The temporary file is removed when the output is dropped.
    Output::new(options.force).create(target)?;
    Ok(())
}

/// Checks that frames can be written into `folder`.
pub fn check_frames(folder: &Path, options: &WriteOptions) -> Result<()> {
    check_picture(&path_of(folder, 0), options)
}

/// Draws the first picture and writes it to `target`, as PNG.
pub fn write_picture(
    target: &Path,
    pictures: &Pictures,
    options: &WriteOptions,
    progress: &dyn Progress,
) -> Result<Written> {
    let mut file = Output::new(options.force);
    file.write_all(target, &encoded(pictures, 0, progress)?)?;
    Ok(file.commit()?)
}

/// Draws all pictures and writes them into `folder` as `frame.0000.png`, …; later files of an older set are removed.
pub fn write_frames(
    folder: &Path,
    pictures: &Pictures,
    options: &WriteOptions,
    progress: &dyn Progress,
) -> Result<Written> {
    let mut files = Output::new(options.force);
    let count = pictures.count();
    for picture in 0..count {
        if progress.report("drawing frames", picture, count).is_break() {
            return Err(dermis_io::Error::from(ErrorKind::Stopped).into());
        }
        let quiet = Stop(progress, picture, count);
        files.write_all(&path_of(folder, picture), &encoded(pictures, picture, &quiet)?)?;
    }
    files.remove_later(folder, PREFIX, count, &[EXTENSION]);
    Ok(files.commit()?)
}

/// Reports the progress of all pictures in place of that of one.
struct Stop<'a>(&'a dyn Progress, usize, usize);

impl Progress for Stop<'_> {
    fn report(&self, _stage: &str, _done: usize, _total: usize) -> std::ops::ControlFlow<()> {
        self.0.report("drawing frames", self.1, self.2)
    }
}

fn path_of(folder: &Path, picture: usize) -> PathBuf {
    folder.join(format!("{PREFIX}{picture:04}{EXTENSION}"))
}

fn encoded(pictures: &Pictures, picture: usize, progress: &dyn Progress) -> Result<Vec<u8>> {
    Ok(pictures.draw(picture, progress)?.to_png().map_err(super::PictureError::from)?)
}
