//! The composed stage as plain data: prims with their attributes and relationships, fetched once from the `openusd`
//! crate, so that everything after this file works on values that cannot fail.
//!
//! Sublayers, references, payloads, inherits, variants and instances are composed by the crate. Only the prims that can
//! concern a mesh are kept with their properties; prims are in depth-first order, so a parent comes before its
//! children.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use dermis_mesh::Note;
use openusd::sdf::{self, Value};
use openusd::usd::{Attribute as StageAttribute, Prim as StagePrim, PrimStatus, Stage};

use super::assets::{Assets, Gate};
use super::values;
use crate::budget::Budget;
use crate::error::Error;

/// Maximum nesting of prims: references can nest a prim in itself indefinitely.
const MAX_NESTED: usize = 256;
/// Maximum nesting of instances that are expanded.
const MAX_INSTANCES_NESTED: usize = 4;
/// Maximum nesting of references.
const MAX_ARCS_NESTED: usize = 12;
/// Maximum number of prims, in addition to one for every [`BYTES_PER_PRIM`] bytes of the layers: nested instances could
/// expand to billions.
const MIN_PRIM_LIMIT: usize = 2048;
const BYTES_PER_PRIM: u64 = 32;
/// Large properties that are derived from others.
const UNUSED: [&str; 3] = ["extent", "velocities", "accelerations"];

/// Contents of a stage.
#[derive(Debug, Default)]
pub(super) struct Prims {
    /// The prims, parents before children.
    pub(super) all: Vec<Prim>,
    by_path: HashMap<String, usize>,
    /// Time codes per second, if the file defines them.
    pub(super) time_codes_per_second: Option<f64>,
    /// Frames per second, if the file defines them.
    pub(super) frames_per_second: Option<f64>,
    /// Length of one unit in metres, if the file defines it.
    pub(super) metres_per_unit: Option<f64>,
    /// `"Y"` or `"Z"`, if the file defines it.
    pub(super) up_axis: Option<String>,
    /// Notes on what could not be composed.
    pub(super) notes: Vec<Note>,
}

/// A prim.
#[derive(Debug, Default)]
pub(super) struct Prim {
    pub(super) path: String,
    pub(super) type_name: String,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    pub(super) attributes: HashMap<String, Attribute>,
    /// The targets of each relationship.
    pub(super) relationships: HashMap<String, Vec<String>>,
    /// The original name, stored by the writer of dermis.
    pub(super) original_name: Option<String>,
}

/// An attribute.
#[derive(Debug, Default)]
pub(super) struct Attribute {
    pub(super) type_name: String,
    /// The default value, independent of time.
    pub(super) default: Option<Value>,
    /// Values over time codes, ascending; blocked samples are skipped.
    pub(super) samples: Vec<(f64, Value)>,
    /// Interpolation of a primvar over the mesh.
    pub(super) interpolation: Option<String>,
    /// Number of values per element.
    pub(super) element_size: Option<i32>,
    /// The attributes to which this one is connected.
    pub(super) connections: Vec<String>,
    /// The layer that defines it, to which its paths are relative.
    pub(super) layer: String,
}

impl Attribute {
    /// Returns true if the value changes over time: several samples, or one that differs from the default value.
    pub(super) fn is_animated(&self) -> bool {
        match (&self.default, self.samples.as_slice()) {
            (_, []) | (None, [_]) => false,
            (Some(default), [(_, sample)]) => default != sample,
            _ => true,
        }
    }

    /// Value independent of time: the default, or the first sample.
    pub(super) fn value(&self) -> Option<&Value> {
        self.default.as_ref().or(self.samples.first().map(|(_, value)| value))
    }
}

impl Prims {
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// The prim and its ancestors, starting with the prim.
    pub(super) fn upwards(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(from), |&prim| self.all[prim].parent)
    }
}

impl Prim {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.attribute(name).and_then(Attribute::value)
    }

    /// The first target of a relationship.
    pub(super) fn target(&self, name: &str) -> Option<&str> {
        self.relationships.get(name).and_then(|targets| targets.first()).map(String::as_str)
    }
}

