//! Reader of glTF 2.0.

mod accessor;
mod animation;
mod deformers;
mod document;
mod draco;
mod frame_rate;
mod geometry;
mod levels;
mod materials;
mod meshopt;
mod nodes;
mod object;
mod placement;
mod sequence;
mod skin;
mod uri;

use std::collections::BTreeSet;

use dermis_mesh::{Note, Scene};

pub(super) use self::accessor::width;
pub(super) use self::document::Document;
use self::nodes::NodeTree;
use self::object::Builder;
use crate::error::Error;
use crate::neighbours::Neighbours;
use crate::options::ReadOptions;

/// Extensions that are read: those that change shape or motion, and those of images, which are kept as they are.
const READ: [&str; 10] = [
    "KHR_texture_transform",
    "KHR_mesh_quantization",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_draco_mesh_compression",
    "KHR_node_visibility",
    "EXT_texture_webp",
    "KHR_texture_basisu",
    "EXT_texture_avif",
    "MSFT_texture_dds",
];
/// Prefixes of extensions that affect only the appearance; their contents are skipped.
const APPEARANCE: [&str; 7] =
    ["KHR_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_dds", "KHR_lights_", "EXT_lights_", "KHR_xmp"];
/// Extensions that add shapes or motion, which are skipped.
const LEFT_OUT: [(&str, &str); 2] = [
    ("EXT_mesh_gpu_instancing", "instances are skipped"),
    ("KHR_animation_pointer", "only animations of nodes are supported; others are skipped"),
];

/// Reads the file `bytes` and those of its `neighbours` that it references.
pub(super) fn read_scene(bytes: &[u8], neighbours: Option<&Neighbours>, options: &ReadOptions) -> Result<Scene, Error> {
    if let Some(rate) = options.frame_rate_hz.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
        return Err(dermis_mesh::RigError::FrameRate(rate).into());
    }
    let document = Document::open(bytes, neighbours)?;
    check_extensions(&document)?;
    let mut tree = NodeTree::new(&document.root)?;
    skip_hidden(&document, &mut tree);
    let mut scene = Scene { units: tree.units, ..Scene::default() };
    {
        let animations = animation::read_animations(&document, &tree, options)?;
        let mut builder = Builder::new(&document, &tree, &animations)?;
        for &node in &tree.scene {
            if let Some(mut object) = builder.object(node)? {
                object.levels = builder.levels(node, &object)?;
                scene.objects.push(object);
            }
        }
        if scene.objects.is_empty() {
            scene.objects.extend(builder.motion_only()?);
        }
    }
    note_other_scenes(&document, &tree);
    scene.notes = document.into_notes();
    Ok(scene)
}

/// The mesh of each node of the scene that has one, in the order in which the objects are read.
pub(super) fn scene_meshes(root: &super::schema::Root) -> Result<Vec<usize>, Error> {
    Ok(NodeTree::new(root)?.scene.iter().filter_map(|&node| root.nodes[node].mesh).collect())
}

fn check_extensions(document: &Document<'_>) -> Result<(), Error> {
    let appearance = |name: &str| APPEARANCE.iter().any(|start| name.starts_with(start));
    let unknown: Vec<&str> = document
        .root
        .extensions_required
        .iter()
        .map(String::as_str)
        .filter(|name| !READ.contains(name) && !appearance(name))
        .collect();
    if !unknown.is_empty() {
        let names = unknown.join(", ");
        return Err(Error::unsupported(format!("the file requires extensions that are not supported: {names}"))
            .with_hint("export it again without them"));
    }
    for name in &document.root.extensions_used {
        if appearance(name) && !READ.contains(&name.as_str()) {
            document.note(Note::new(format!("{name} is skipped")));
        }
        if let Some((_, message)) = LEFT_OUT.iter().find(|(known, _)| known == name) {
            document.note(Note::new(format!("{name}: {message}")));
        }
    }
    Ok(())
}

/// Drops nodes that are hidden, or below a hidden node, from the scene.
fn skip_hidden(document: &Document<'_>, tree: &mut NodeTree) {
    let nodes = &document.root.nodes;
    let mut hidden = vec![false; nodes.len()];
    for &node in &tree.order {
        let own = nodes[node].extensions.visibility.as_ref().and_then(|it| it.visible) == Some(false);
        hidden[node] = own || tree.parents[node].is_some_and(|parent| hidden[parent]);
    }
    let count = tree.scene.iter().filter(|&&node| hidden[node] && nodes[node].mesh.is_some()).count();
    if count > 0 {
        document.note(Note::new(format!("{count} hidden meshes are skipped")));
        tree.scene.retain(|&node| !hidden[node]);
    }
}

fn note_other_scenes(document: &Document<'_>, tree: &NodeTree) {
    let nodes = &document.root.nodes;
    let levels: BTreeSet<usize> =
        nodes.iter().filter_map(|node| node.extensions.lod.as_ref()).flat_map(|lod| lod.ids.clone()).collect();
    let with_mesh = |node: &usize| nodes[*node].mesh.is_some() && !levels.contains(node);
    let (all, read) =
        (tree.order.iter().filter(|n| with_mesh(n)).count(), tree.scene.iter().filter(|n| with_mesh(n)).count());
    if all > read {
        document.note(Note::new(format!("{} meshes outside the default scene are skipped", all - read)));
    }
}
