//! The tree of objects.
//!
//! An object's group contains the group of its properties, the group of each child, and a block with the children's
//! headers: name and metadata of each, then 32 bytes of hashes. An instance is an object whose `.instanceSource` is the
//! path of another object that is used instead.
//!
//! A valid tree contains each group once; a group that occurs again is a cycle or a decompression bomb. Instances can
//! repeat, so their number and depth are bounded.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::archive::{Archive, INLINE_METADATA, Metadata};
use super::cursor::Cursor;
use super::ogawa::Group;
use super::property::Compound;
use super::transform::Transform;
use super::values::Arrays;
use crate::error::Error;

/// Maximum nesting of objects; deep rigs have a few dozen levels.
pub(super) const MAX_DEPTH: usize = 256;
/// Maximum number of objects that are reached through instances.
const MAX_INSTANCED: usize = 1 << 16;
/// The two hashes after the headers of children.
pub(super) const HASH_BYTES: usize = 32;
/// Memory per header byte: the shortest header, of 5 bytes, becomes a [`Child`].
const BYTES_PER_HEADER_BYTE: usize = size_of::<Child>() / 5;

/// A child, as listed by its parent.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) name: String,
    pub(super) metadata: Metadata,
    group: Group,
}

/// An object in the traversal of the tree.
#[derive(Debug)]
pub(super) struct Node {
    name: String,
    parent: Option<Arc<Node>>,
    depth: usize,
    /// Set if the object is a transform.
    pub(super) transform: Option<Transform>,
}

/// An object that has been opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) node: Node,
    pub(super) metadata: Metadata,
    pub(super) properties: Compound,
    pub(super) children: Vec<Child>,
    instanced: bool,
}

/// Stack of objects to be opened.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pending: Vec<Pending>,
    seen: HashSet<u64>,
    instanced: usize,
    /// Children by name, for the groups on paths of instances.
    found: HashMap<u64, HashMap<String, Child>>,
}

#[derive(Debug)]
struct Pending {
    child: Child,
    parent: Option<Arc<Node>>,
    instanced: bool,
}

impl Node {
    /// The names from the top down, with `/` before each.
    pub(super) fn path(&self) -> String {
        let mut names: Vec<&str> = self.up().map(|node| node.name.as_str()).collect();
        names.reverse();
        names.iter().flat_map(|name| ["/", name]).collect()
    }

    /// This object and its ancestors, without the top object.
    pub(super) fn up(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.as_deref())
    }
}

impl Walk {
    /// Starts with the children of the archive's top object.
    pub(super) fn start(arrays: &mut Arrays<'_>) -> Result<Self, Error> {
        let mut walk = Self::default();
        let children = read_children(arrays, arrays.archive.top)?;
        walk.push_children(children, None, false);
        Ok(walk)
    }

    /// Opens the next object, if there is one.
    pub(super) fn next(&mut self, arrays: &mut Arrays<'_>) -> Result<Option<Opened>, Error> {
        let Some(Pending { child, parent, mut instanced }) = self.pending.pop() else {
            return Ok(None);
        };
        let depth = parent.as_ref().map_or(1, |parent| parent.depth + 1);
        let node = Node { name: child.name, parent, depth, transform: None };
        if depth > MAX_DEPTH {
            return Err(Error::malformed(format!("objects are nested more than {MAX_DEPTH} levels deep")));
        }
        let at_node = |error: Error| error.at(node.path());
        let (mut group, mut metadata) = (child.group, child.metadata);
        let mut properties = read_properties(arrays, group).map_err(at_node)?;
        if let Some(source) = instance_source(arrays, &properties).map_err(at_node)? {
            let source = self.find(arrays, &source).map_err(at_node)?;
            (group, metadata, instanced) = (source.group, source.metadata, true);
            properties = read_properties(arrays, group).map_err(at_node)?;
        }
        self.count(group, instanced).map_err(at_node)?;
        let children = read_children(arrays, group).map_err(at_node)?;
        Ok(Some(Opened { node, metadata, properties, children, instanced }))
    }

