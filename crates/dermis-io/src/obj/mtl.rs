//! Material libraries of OBJ files.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};

use crate::error::Error;
use crate::mapped::read_whole;
use crate::neighbours::Neighbours;
use crate::output::Job;

/// Fills `materials`, which have names, from the libraries among `neighbours`. Missing files result in notes, not
/// errors.
pub(super) fn read(neighbours: &Neighbours, libraries: &[String], materials: &mut [Material], notes: &mut Vec<Note>) {
    for library in libraries {
        match contents(neighbours, library) {
            Ok(bytes) => read_library(neighbours, &String::from_utf8_lossy(&bytes), materials, notes),
            Err(error) => {
                notes.push(Note::at(library, format!("the material library is skipped: {error}")));
            }
        }
    }
}

/// Contents of a referenced file.
fn contents(neighbours: &Neighbours, name: &str) -> Result<Vec<u8>, Error> {
    read_whole(&neighbours.find(&name.replace('\\', "/"))?)
}

fn read_library(neighbours: &Neighbours, text: &str, materials: &mut [Material], notes: &mut Vec<Note>) {
    let mut current: Option<usize> = None;
    for line in text.lines() {
        let line = line.trim();
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if keyword == "newmtl" {
            current = materials.iter().position(|material| material.name == rest);
            continue;
        }
        let Some(material) = current.and_then(|index| materials.get_mut(index)) else {
            continue;
        };
        let numbers: Vec<f32> = rest.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let finite = numbers.iter().all(|number: &f32| number.is_finite());
        match (keyword, numbers.as_slice()) {
            ("Kd", [r, g, b, ..]) if finite => material.base_color[..3].copy_from_slice(&[*r, *g, *b]),
            ("Ke", [r, g, b, ..]) if finite => material.emissive = [*r, *g, *b],
            ("d", [alpha, ..]) if finite => set_alpha(material, *alpha),
            ("Tr", [transparency, ..]) if finite => set_alpha(material, 1.0 - transparency),
            ("Pr", [roughness, ..]) if finite => material.roughness = *roughness,
            ("Pm", [metallic, ..]) if finite => material.metallic = *metallic,
            ("map_Kd", _) => material.base_color_texture = texture(neighbours, rest, notes),
            _ => {}
        }
    }
}

fn set_alpha(material: &mut Material, alpha: f32) {
    material.base_color[3] = alpha;
    material.alpha_mode = if alpha < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque };
}

fn texture(neighbours: &Neighbours, rest: &str, notes: &mut Vec<Note>) -> Option<Texture> {
    // Options precede the name; if there are none, the name can contain spaces.
    let name = if rest.starts_with('-') { rest.split_whitespace().last()? } else { rest };
    let bytes = contents(neighbours, name)
        .map_err(|error| notes.push(Note::at(name, format!("the image is skipped: {error}"))))
        .ok()?;
    let file_name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let image = Image { mime_type: mime_type(&file_name).to_owned(), name: file_name, bytes };
    Some(Texture { image: Arc::new(image), uv_set: 0, factor: 1.0, sampler: Sampler::default() })
}

fn mime_type(name: &str) -> &'static str {
    let extension = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "tga" => "image/x-tga",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        _ => "application/octet-stream",
    }
}

/// Writes `library`, and the images of its materials to the same folder. Returns the names of the materials as written.
pub(super) fn write(library: &Path, materials: &[Material], job: &mut Job<'_>) -> Result<Vec<String>, Error> {
    let folder = library.parent().unwrap_or(Path::new(""));
    let shape = library.file_stem().unwrap_or_default().to_string_lossy();
    let names = unique_names(materials);
    let mut text = String::new();
    let mut images: Vec<(Arc<Image>, String)> = Vec::new();
    for (material, name) in materials.iter().zip(&names) {
        let [r, g, b, alpha] = material.base_color;
        let [er, eg, eb] = material.emissive;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "newmtl {name}\nKd {r} {g} {b}\nKe {er} {eg} {eb}\nd {alpha}");
        let _ = writeln!(text, "Pr {}\nPm {}", material.roughness, material.metallic);
        if let Some(texture) = &material.base_color_texture {
            let _ = writeln!(text, "map_Kd {}", image_name(&mut images, &texture.image, &shape));
        }
        let others = [
            &material.metallic_roughness_texture,
            &material.normal_texture,
            &material.occlusion_texture,
            &material.emissive_texture,
        ];
        if others.iter().any(|texture| texture.is_some()) {
            job.notes.push(Note::at(name, "only the base colour texture of the material is written"));
        }
    }
    job.output.write_all(library, text.as_bytes())?;
    for (image, name) in images {
        job.output.write_all(&folder.join(name), &image.bytes)?;
    }
    Ok(names)
}

/// Names made unique, each on a single line.
fn unique_names(materials: &[Material]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(materials.len());
    for material in materials {
        let base: String = material.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let base = if base.trim().is_empty() { "material".to_owned() } else { base.trim().to_owned() };
        let name = distinct(&base, |name| names.iter().any(|taken| taken == name));
        names.push(name);
    }
    names
}

/// `base`, or `base` followed by the first number that makes it unique.
fn distinct(base: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut name = base.to_owned();
    let mut number = 1u64;
    while taken(&name) {
        number += 1;
        name = format!("{base}_{number}");
    }
    name
}

/// File name of `image`: the name of the shape, followed by the sanitized name of the image, since several shapes can
/// share a folder.
fn image_name(images: &mut Vec<(Arc<Image>, String)>, image: &Arc<Image>, shape: &str) -> String {
    if let Some((_, name)) = images.iter().find(|(known, _)| known == image) {
        return name.clone();
    }
    let extension = match image.mime_type.as_str() {
        "image/jpeg" => "jpg",
        "image/x-tga" => "tga",
        "image/bmp" => "bmp",
        "image/tiff" => "tif",
        _ => "png",
    };
    let own = Path::new(&image.name).file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = own.chars().map(|c| if c.is_alphanumeric() || "-_. ".contains(c) { c } else { '_' }).collect();
    let stem = if stem.trim_matches(['.', ' ']).is_empty() { "texture".to_owned() } else { stem };
    // An image that was read from such a file already has the name of the shape as a prefix.
    let stem = if stem.starts_with(&format!("{shape}_")) { stem } else { format!("{shape}_{stem}") };
    let taken = |stem: &str| images.iter().any(|(_, name)| *name == format!("{stem}.{extension}"));
    let name = format!("{}.{extension}", distinct(&stem, taken));
    images.push((Arc::clone(image), name.clone()));
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ReadOptions;

    #[test]
    fn names_outside_the_project_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        for name in ["a.obj", "sub/skin.png"] {
            std::fs::write(folder.path().join(name), b"x").unwrap();
        }
        let neighbours = Neighbours::around(&folder.path().join("a.obj"), &ReadOptions::default()).unwrap();
        assert_eq!(contents(&neighbours, "sub\\skin.png").unwrap(), b"x");
        for name in ["../secret", "/etc/hosts", "a/../../b", ""] {
            assert!(contents(&neighbours, name).is_err(), "{name}");
        }
    }

    #[test]
    fn equal_material_names_are_numbered() {
        let named = |name: &str| Material { name: name.into(), ..Material::default() };
        let names = unique_names(&[named("skin"), named("skin"), named(""), named("a\nb")]);
        assert_eq!(names, ["skin", "skin_2", "material", "a b"]);
    }
}
