//! Writer of a file: the JSON is collected in memory, the binary data is written immediately.
//!
//! The JSON of a `.glb` precedes the data but depends on it (bounds of every accessor), so the data is spooled to a
//! file next to the target and copied to the target last. Sequences larger than memory can be written this way.

use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::Error;
use crate::gltf::schema::{Accessor, Buffer, BufferView, Root};
use crate::output::Output;

/// Usage of a buffer view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    Vertices,
    Indices,
    Other,
}

/// Numeric types of accessors, and their names in glTF.
pub(super) trait Element: bytemuck::NoUninit {
    const COMPONENT: u32;
    const SHAPE: &'static str;
}

macro_rules! element {
    ($type:ty, $component:expr, $shape:expr) => {
        impl Element for $type {
            const COMPONENT: u32 = $component;
            const SHAPE: &'static str = $shape;
        }
    };
}
element!(f32, 5126, "SCALAR");
element!(glam::Vec2, 5126, "VEC2");
element!(glam::Vec3, 5126, "VEC3");
element!(glam::Vec4, 5126, "VEC4");
element!([f32; 4], 5126, "VEC4");
element!([f32; 16], 5126, "MAT4");
element!(u16, 5123, "SCALAR");
element!(u32, 5125, "SCALAR");
element!([u8; 4], 5121, "VEC4");
element!([u16; 4], 5123, "VEC4");

/// A glTF file that is being written.
pub(super) struct GltfFile {
    pub root: Root,
    text: bool,
    main: BufWriter<File>,
    /// File for the data of a `.gltf`, and its URI.
    data_file: Option<(BufWriter<File>, String)>,
    data: BufWriter<File>,
    length: u64,
}

impl GltfFile {
    /// Starts the file `target`: a `.glb`, or a `.gltf` with a `.bin` file if it will have data.
    pub(super) fn create(target: &Path, has_data: bool, output: &mut Output) -> Result<Self, Error> {
        let main = output.create(target)?;
        let text = target.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gltf"));
        let path = target.with_extension("bin");
        let data_name = || percent_encoded(&path.file_name().unwrap_or_default().to_string_lossy());
        let data_file = if text && has_data { Some((output.create(&path)?, data_name())) } else { None };
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let data = BufWriter::with_capacity(1 << 18, tempfile::tempfile_in(folder)?);
        let root = Root { scene: Some(0), ..Root::default() };
        Ok(Self { root, text, main, data_file, data, length: 0 })
    }

    /// Adds a buffer view with `bytes`.
    pub(super) fn view(&mut self, bytes: &[u8], usage: Usage) -> Result<usize, Error> {
        self.view_of([bytes], usage)
    }

    /// Adds a buffer view with `parts`, concatenated.
    fn view_of<B: AsRef<[u8]>>(&mut self, parts: impl IntoIterator<Item = B>, usage: Usage) -> Result<usize, Error> {
        let offset = self.length.next_multiple_of(4);
        self.data.write_all(&[0; 4][..(offset - self.length) as usize])?;
        self.length = offset;
        for part in parts {
            self.data.write_all(part.as_ref())?;
            self.length += part.as_ref().len() as u64;
        }
        let target = match usage {
            Usage::Vertices => Some(34962),
            Usage::Indices => Some(34963),
            Usage::Other => None,
        };
        let (byte_offset, byte_length) = (offset as usize, (self.length - offset) as usize);
        let view = BufferView { byte_offset, byte_length, target, ..BufferView::default() };
        Ok(push(&mut self.root.buffer_views, view))
    }

    /// Adds an accessor with the rows of the identity matrix: at key k, target k alone has weight 1.
    pub(super) fn one_hot(&mut self, size: usize) -> Result<usize, Error> {
        let rows = (0..size).map(|row| {
            let mut weights = vec![0u8; 4 * size];
            weights[4 * row..4 * row + 4].copy_from_slice(&1f32.to_le_bytes());
            weights
        });
        let view = self.view_of(rows, Usage::Other)?;
        Ok(self.accessor_of::<f32>(view, size * size))
    }

