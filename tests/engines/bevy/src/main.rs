//! Plays a clip of a GLB file in Bevy without a window and prints positions of vertices.
//!
//!     bevy-check '{"file": "walk.glb", "clip": "walk", "mesh": "body", "vertices": [0, 5], "times": [0.0, 0.5]}'
//!
//! `clip` and `mesh` (the name of a node) can be null, for the first clip and the only mesh. Times are in seconds, in ascending order.
//! Bevy loads the file, advances its animation players to each time and propagates the transforms. Nothing is drawn, so the
//! program evaluates morph targets and the skin from the components and assets of Bevy, as its shaders do. The last line of the
//! output is the word `positions`, followed by a JSON array [times][vertices][3].

use std::path::Path;
use std::time::Duration;

use bevy::animation::AnimationPlugin;
use bevy::asset::{LoadState, RecursiveDependencyLoadState};
use bevy::gltf::{Gltf, GltfPlugin};
use bevy::image::{CompressedImageFormatSupport, CompressedImageFormats, ImagePlugin};
use bevy::mesh::morph::{MeshMorphWeights, MorphWeights};
use bevy::mesh::skinning::{SkinnedMesh, SkinnedMeshInverseBindposes};
use bevy::mesh::{MeshPlugin, VertexAttributeValues};
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use bevy::world_serialization::WorldSerializationPlugin;
use serde_json::Value;

/// Bevy advances its clock by at most 0.25 s per update.
const MAX_STEP_S: f64 = 0.1;
const MAX_UPDATES: usize = 100_000;

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let job: Value = serde_json::from_str(&std::env::args().nth(1).ok_or("the job is missing")?)?;
    let path = Path::new(job["file"].as_str().ok_or("`file` is missing")?);
    let times = numbers(&job["times"])?;
    let vertices: Vec<usize> = numbers(&job["vertices"])?.iter().map(|&vertex| vertex as usize).collect();

    let mut app = headless_app(path)?;
    let gltf = load(&mut app, path)?;
    spawn_and_play(&mut app, &gltf, job["clip"].as_str())?;
    let primitives = find_primitives(&mut app, job["mesh"].as_str())?;
    let mut now_s = 0.0;
    let mut positions = Vec::new();
    for time in times {
        advance(&mut app, time - now_s);
        now_s = time;
        positions.push(vertices.iter().map(|&vertex| posed(&app, &primitives, vertex)).collect::<Result<Vec<_>, _>>()?);
    }
    println!("positions {}", serde_json::to_string(&positions)?);
    Ok(())
}

fn numbers(value: &Value) -> Result<Vec<f64>, Problem> {
    let values = value.as_array().ok_or("an array of numbers is missing")?;
    values.iter().map(|value| value.as_f64().ok_or_else(|| "not a number".into())).collect()
}

fn headless_app(path: &Path) -> Result<App, Problem> {
    let folder = path.canonicalize()?.parent().ok_or("the file has no folder")?.to_string_lossy().into_owned();
    let mut app = App::new();
    app.insert_resource(CompressedImageFormatSupport(CompressedImageFormats::NONE))
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO))
        .add_plugins((
            MinimalPlugins,
            AssetPlugin { file_path: folder, ..default() },
            TransformPlugin,
            ImagePlugin::default(),
            MeshPlugin,
            WorldSerializationPlugin,
            AnimationPlugin,
            GltfPlugin::default(),
        ));
    app.finish();
    app.cleanup();
    Ok(app)
}