/// Opens the layer `root` and everything it is composed of.
pub(super) fn fetch(assets: &Rc<Assets>, root: &str, budget: &mut Budget) -> Result<Prims, Error> {
    let opened = Stage::builder().resolver(Gate(Rc::clone(assets))).open(root);
    let stage = opened.map_err(|error| assets.take_rejection().unwrap_or_else(|| composing(error)))?;
    let number = |name: &str| -> Result<Option<f64>, Error> {
        let value = stage.stage_metadata(name).map_err(composing)?;
        Ok(value.as_ref().and_then(values::number))
    };
    let mut prims = Prims {
        time_codes_per_second: number("timeCodesPerSecond")?.or(number("framesPerSecond")?).filter(|rate| *rate > 0.0),
        frames_per_second: number("framesPerSecond")?.filter(|rate| *rate > 0.0),
        metres_per_unit: number("metersPerUnit")?.filter(|length| length.is_finite() && *length > 0.0),
        up_axis: match stage.stage_metadata("upAxis").map_err(composing)? {
            Some(Value::Token(axis)) => Some(axis.as_str().to_owned()),
            _ => None,
        },
        ..Prims::default()
    };
    // Of an instance in an instance that comes through a payload, the crate lists the children but does not compose them.
    for round in 0.. {
        let incomplete = walk(&stage, assets, budget, &mut prims)?;
        if incomplete.is_empty() {
            break;
        }
        if round == MAX_INSTANCES_NESTED {
            let notes = incomplete.iter().map(|path| Note::at(path, "a part of the nested instances is skipped"));
            prims.notes.extend(notes);
            break;
        }
        for path in incomplete {
            stage.override_prim(path.as_str()).and_then(|prim| prim.set_instanceable(false)).map_err(composing)?;
        }
        prims = Prims { all: Vec::new(), by_path: HashMap::new(), notes: Vec::new(), ..prims };
    }
    for error in stage.composition_errors() {
        prims.notes.push(Note::new(format!("a part of the stage is skipped: {error}")));
    }
    Ok(prims)
}

/// Fetches all prims. Returns the outermost instances that list a prim which is not composed, once each.
fn walk(stage: &Stage, assets: &Assets, budget: &mut Budget, prims: &mut Prims) -> Result<BTreeSet<String>, Error> {
    const NEEDED: PrimStatus = PrimStatus::ACTIVE.union(PrimStatus::LOADED).union(PrimStatus::DEFINED);
    let roots = stage.root_prims().map_err(composing)?;
    let mut incomplete = BTreeSet::new();
    let root = |name| Pending { path: format!("/{name}"), parent: None, depth: 1, arcs: 0, instance: None };
    let mut pending: Vec<Pending> = roots.iter().rev().map(root).collect();
    while let Some(Pending { path, parent, depth, arcs, instance }) = pending.pop() {
        let status = stage.prim_status(path.as_str()).map_err(composing)?;
        if let Some(instance) = instance.filter(|_| status.is_empty()) {
            incomplete.insert(prims.all[instance].path.clone());
        }
        if !status.contains(NEEDED) || status.intersects(PrimStatus::ABSTRACT) {
            continue;
        }
        let most = MIN_PRIM_LIMIT + (assets.layer_bytes() / BYTES_PER_PRIM) as usize;
        let prim = stage.prim(path.as_str());
        let arcs = arcs + usize::from(prim.has_composition_arc().map_err(composing)?);
        if depth > MAX_NESTED || arcs > MAX_ARCS_NESTED || prims.all.len() >= most {
            let error =
                Error::malformed(format!("the stage has more than {most} prims, or prims that are nested too deeply"));
            return Err(error
                .at(path)
                .with_hint("check for a prim that references its own parent, which recurses without end"));
        }
        let fetched = fetch_prim(&prim, path.clone(), parent, budget).map_err(|error| error.at(path.clone()))?;
        let index = prims.all.len();
        let is_instancer = fetched.type_name == "PointInstancer";
        prims.by_path.insert(path.clone(), index);
        prims.all.push(fetched);
        if let Some(parent) = parent {
            prims.all[parent].children.push(index);
        }
        if is_instancer {
            prims.notes.push(Note::at(path, "a point instancer is skipped"));
            continue;
        }
        let children = prim.child_names().map_err(composing)?;
        let is_instance = status.contains(PrimStatus::INSTANCE);
        let instance = instance.or(is_instance.then_some(index));
        let child =
            |name| Pending { path: format!("{path}/{name}"), parent: Some(index), depth: depth + 1, arcs, instance };
        pending.extend(children.iter().rev().map(child));
    }
    Ok(incomplete)
}

