//! Dependencies between jobs: those that the file names, and those of outputs that other jobs read.

use std::path::{Path, PathBuf};

use super::expand::normalized;
use super::file::Entry;
use super::{Job, glob};
use crate::error::BatchError;

/// Sets [`Job::after`] of all jobs. Cycles are an error.
pub(super) fn connect(folder: &Path, entries: &[Entry], jobs: &mut [Job]) -> Result<(), BatchError> {
    // Paths of different forms can name the same file.
    let absolute = |path: &str| folder.join(normalized(path));
    let outputs: Vec<Vec<PathBuf>> = jobs.iter().map(|job| job.outputs().into_iter().map(absolute).collect()).collect();
    let mut all = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        let mut after = named(entries, jobs, job)?;
        for input in job.possible_inputs() {
            let path = absolute(input);
            let is_read = |output: &PathBuf| {
                output.starts_with(&path)
                    || (glob::is_pattern(input)
                        && glob::path_matches(&path.to_string_lossy(), &output.to_string_lossy()))
            };
            let writers = (0..jobs.len()).filter(|&other| outputs[other].iter().any(is_read));
            after.extend(writers);
        }
        if after.contains(&index) {
            let is_same = |input: &&str| outputs[index].contains(&absolute(input));
            let input = job.possible_inputs().into_iter().find(is_same).unwrap_or(&job.name).to_owned();
            return Err(BatchError::ReadsOwnOutput { job: job.name.clone(), input });
        }
        after.sort_unstable();
        after.dedup();
        all.push(after);
    }
    for (job, after) in jobs.iter_mut().zip(all) {
        job.after = after;
    }
    match cycle(jobs) {
        Some(cycle) => Err(BatchError::Cycle(cycle.into_iter().map(|index| jobs[index].name.clone()).collect())),
        None => Ok(()),
    }
}

/// The jobs that the entry of `job` names.
fn named(entries: &[Entry], jobs: &[Job], job: &Job) -> Result<Vec<usize>, BatchError> {
    let mut after = Vec::new();
    let names = entries.iter().filter(|entry| entry.name == job.entry).flat_map(|entry| &entry.after.0);
    for name in names {
        let before = after.len();
        after.extend((0..jobs.len()).filter(|&other| jobs[other].entry == *name || jobs[other].name == *name));
        if after.len() == before {
            let names = entries.iter().map(|entry| entry.name.clone()).collect();
            return Err(BatchError::NoSuchJob { name: name.clone(), names });
        }
        if *name == job.entry {
            return Err(BatchError::Cycle(vec![job.entry.clone(), job.entry.clone()]));
        }
    }
    Ok(after)
}

/// A cycle of jobs, each after the next, with the first repeated at the end; `None` if there is none.
fn cycle(jobs: &[Job]) -> Option<Vec<usize>> {
    let mut is_done = vec![false; jobs.len()];
    for start in 0..jobs.len() {
        // Depth-first search without recursion, since chains of jobs can be long.
        let mut stack = vec![(start, 0)];
        let mut is_open = vec![false; if is_done[start] { 0 } else { jobs.len() }];
        while let Some((index, next)) = stack.last_mut() {
            if is_done[*index] {
                stack.pop();
                continue;
            }
            is_open[*index] = true;
            let Some(&following) = jobs[*index].after.get(*next) else {
                is_done[*index] = true;
                is_open[*index] = false;
                stack.pop();
                continue;
            };
            *next += 1;
            if is_open[following] {
                let from = stack.iter().position(|(index, _)| *index == following).unwrap_or_default();
                return Some(stack[from..].iter().map(|(index, _)| *index).chain([following]).collect());
            }
            if !is_done[following] {
                stack.push((following, 0));
            }
        }
    }
    None
}