fn load(app: &mut App, path: &Path) -> Result<Handle<Gltf>, Problem> {
    let name = path.file_name().ok_or("the file has no name")?.to_string_lossy().into_owned();
    let server = app.world().resource::<AssetServer>().clone();
    let gltf: Handle<Gltf> = server.load(name);
    for _ in 0..MAX_UPDATES {
        app.update();
        if let Some(LoadState::Failed(problem)) = server.get_load_state(&gltf) {
            return Err(problem.to_string().into());
        }
        match server.get_recursive_dependency_load_state(&gltf) {
            Some(RecursiveDependencyLoadState::Loaded) => return Ok(gltf),
            Some(RecursiveDependencyLoadState::Failed(problem)) => return Err(problem.to_string().into()),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    Err("the file does not load".into())
}

/// Spawns the scene and starts the clip on all animation players; each animated root of the scene has one.
fn spawn_and_play(app: &mut App, gltf: &Handle<Gltf>, clip: Option<&str>) -> Result<(), Problem> {
    let gltf = app.world().resource::<Assets<Gltf>>().get(gltf).ok_or("the file is not loaded")?;
    let clip = match clip {
        Some(name) => gltf.named_animations.get(name),
        None => gltf.animations.first(),
    };
    let clip = clip.ok_or("the file does not contain the clip")?.clone();
    let scene = gltf.scenes.first().ok_or("the file has no scene")?.clone();
    app.world_mut().spawn(WorldAssetRoot(scene));

    let (graph, node) = AnimationGraph::from_clip(clip);
    let graph = app.world_mut().resource_mut::<Assets<AnimationGraph>>().add(graph);
    let mut players = app.world_mut().query::<(Entity, &mut AnimationPlayer)>();
    for _ in 0..MAX_UPDATES {
        app.update();
        let mut found = Vec::new();
        for (entity, mut player) in players.iter_mut(app.world_mut()) {
            player.play(node);
            found.push(entity);
        }
        if !found.is_empty() {
            for entity in found {
                app.world_mut().entity_mut(entity).insert(AnimationGraphHandle(graph.clone()));
            }
            return Ok(());
        }
    }
    Err("the scene has no animation player".into())
}

/// Entities of the primitives of a node, in the order of the file; each primitive is a child of the node.
fn find_primitives(app: &mut App, name: Option<&str>) -> Result<Vec<Entity>, Problem> {
    let mut nodes = app.world_mut().query::<(Option<&Name>, &Children)>();
    let world = app.world();
    let is_named = |found: Option<&Name>| name.is_none_or(|name| found.is_some_and(|found| found.as_str() == name));
    let primitives_of =
        |children: &Children| children.iter().filter(|&child| world.get::<Mesh3d>(child).is_some()).collect();
    let mut found: Vec<Vec<Entity>> =
        nodes.iter(world).filter(|(name, _)| is_named(*name)).map(|(_, children)| primitives_of(children)).collect();
    found.retain(|primitives| !primitives.is_empty());
    match found.len() {
        1 => Ok(found.remove(0)),
        count => Err(format!("{count} meshes match {name:?}").into()),
    }
}

fn advance(app: &mut App, seconds: f64) {
    let steps = (seconds / MAX_STEP_S).ceil().max(1.0) as u32;
    let step = Duration::from_secs_f64(seconds / f64::from(steps));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
    for _ in 0..steps {
        app.update();
    }
    // Updates between the requested times must not advance the clock.
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
}

/// World position of a vertex, counted over all primitives.
fn posed(app: &App, primitives: &[Entity], vertex: usize) -> Result<[f32; 3], Problem> {
    let mut first = 0;
    for &entity in primitives {
        let count = mesh_of(app.world(), entity)?.count_vertices();
        if vertex < first + count {
            return posed_in(app.world(), entity, vertex - first);
        }
        first += count;
    }
    Err(format!("there is no vertex {vertex}: the mesh has {first} vertices").into())
}

fn mesh_of(world: &World, entity: Entity) -> Result<&Mesh, Problem> {
    let handle = world.get::<Mesh3d>(entity).ok_or("the mesh is missing")?;
    Ok(world.resource::<Assets<Mesh>>().get(&handle.0).ok_or("the mesh is not loaded")?)
}

/// World position of a vertex of a primitive: morph targets, then the skin or the transform of the mesh.
fn posed_in(world: &World, entity: Entity, vertex: usize) -> Result<[f32; 3], Problem> {
    let mesh = mesh_of(world, entity)?;
    let rest =
        mesh.attribute(Mesh::ATTRIBUTE_POSITION).and_then(VertexAttributeValues::as_float3).ok_or("no positions")?;
    let mut point = Vec3::from(rest[vertex]);
    if let Some(targets) = mesh.morph_targets() {
        for (target, weight) in weights_of(world, entity)?.iter().enumerate() {
            point += *weight * targets[target * rest.len() + vertex].position;
        }
    }
    let transform_of = |entity: Entity| world.get::<GlobalTransform>(entity).map(GlobalTransform::to_matrix);
    let Some(skin) = world.get::<SkinnedMesh>(entity) else {
        return Ok(transform_of(entity).ok_or("the mesh has no transform")?.transform_point3(point).into());
    };
    let inverses = world.resource::<Assets<SkinnedMeshInverseBindposes>>();
    let inverses = inverses.get(&skin.inverse_bindposes).ok_or("the skin is not loaded")?;
    let Some(VertexAttributeValues::Uint16x4(joints)) = mesh.attribute(Mesh::ATTRIBUTE_JOINT_INDEX) else {
        return Err("the mesh has no joints".into());
    };
    let Some(VertexAttributeValues::Float32x4(weights)) = mesh.attribute(Mesh::ATTRIBUTE_JOINT_WEIGHT) else {
        return Err("the mesh has no joint weights".into());
    };
    let mut blended = Mat4::ZERO;
    for (&joint, &weight) in joints[vertex].iter().zip(&weights[vertex]) {
        let joint = usize::from(joint);
        blended += weight * (transform_of(skin.joints[joint]).ok_or("a joint has no transform")? * inverses[joint]);
    }
    Ok(blended.transform_point3(point).into())
}

fn weights_of(world: &World, entity: Entity) -> Result<&[f32], Problem> {
    match world.get::<MeshMorphWeights>(entity) {
        Some(MeshMorphWeights::Value { weights }) => Ok(weights),
        Some(MeshMorphWeights::Reference(node)) => {
            Ok(world.get::<MorphWeights>(*node).ok_or("no morph weights")?.weights())
        }
        None => Err("the mesh has no morph weights".into()),
    }
}
