//! Prims and properties of a crate: each call of the layer adds fields, and the end of the layer writes the tables.

use std::io::{Seek, SeekFrom, Write};

use super::super::layer::{Layer, Metadata, Value};
use super::{Crate, EXPLICIT, HEADER_SIZE, INLINED, MAGIC, Prim, Property, VERSION, kind, spec};
use crate::error::Error;

impl<W: Write + Seek> Layer for Crate<W> {
    fn begin(&mut self, metadata: &[Metadata]) -> Result<(), Error> {
        self.bytes(&[0; HEADER_SIZE])?;
        let fields = self.metadata(metadata)?;
        self.open.push(Prim { path: 0, kind: spec::PSEUDO_ROOT, fields, children: Vec::new(), properties: Vec::new() });
        Ok(())
    }

    fn open(&mut self, kind: &str, name: &str, metadata: &[Metadata]) -> Result<(), Error> {
        let token = self.token(name);
        let parent = self.open.last().map_or(0, |prim| prim.path);
        let path = self.path(parent, token, false);
        // 0 is `def`.
        let mut fields = vec![(self.token("specifier"), INLINED | kind::SPECIFIER << 48)];
        let typed = self.value("token", Value::Token(kind))?;
        fields.push((self.token("typeName"), typed));
        fields.extend(self.metadata(metadata)?);
        if let Some(parent) = self.open.last_mut() {
            parent.children.push(token);
        }
        self.open.push(Prim { path, kind: spec::PRIM, fields, children: Vec::new(), properties: Vec::new() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        self.close_prim()
    }

    fn attribute(&mut self, declaration: &str, value: Option<Value<'_>>, metadata: &[Metadata]) -> Result<(), Error> {
        let (property, declared) = self.property(declaration)?;
        if let Some(value) = value {
            let value = self.value(&declared, value)?;
            self.set(property, "default", value);
        }
        let fields = self.metadata(metadata)?;
        if let Some(property) = self.open.last_mut().and_then(|prim| prim.properties.get_mut(property)) {
            property.fields.extend(fields);
        }
        Ok(())
    }

    fn connect(&mut self, declaration: &str, target: &str) -> Result<(), Error> {
        let (property, _) = self.property(declaration)?;
        let target = self.path_named(target);
        let value = self.list_op(kind::PATH_LIST_OP, EXPLICIT, vec![target])?;
        self.set(property, "connectionPaths", value);
        Ok(())
    }

    fn relationship(&mut self, name: &str, targets: &[String]) -> Result<(), Error> {
        let token = self.token(name);
        let parent = self.open.last().map_or(0, |prim| prim.path);
        let path = self.path(parent, token, true);
        let targets = targets.iter().map(|target| self.path_named(target)).collect();
        let value = self.list_op(kind::PATH_LIST_OP, EXPLICIT, targets)?;
        let uniform = (self.token("variability"), INLINED | kind::VARIABILITY << 48 | 1);
        let fields = vec![uniform, (self.token("targetPaths"), value)];
        self.add(Property { token, path, kind: spec::RELATIONSHIP, fields });
        Ok(())
    }

    fn open_samples(&mut self, declaration: &str) -> Result<(), Error> {
        let (property, _) = self.property(declaration)?;
        self.samples = Some((property, Vec::new()));
        Ok(())
    }

    fn sample(&mut self, time: f64, value: Value<'_>) -> Result<(), Error> {
        // Samples of `half3[]` are those of scales; the type is in the attribute's declaration.
        let declared = self.samples.as_ref().and_then(|(property, _)| {
            let property = self.open.last()?.properties.get(*property)?;
            let (_, typed) = property.fields.first()?;
            self.tokens.texts.get((typed & 0xffff_ffff) as usize).cloned()
        });
        let value = self.value(&declared.unwrap_or_default(), value)?;
        if let Some((_, samples)) = &mut self.samples {
            samples.push((time, value));
        }
        Ok(())
    }

    fn close_samples(&mut self) -> Result<(), Error> {
        let Some((property, samples)) = self.samples.take() else { return Ok(()) };
        let bits: Vec<u64> = samples.iter().map(|(time, _)| time.to_bits()).collect();
        let times = if let Some(times) = self.times.get(&bits) {
            *times
        } else {
            let mut data = (bits.len() as u64).to_le_bytes().to_vec();
            data.extend(bits.iter().flat_map(|time| time.to_le_bytes()));
            let times = kind::DOUBLES << 48 | self.at_offset(&data)?;
            self.times.insert(bits, times);
            times
        };
        // Times and values are stored before, so the distance refers to the number after it.
        let mut data = 8u64.to_le_bytes().to_vec();
        data.extend(times.to_le_bytes());
        data.extend(8u64.to_le_bytes());
        data.extend((samples.len() as u64).to_le_bytes());
        data.extend(samples.iter().flat_map(|(_, value)| value.to_le_bytes()));
        let value = kind::TIME_SAMPLES << 48 | self.at_offset(&data)?;
        self.set(property, "timeSamples", value);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.close_prim()?;
        let mut contents = Vec::new();
        for (name, table) in self.tables() {
            let start = self.at_offset(&table)?;
            contents.push((name, start, table.len() as u64));
        }
        let mut data = (contents.len() as u64).to_le_bytes().to_vec();
        for (name, start, size) in contents {
            let mut padded = [0u8; 16];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            data.extend(padded);
            data.extend(start.to_le_bytes());
            data.extend(size.to_le_bytes());
        }
        let table = self.at_offset(&data)?;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(MAGIC)?;
        self.out.write_all(&VERSION)?;
        self.out.write_all(&table.to_le_bytes())?;
        Ok(self.out.flush()?)
    }
}
