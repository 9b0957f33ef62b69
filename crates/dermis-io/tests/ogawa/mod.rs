//! Alembic archives built by hand from the layout, with features that other writers use and dermis does not.

#![allow(dead_code, reason = "not every test uses all helpers")]

pub(crate) mod shapes;

pub(crate) const DATA: u64 = 1 << 63;
pub(crate) const SCALAR: u32 = 1;
pub(crate) const ARRAY: u32 = 2;
pub(crate) const BOOL: u32 = 0;
pub(crate) const U8: u32 = 1;
pub(crate) const U32: u32 = 5;
pub(crate) const I32: u32 = 6;
pub(crate) const F32: u32 = 10;
pub(crate) const F64: u32 = 11;
pub(crate) const TEXT: u32 = 12;
/// The period of acyclic samplings.
pub(crate) const ACYCLIC: f64 = f64::MAX / 32.0;

/// A property with all its samples, or a compound.
#[derive(Debug, Clone, Default)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) metadata: String,
    pub(crate) kind: u32,
    pub(crate) pod: u32,
    pub(crate) extent: u32,
    pub(crate) sampling: u32,
    pub(crate) samples: Vec<Vec<u8>>,
    /// Stated number of samples, and the first and last that change, if they differ from those of `samples`.
    pub(crate) claim: Option<(u32, u32, u32)>,
    pub(crate) members: Vec<Property>,
}

/// An object with its children.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) schema: String,
    pub(crate) properties: Vec<Property>,
    pub(crate) children: Vec<Object>,
}

/// Bytes of a file.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) bytes: Vec<u8>,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut bytes = b"Ogawa\xff\x00\x01".to_vec();
        bytes.extend([0; 8]);
        Self { bytes }
    }

    pub(crate) fn block(&mut self, data: &[u8]) -> u64 {
        let entry = DATA | self.bytes.len() as u64;
        self.bytes.extend((data.len() as u64).to_le_bytes());
        self.bytes.extend(data);
        entry
    }

    pub(crate) fn group(&mut self, entries: &[u64]) -> u64 {
        let entry = self.bytes.len() as u64;
        self.bytes.extend((entries.len() as u64).to_le_bytes());
        self.bytes.extend(entries.iter().flat_map(|entry| entry.to_le_bytes()));
        entry
    }

    pub(crate) fn compound(&mut self, members: &[Property]) -> u64 {
        let mut entries: Vec<u64> = members.iter().map(|member| self.property(member)).collect();
        let headers: Vec<u8> = members.iter().flat_map(header).collect();
        entries.push(self.block(&headers));
        self.group(&entries)
    }

    fn property(&mut self, property: &Property) -> u64 {
        if property.kind == 0 {
            return self.compound(&property.members);
        }
        let mut entries = Vec::new();
        for sample in &property.samples {
            entries.push(self.block(&[&[0; 16], sample.as_slice()].concat()));
            if property.kind == ARRAY {
                entries.push(DATA);
            }
        }
        self.group(&entries)
    }

    pub(crate) fn object(&mut self, object: &Object) -> u64 {
        let mut entries = vec![self.compound(&object.properties)];
        entries.extend(object.children.iter().map(|child| self.object(child)));
        let headers = object_headers(&object.children);
        entries.push(self.block(&headers));
        self.group(&entries)
    }

    /// Closes the archive: the top object, and time samplings as (period, times) after the default one.
    pub(crate) fn finish(mut self, top: u64, samplings: &[(f64, Vec<f64>)]) -> Vec<u8> {
        let all = [(1.0, vec![0.0])].into_iter().chain(samplings.iter().cloned());
        let samplings: Vec<u8> = all
            .flat_map(|(period, times)| {
                let mut bytes = 1u32.to_le_bytes().to_vec();
                bytes.extend(period.to_le_bytes());
                bytes.extend((times.len() as u32).to_le_bytes());
                bytes.extend(times.iter().flat_map(|time| time.to_le_bytes()));
                bytes
            })
            .collect();
        let entries = [
            self.block(&[0; 4]),
            self.block(&10804u32.to_le_bytes()),
            top,
            self.block(b"_ai_Application=test"),
            self.block(&samplings),
            DATA,
        ];
        let root = self.group(&entries);
        self.bytes[8..16].copy_from_slice(&root.to_le_bytes());
        self.bytes
    }
}

/// An archive of `objects`.
pub(crate) fn archive(objects: Vec<Object>, samplings: &[(f64, Vec<f64>)]) -> Vec<u8> {
    let mut builder = Builder::new();
    let top = builder.object(&Object { children: objects, ..Object::default() });
    builder.finish(top, samplings)
}

