//! Samples as numbers: arrays of floats and indices, and attributes that are given per point, face or corner.

use glam::{Vec2, Vec3, Vec4};

use super::archive::Archive;
use super::property::{Compound, Kind, Pod, Property};
use crate::budget::Budget;
use crate::error::Error;
use dermis_mesh::{CornerData, Polygons};

/// Archive and budget for reading arrays.
#[derive(Debug)]
pub(super) struct Arrays<'a> {
    pub(super) archive: &'a Archive,
    pub(super) budget: &'a mut Budget,
}

/// An attribute: its values, and the value of each point, face or corner.
#[derive(Debug)]
pub(super) struct Attribute<T> {
    pub(super) values: Vec<T>,
    indices: Option<Vec<u32>>,
    scope: Option<Scope>,
}

/// Elements that the values of an attribute belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Constant,
    Face,
    Point,
    Corner,
}

/// Type as which elements of a property can be read.
pub(super) trait Element: Sized {
    /// Number of values per element.
    const EXTENT: usize;
    fn of(numbers: &[f32]) -> Self;
}

impl Element for f32 {
    const EXTENT: usize = 1;
    fn of(numbers: &[f32]) -> Self {
        numbers[0]
    }
}

impl Element for Vec2 {
    const EXTENT: usize = 2;
    fn of(numbers: &[f32]) -> Self {
        Self::from_slice(numbers)
    }
}

impl Element for Vec3 {
    const EXTENT: usize = 3;
    fn of(numbers: &[f32]) -> Self {
        Self::from_slice(numbers)
    }
}

impl Element for Vec4 {
    const EXTENT: usize = 4;
    fn of(numbers: &[f32]) -> Self {
        Self::from_slice(numbers)
    }
}

impl Arrays<'_> {
    /// The elements of a sample.
    pub(super) fn elements<T: Element>(&mut self, property: &Property, sample: usize) -> Result<Vec<T>, Error> {
        if property.extent != T::EXTENT {
            let (found, expected) = (property.extent, T::EXTENT);
            let message = format!("'{}' has elements of {found} numbers, not {expected}", property.name);
            return Err(Error::unsupported(message));
        }
        let bytes = property.values(&self.archive.ogawa, sample)?;
        self.budget.take(&property.name, bytes.len(), 2)?;
        let numbers = floats(property, bytes)?;
        Ok(numbers.chunks_exact(T::EXTENT).map(T::of).collect())
    }

    /// The indices of a sample. Negative indices become too large to be valid.
    pub(super) fn indices(&mut self, property: &Property, sample: usize) -> Result<Vec<u32>, Error> {
        let bytes = property.values(&self.archive.ogawa, sample)?;
        self.budget.take(&property.name, bytes.len(), 1)?;
        match property.pod {
            Pod::I32 | Pod::U32 => Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()),
            pod => Err(Error::unsupported(format!("the indices '{}' are of type {pod:?}", property.name))),
        }
    }

    /// The strings of a sample.
    pub(super) fn texts(&mut self, property: &Property, sample: usize) -> Result<Vec<String>, Error> {
        let bytes = property.values(&self.archive.ogawa, sample)?;
        self.budget.take(&property.name, bytes.len(), size_of::<String>() + 1)?;
        if property.pod != Pod::Text {
            return Err(Error::unsupported(format!("'{}' does not contain text", property.name)));
        }
        let texts = bytes.strip_suffix(&[0]).unwrap_or(bytes).split(|&byte| byte == 0);
        Ok(texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect())
    }

    /// The attribute `name` of `parent` in its first sample; `None` if it is missing or empty.
    pub(super) fn attribute<T: Element>(
        &mut self,
        parent: &Compound,
        name: &str,
    ) -> Result<Option<Attribute<T>>, Error> {
        let Some(property) = parent.find(name) else {
            return Ok(None);
        };
        // Indexed attributes are compounds of the distinct values and the indices.
        let (values, indices) = if property.kind == Kind::Compound {
            let inside = parent.inside(self.archive, name, self.budget)?;
            let indices = inside.find(".indices").filter(|indices| indices.samples > 0);
            let indices = indices.map(|indices| self.indices(indices, 0)).transpose()?;
            (inside.find(".vals").cloned(), indices)
        } else {
            (Some(property.clone()), None)
        };
        let Some(values) = values.filter(|values| values.samples > 0 && values.kind == Kind::Array) else {
            return Ok(None);
        };
        let scope = property.metadata.get("geoScope").or(values.metadata.get("geoScope")).and_then(Scope::of_name);
        let values = self.elements(&values, 0)?;
        Ok((!values.is_empty()).then_some(Attribute { values, indices, scope }))
    }
}

fn floats(property: &Property, bytes: &[u8]) -> Result<Vec<f32>, Error> {
    match property.pod {
        Pod::F32 => Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        Pod::F64 => Ok(bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect()),
        pod => Err(Error::unsupported(format!("the numbers of '{}' are of type {pod:?}", property.name))),
    }
}

impl Scope {
    fn of_name(name: &str) -> Option<Self> {
        match name {
            "con" => Some(Self::Constant),
            "uni" => Some(Self::Face),
            "var" | "vtx" => Some(Self::Point),
            "fvr" => Some(Self::Corner),
            _ => None,
        }
    }

    fn count(self, polygons: &Polygons, points: usize) -> usize {
        match self {
            Self::Constant => 1,
            Self::Face => polygons.sizes.len(),
            Self::Point => points,
            Self::Corner => polygons.corners.len(),
        }
    }
}

impl<T> Attribute<T> {
    fn len(&self) -> usize {
        self.indices.as_ref().map_or(self.values.len(), Vec::len)
    }

    /// Elements that the values belong to: as stated if the counts agree, guessed from the counts otherwise.
    pub(super) fn scope(&self, polygons: &Polygons, points: usize) -> Option<Scope> {
        let guesses = [Scope::Corner, Scope::Point, Scope::Face];
        self.scope.into_iter().chain(guesses).find(|scope| scope.count(polygons, points) == self.len())
    }

    /// The attribute per corner of `polygons`, in the file's order of corners; `None` if the counts do not match or an
    /// index is out of range.
    pub(super) fn per_corner(self, polygons: &Polygons, points: usize) -> Option<CornerData<T>> {
        let items: Vec<u32> = match self.scope(polygons, points)? {
            Scope::Constant => vec![0; polygons.corners.len()],
            Scope::Corner => (0..polygons.corners.len() as u32).collect(),
            Scope::Point => polygons.corners.clone(),
            Scope::Face => {
                let faces = polygons.sizes.iter().enumerate();
                faces.flat_map(|(face, &size)| std::iter::repeat_n(face as u32, size as usize)).collect()
            }
        };
        let indices: Option<Vec<u32>> = match &self.indices {
            Some(indices) => items.iter().map(|&item| indices.get(item as usize).copied()).collect(),
            None => Some(items),
        };
        let indices = indices.filter(|all| all.iter().all(|&index| (index as usize) < self.values.len()))?;
        Some(CornerData { values: self.values, indices })
    }

    /// The attribute per point; `None` if it is not of that kind.
    pub(super) fn per_point(self, points: usize) -> Option<Vec<T>>
    where
        T: Copy,
    {
        if self.scope.is_some_and(|scope| scope != Scope::Point) || self.len() != points {
            return None;
        }
        match &self.indices {
            Some(indices) => indices.iter().map(|&index| self.values.get(index as usize).copied()).collect(),
            None => Some(self.values),
        }
    }
}