/// A prim that is to be fetched.
struct Pending {
    path: String,
    parent: Option<usize>,
    depth: usize,
    /// Number of prims with composition arcs above it.
    arcs: usize,
    /// The outermost instance above it.
    instance: Option<usize>,
}

fn fetch_prim(prim: &StagePrim, path: String, parent: Option<usize>, budget: &mut Budget) -> Result<Prim, Error> {
    let type_name = prim.type_name().map_err(composing)?.map(|name| name.as_str().to_owned()).unwrap_or_default();
    let mut fetched = Prim { path, type_name, parent, ..Prim::default() };
    if let Some(Value::Dictionary(data)) = prim.custom_data().map_err(composing)?
        && let Some(Value::String(name)) = data.get(super::super::ORIGINAL_NAME)
    {
        fetched.original_name = Some(super::super::decode_name(name));
    }
    for attribute in prim.attributes().map_err(composing)? {
        let name = property_name(attribute.path());
        if !UNUSED.contains(&name.as_str()) {
            fetched.attributes.insert(name, fetch_attribute(&attribute, budget)?);
        }
    }
    for relationship in prim.relationships().map_err(composing)? {
        let name = property_name(relationship.path());
        let targets = relationship.forwarded_targets().map_err(composing)?;
        fetched.relationships.insert(name, targets.iter().map(ToString::to_string).collect());
    }
    Ok(fetched)
}

fn fetch_attribute(attribute: &StageAttribute, budget: &mut Budget) -> Result<Attribute, Error> {
    let mut samples = attribute.time_samples().map_err(composing)?.unwrap_or_default();
    samples.retain(|(time, value)| time.is_finite() && !matches!(value, Value::ValueBlock | Value::None));
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let default = attribute.get::<Value>().map_err(composing)?;
    for value in samples.iter().map(|(_, value)| value).chain(&default) {
        budget.take("attributes", values::size(value), 1)?;
    }
    let connections = attribute.connections().map_err(composing)?;
    let is_asset = matches!(default, Some(Value::AssetPath(_)));
    let layers = if is_asset { attribute.property_stack().map_err(composing)? } else { Vec::new() };
    let metadata = |key: &str| attribute.get_metadata::<Value>(key).map_err(composing);
    Ok(Attribute {
        type_name: attribute.type_name().map_err(composing)?.map(|name| name.as_str().to_owned()).unwrap_or_default(),
        default: default.filter(|value| !matches!(value, Value::ValueBlock | Value::None)),
        samples,
        interpolation: metadata("interpolation")?.as_ref().and_then(values::text),
        element_size: metadata("elementSize")?.as_ref().and_then(values::number).map(|size| size as i32),
        connections: connections.iter().map(ToString::to_string).collect(),
        layer: layers.into_iter().next().map(|(layer, _)| layer).unwrap_or_default(),
    })
}

fn property_name(path: &sdf::Path) -> String {
    path.as_str().rsplit_once('.').map_or_else(String::new, |(_, name)| name.to_owned())
}

fn composing(error: impl std::fmt::Display) -> Error {
    Error::malformed("the USD stage cannot be composed").detail(format!("{error:#}"))
}