    /// Adds the children of an object that `next` has opened.
    pub(super) fn descend(&mut self, opened: Opened) {
        self.push_children(opened.children, Some(&Arc::new(opened.node)), opened.instanced);
    }

    fn push_children(&mut self, children: Vec<Child>, parent: Option<&Arc<Node>>, instanced: bool) {
        let pending = children.into_iter().map(|child| Pending { child, parent: parent.cloned(), instanced });
        self.pending.extend(pending.rev());
    }

    /// The object at `path`.
    fn find(&mut self, arrays: &mut Arrays<'_>, path: &str) -> Result<Child, Error> {
        let missing = || Error::malformed("an instance refers to an object that does not exist").detail(path);
        let mut group = arrays.archive.top;
        let mut found = None;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let children = match self.found.entry(group.offset) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let children = read_children(arrays, group)?;
                    unknown.insert(children.into_iter().map(|child| (child.name.clone(), child)).collect())
                }
            };
            let child = children.get(name).ok_or_else(missing)?.clone();
            group = child.group;
            found = Some(child);
        }
        found.ok_or_else(missing)
    }

    fn count(&mut self, group: Group, instanced: bool) -> Result<(), Error> {
        if instanced {
            self.instanced += 1;
            if self.instanced > MAX_INSTANCED {
                return Err(Error::unsupported(format!("the instances expand to more than {MAX_INSTANCED} objects")));
            }
        } else if group.offset != 0 && !self.seen.insert(group.offset) {
            return Err(Error::malformed("two objects share one group, or an object contains itself"));
        }
        Ok(())
    }
}

fn read_properties(arrays: &mut Arrays<'_>, group: Group) -> Result<Compound, Error> {
    if group.len == 0 {
        return Ok(Compound::default());
    }
    let properties = arrays.archive.ogawa.group(group, 0)?;
    Compound::read(arrays.archive, properties, arrays.budget)
}

fn read_children(arrays: &mut Arrays<'_>, group: Group) -> Result<Vec<Child>, Error> {
    // The group of properties comes first; without headers there are no children.
    let Some(last) = group.len.checked_sub(1).filter(|&last| last > 0) else {
        return Ok(Vec::new());
    };
    let block = arrays.archive.ogawa.data(group, last)?;
    let headers = &block[..block.len().saturating_sub(HASH_BYTES)];
    arrays.budget.take("object headers", headers.len(), BYTES_PER_HEADER_BYTE)?;
    let mut cursor = Cursor::new(headers, "an object header");
    let mut children = Vec::new();
    while !cursor.is_empty() {
        let group = arrays.archive.ogawa.group(group, children.len() + 1)?;
        children.push(read_child(arrays.archive, &mut cursor, group)?);
    }
    Ok(children)
}

fn read_child(archive: &Archive, cursor: &mut Cursor<'_>, group: Group) -> Result<Child, Error> {
    let name_length = cursor.u32()?;
    let name = cursor.text(name_length)?;
    let metadata = match cursor.u8()? {
        INLINE_METADATA => {
            let length = cursor.u32()?;
            Metadata::of_bytes(cursor.bytes(length as usize)?)
        }
        index => archive.indexed_metadata(index as usize)?,
    };
    Ok(Child { name, metadata, group })
}

fn instance_source(arrays: &mut Arrays<'_>, properties: &Compound) -> Result<Option<String>, Error> {
    match properties.find(".instanceSource") {
        Some(property) if property.samples > 0 => Ok(arrays.texts(property, 0)?.into_iter().next()),
        _ => Ok(None),
    }
}

/// Properties of a child that is not traversed.
pub(super) fn child_properties(arrays: &mut Arrays<'_>, child: &Child) -> Result<Compound, Error> {
    read_properties(arrays, child.group)
}
