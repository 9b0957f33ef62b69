//! The text of a BVH file.

use glam::DVec3;

use crate::error::Error;

/// Maximum nesting of joints.
const MAX_NESTED: usize = 1024;
const MAX_CHANNELS: usize = 6;

/// One degree of freedom of a joint; axes are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Channel {
    Position(usize),
    Rotation(usize),
}

/// A joint, or the end of a chain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub name: String,
    pub parent: Option<usize>,
    pub offset: DVec3,
    pub channels: Vec<Channel>,
    /// Index of its first value in a frame.
    pub first_channel: usize,
}

/// Contents of a file.
#[derive(Debug)]
pub(super) struct File {
    /// The joints, each after its parent.
    pub nodes: Vec<Node>,
    pub frame_seconds: f64,
    /// Number of frames in the header.
    pub stated_frames: usize,
    /// The values of all channels in each frame.
    pub frames: Vec<Vec<f64>>,
}

/// Parses `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<File, Error> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::malformed("the file is not text"))?;
    let mut words = Words::new(text.trim_start_matches('\u{feff}'));
    if !words.next().is_some_and(|word| word.eq_ignore_ascii_case("HIERARCHY")) {
        return Err(words.problem("a BVH file begins with HIERARCHY").with_hint("is it a BVH file?"));
    }
    let nodes = hierarchy(&mut words)?;
    let channel_count = nodes.iter().map(|node| node.channels.len()).sum();
    let (frame_seconds, stated_frames, frames) = motion(&mut words, channel_count)?;
    Ok(File { nodes, frame_seconds, stated_frames, frames })
}

/// The joints up to `MOTION`, which is consumed.
fn hierarchy(words: &mut Words<'_>) -> Result<Vec<Node>, Error> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut channel_count = 0;
    loop {
        let word = words.expect("ROOT, JOINT, End, OFFSET, CHANNELS, '}' or MOTION")?;
        match word.to_ascii_uppercase().as_str() {
            "ROOT" if open.is_empty() => open.push(begin(words, &mut nodes, None)?),
            "JOINT" if !open.is_empty() => open.push(begin(words, &mut nodes, open.last().copied())?),
            "END" if !open.is_empty() => open.push(end_site(words, &mut nodes, &open)?),
            "OFFSET" => {
                let node = &mut nodes[*open.last().ok_or_else(|| words.problem("OFFSET outside a joint"))?];
                node.offset = DVec3::new(words.number()?, words.number()?, words.number()?);
            }
            "CHANNELS" => {
                let node = &mut nodes[*open.last().ok_or_else(|| words.problem("CHANNELS outside a joint"))?];
                if !node.channels.is_empty() {
                    return Err(words.problem(&format!("joint '{}' has two lists of channels", node.name)));
                }
                node.first_channel = channel_count;
                node.channels = channels(words)?;
                channel_count += node.channels.len();
            }
            "}" => {
                open.pop().ok_or_else(|| words.problem("'}' without a joint"))?;
            }
            "MOTION" if open.is_empty() && !nodes.is_empty() => return Ok(nodes),
            _ => return Err(words.problem(&format!("unexpected '{word}'"))),
        }
        if open.len() > MAX_NESTED {
            return Err(words.problem(&format!("joints are nested more than {MAX_NESTED} levels deep")));
        }
    }
}

fn begin(words: &mut Words<'_>, nodes: &mut Vec<Node>, parent: Option<usize>) -> Result<usize, Error> {
    let name = words.rest_of_line().to_owned();
    let name = name.strip_suffix('{').map_or(name.clone(), |name| name.trim_end().to_owned());
    if words.last_was_brace {
        words.last_was_brace = false;
    } else {
        words.brace()?;
    }
    Ok(push(nodes, name, parent))
}

fn end_site(words: &mut Words<'_>, nodes: &mut Vec<Node>, open: &[usize]) -> Result<usize, Error> {
    let word = words.expect("'Site'")?;
    if !word.eq_ignore_ascii_case("Site") {
        return Err(words.problem("'End' is not followed by 'Site'"));
    }
    words.brace()?;
    let parent = open.last().copied();
    let name = parent.map_or_else(String::new, |parent| format!("{}_end", nodes[parent].name));
    Ok(push(nodes, name, parent))
}

fn push(nodes: &mut Vec<Node>, name: String, parent: Option<usize>) -> usize {
    nodes.push(Node { name, parent, offset: DVec3::ZERO, channels: Vec::new(), first_channel: 0 });
    nodes.len() - 1
}