    /// Adds an accessor with `elements` in a separate view.
    pub(super) fn accessor<T: Element>(&mut self, elements: &[T], usage: Usage) -> Result<usize, Error> {
        let view = self.view(bytemuck::cast_slice(elements), usage)?;
        Ok(self.accessor_of::<T>(view, elements.len()))
    }

    /// Adds an accessor of all `count` elements of a view.
    fn accessor_of<T: Element>(&mut self, view: usize, count: usize) -> usize {
        let accessor = Accessor {
            buffer_view: Some(view),
            component_type: T::COMPONENT,
            count,
            shape: T::SHAPE.to_owned(),
            ..Accessor::default()
        };
        push(&mut self.root.accessors, accessor)
    }

    /// Adds an accessor with `positions` and their bounds, which the format requires.
    pub(super) fn bounded_positions(&mut self, positions: &[glam::Vec3]) -> Result<usize, Error> {
        let (low, high) = dermis_mesh::tri_mesh::bounds(positions);
        let accessor = self.accessor(positions, Usage::Vertices)?;
        self.bound(accessor, &low.to_array(), &high.to_array());
        Ok(accessor)
    }

    /// Sets the bounds of an accessor.
    pub(super) fn bound(&mut self, accessor: usize, low: &[f32], high: &[f32]) {
        let accessor = &mut self.root.accessors[accessor];
        (accessor.min, accessor.max) = (low.to_vec(), high.to_vec());
    }

    /// Completes the file.
    pub(super) fn finish(self) -> Result<(), Error> {
        if self.text { self.finish_text() } else { self.finish_binary() }
    }

    fn finish_text(mut self) -> Result<(), Error> {
        if let Some((mut file, name)) = self.data_file.take() {
            self.copy_data(file.get_mut())?;
            self.root.buffers.push(Buffer { byte_length: self.length as usize, uri: Some(name), ..Buffer::default() });
        }
        serde_json::to_writer_pretty(&mut self.main, &self.root).map_err(std::io::Error::from)?;
        self.main.flush()?;
        Ok(())
    }

    fn finish_binary(mut self) -> Result<(), Error> {
        if self.length > 0 {
            self.root.buffers.push(Buffer { byte_length: self.length as usize, ..Buffer::default() });
        }
        let mut json = serde_json::to_vec(&self.root).map_err(std::io::Error::from)?;
        json.resize(json.len().next_multiple_of(4), b' ');
        let data_length = self.length.next_multiple_of(4);
        let data_chunk = if self.length > 0 { 8 + data_length } else { 0 };
        let total = 12 + 8 + json.len() as u64 + data_chunk;
        let Ok(total) = u32::try_from(total) else {
            return Err(Error::unsupported(format!(
                "the output has {total} bytes, but a .glb file is limited to 4 GiB"
            ))
            .with_hint("write .gltf, .abc or .npz instead, or fewer frames"));
        };
        self.main.write_all(b"glTF")?;
        for word in [2, total, json.len() as u32] {
            self.main.write_all(&word.to_le_bytes())?;
        }
        self.main.write_all(b"JSON")?;
        self.main.write_all(&json)?;
        if self.length > 0 {
            self.main.write_all(&(data_length as u32).to_le_bytes())?;
            self.main.write_all(b"BIN\0")?;
            self.main.flush()?;
            let mut main = self.main.get_ref().try_clone()?;
            self.copy_data(&mut main)?;
            self.main.write_all(&[0; 4][..(data_length - self.length) as usize])?;
        }
        self.main.flush()?;
        Ok(())
    }

    /// Copies file to file, so that the system can copy the bytes without passing them through this process.
    fn copy_data(&mut self, target: &mut File) -> Result<(), Error> {
        self.data.flush()?;
        let data = self.data.get_mut();
        data.seek(SeekFrom::Start(0))?;
        std::io::copy(data, target)?;
        Ok(())
    }
}

/// Adds `item` to `list` and returns its index.
pub(super) fn push<T>(list: &mut Vec<T>, item: T) -> usize {
    list.push(item);
    list.len() - 1
}

/// A file name as a URI.
fn percent_encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(encode).collect()
}