pub(crate) fn object_headers(children: &[Object]) -> Vec<u8> {
    let mut headers = Vec::new();
    for child in children {
        let metadata = if child.schema.is_empty() { String::new() } else { format!("schema={}", child.schema) };
        headers.extend((child.name.len() as u32).to_le_bytes());
        headers.extend(child.name.bytes());
        headers.push(0xff);
        headers.extend((metadata.len() as u32).to_le_bytes());
        headers.extend(metadata.bytes());
    }
    headers.extend([0; 32]);
    headers
}

fn header(property: &Property) -> Vec<u8> {
    // Numbers always have 4 bytes, and metadata is always stored inline.
    let mut info = property.kind | 2 << 2 | property.pod << 4 | property.extent << 12 | 0xff << 20;
    let mut numbers = Vec::new();
    if property.kind != 0 {
        let count = property.samples.len() as u32;
        let range = property.claim.unwrap_or((count, u32::from(count > 1), count.saturating_sub(1)));
        info |= 0x200 | 0x100;
        numbers.extend([range.0, range.1, range.2, property.sampling]);
    }
    let mut bytes = info.to_le_bytes().to_vec();
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    for text in [&property.name, &property.metadata] {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.bytes());
    }
    bytes
}

pub(crate) fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn integers(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

pub(crate) fn array(name: &str, pod: u32, extent: u32, samples: Vec<Vec<u8>>) -> Property {
    Property { name: name.into(), kind: ARRAY, pod, extent, samples, ..Property::default() }
}

pub(crate) fn scalar(name: &str, pod: u32, extent: u32, samples: Vec<Vec<u8>>) -> Property {
    Property { kind: SCALAR, ..array(name, pod, extent, samples) }
}

pub(crate) fn compound(name: &str, members: Vec<Property>) -> Property {
    Property { name: name.into(), members, ..Property::default() }
}

impl Property {
    pub(crate) fn sampled(self, sampling: u32) -> Self {
        Self { sampling, ..self }
    }

    pub(crate) fn with_metadata(self, metadata: &str) -> Self {
        Self { metadata: metadata.into(), ..self }
    }
}

/// A transform with operations as bytes and samples of their numbers.
pub(crate) fn transform(name: &str, operations: &[u8], values: &[&[f64]], children: Vec<Object>) -> Object {
    let values: Vec<Vec<u8>> = values.iter().map(|values| doubles(values)).collect();
    let extent = values.first().map_or(0, |first| first.len() as u32 / 8);
    let members = vec![
        scalar(".inherits", BOOL, 1, vec![vec![1]]),
        scalar(".ops", U8, operations.len() as u32, vec![operations.to_vec()]),
        scalar(".vals", F64, extent, values).sampled(1),
    ];
    let properties = vec![compound(".xform", members)];
    Object { name: name.into(), schema: "AbcGeom_Xform_v3".into(), properties, children }
}

/// A tetrahedron with the winding order of Alembic, with its points moved along x by each of `shifts`.
pub(crate) fn tetrahedron(name: &str, shifts: &[f32]) -> Object {
    let points = |shift: f32| floats(&[shift, 0., 0., 1. + shift, 0., 0., shift, 1., 0., shift, 0., 1.]);
    mesh(
        name,
        vec![
            array("P", F32, 3, shifts.iter().map(|&shift| points(shift)).collect()).sampled(1),
            array(".faceIndices", I32, 1, vec![integers(&[0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2])]),
            array(".faceCounts", I32, 1, vec![integers(&[3; 4])]),
        ],
    )
}

/// A mesh with the given properties in `.geom`.
pub(crate) fn mesh(name: &str, geometry: Vec<Property>) -> Object {
    Object {
        name: name.into(),
        schema: "AbcGeom_PolyMesh_v1".into(),
        properties: vec![compound(".geom", geometry)],
        children: Vec::new(),
    }
}

impl Object {
    /// The object with one more property in its compound.
    pub(crate) fn with(mut self, property: Property) -> Self {
        self.properties[0].members.retain(|member| member.name != property.name);
        self.properties[0].members.push(property);
        self
    }

    /// An instance of the object at `path`.
    pub(crate) fn instance(name: &str, path: &str) -> Self {
        let source = scalar(".instanceSource", TEXT, 1, vec![[path.as_bytes(), &[0]].concat()]);
        Self { name: name.into(), properties: vec![source], ..Self::default() }
    }
}