fn channels(words: &mut Words<'_>) -> Result<Vec<Channel>, Error> {
    let count = words.number()?;
    if !(count >= 0.0 && count <= MAX_CHANNELS as f64 && count.fract() == 0.0) {
        return Err(words.problem(&format!("a joint has {count} channels; 0 to {MAX_CHANNELS} are allowed")));
    }
    let mut channels = Vec::new();
    for _ in 0..count as usize {
        let word = words.expect("a channel")?.to_ascii_lowercase();
        let axis = ["x", "y", "z"].iter().position(|axis| word.starts_with(axis));
        let channel = match (axis, word.get(1..)) {
            (Some(axis), Some("position")) => Channel::Position(axis),
            (Some(axis), Some("rotation")) => Channel::Rotation(axis),
            _ => return Err(words.problem(&format!("'{word}' is not a channel"))),
        };
        if channels.contains(&channel) {
            return Err(words.problem(&format!("the channel '{word}' occurs twice")));
        }
        channels.push(channel);
    }
    Ok(channels)
}

/// Seconds per frame, the stated number of frames, and the frames.
fn motion(words: &mut Words<'_>, channel_count: usize) -> Result<(f64, usize, Vec<Vec<f64>>), Error> {
    words.keyword(&["Frames:"])?;
    let count = words.number()?;
    if !((0.0..1e15).contains(&count) && count.fract() == 0.0) {
        return Err(words.problem(&format!("invalid number of frames {count}")));
    }
    words.keyword(&["Frame", "Time:"])?;
    let seconds = words.number()?;
    if !(seconds.is_finite() && seconds > 0.0) {
        let message = format!("invalid frame time {seconds}: it must be positive");
        return Err(words.problem(&message).with_hint("the time of a frame is in seconds"));
    }
    let mut frames = Vec::new();
    // Each frame has at least one value, so frames beyond the end of the text are never allocated.
    let stated = count as usize;
    // Some programs state one frame less than they write; all are read.
    while frames.len() < stated || words.fill().is_some() {
        if channel_count == 0 {
            return Err(words.problem("the file has frames but no channels"));
        }
        let frame = frames.len();
        let values = (0..channel_count).map(|_| words.number()).collect::<Result<Vec<f64>, Error>>();
        frames.push(values.map_err(|error| {
            let error = error.at(format!("frame {frame}"));
            let is_stated = frame < stated;
            if is_stated { error } else { error.detail(format!("the file states {stated} frames")) }
        })?);
    }
    Ok((seconds, stated, frames))
}

/// The words of a text, with the number of their line.
struct Words<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    rest: &'a str,
    line: usize,
    /// True if the name of a joint was followed by its opening brace.
    last_was_brace: bool,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        Self { lines: text.lines().enumerate(), rest: "", line: 0, last_was_brace: false }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.fill()?;
        // Braces need not be surrounded by spaces.
        if let Some(rest) = self.rest.strip_prefix(['{', '}']) {
            let word = &self.rest[..1];
            self.rest = rest;
            return Some(word);
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || c == '{' || c == '}').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// Moves to the next line that has a word.
    fn fill(&mut self) -> Option<()> {
        self.rest = self.rest.trim_start();
        while self.rest.is_empty() {
            let (line, text) = self.lines.next()?;
            (self.line, self.rest) = (line + 1, text.trim());
        }
        Some(())
    }

    /// The rest of the line: names may contain spaces.
    fn rest_of_line(&mut self) -> &'a str {
        let rest = std::mem::take(&mut self.rest).trim();
        self.last_was_brace = rest.ends_with('{');
        rest
    }

    fn expect(&mut self, what: &str) -> Result<&'a str, Error> {
        self.next().ok_or_else(|| self.problem(&format!("unexpected end of the file; expected {what}")))
    }

    fn brace(&mut self) -> Result<(), Error> {
        match self.expect("'{'")? {
            "{" => Ok(()),
            word => Err(self.problem(&format!("expected '{{', found '{word}'"))),
        }
    }

    fn keyword(&mut self, words: &[&str]) -> Result<(), Error> {
        for expected in words {
            let word = self.expect(expected)?;
            if !word.eq_ignore_ascii_case(expected) {
                return Err(self.problem(&format!("expected '{expected}', found '{word}'")));
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<f64, Error> {
        let word = self.expect("a number")?;
        // Some programs write decimal commas.
        let parsed = word.parse::<f64>().or_else(|_| word.replace(',', ".").parse());
        match parsed {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.problem(&format!("'{word}' is not a finite number"))),
        }
    }

    fn problem(&self, message: &str) -> Error {
        Error::malformed(message).at(format!("line {}", self.line))
    }
}
