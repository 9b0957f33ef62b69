//! Kernel for any processor: the same steps as with AVX2, vectorized by the compiler.

use super::kernel::{
    FourInfluences, JointIndex, Matrix, NormalRule, QUAD, Run, Vectors, has_direction, keep_rest_normals,
};

type Lanes = [f32; 4];

/// Poses the quads of `run`. `RULE` is a `NormalRule`; `MORE` is true if vertices can have more than four influences.
pub(super) fn pose<J: JointIndex, const RULE: u8, const MORE: bool>(
    run: &Run<'_, J>,
    positions: &mut [Vectors],
    normals: &mut [Vectors],
) {
    for (index, ((quad, rest), positions)) in run.quads.iter().zip(run.rest).zip(positions).enumerate() {
        let mut lengths_squared = [0.0; QUAD];
        for (k, influences) in quad.0.iter().enumerate() {
            let mut matrix = Matrix::default();
            add_influences(&mut matrix, run.palette, influences);
            if MORE {
                let starts = &run.more_starts[QUAD * index + k..];
                for influences in &run.more[starts[0]..starts[1]] {
                    add_influences(&mut matrix, run.palette, influences);
                }
            }
            let [x, y, z] = rest[k];
            let [right, up, origin, back] = matrix.0;
            positions[k] = first_three(|lane| right[lane] * x + up[lane] * y + back[lane] * z + origin[lane]);
            if RULE != NormalRule::None as u8 {
                let transformed = transform_normal::<RULE>(&matrix, run.normals[index][k]);
                lengths_squared[k] = transformed.iter().map(|x| x * x).sum();
                let scale = 1.0 / lengths_squared[k].sqrt();
                normals[index][k] = transformed.map(|x| x * scale);
            }
        }
        if RULE != NormalRule::None as u8 && !lengths_squared.into_iter().all(has_direction) {
            keep_rest_normals(&run.normals[index], lengths_squared, &mut normals[index]);
        }
    }
}

fn add_influences<J: JointIndex>(sum: &mut Matrix, palette: &J::Palette, influences: &FourInfluences<J>) {
    for (joint, weight) in influences.joints.into_iter().zip(influences.weights) {
        let bone = joint.matrix(palette);
        for (sum, column) in sum.0.as_flattened_mut().iter_mut().zip(bone.0.as_flattened()) {
            *sum += weight * column;
        }
    }
}

fn transform_normal<const RULE: u8>(matrix: &Matrix, [x, y, z]: [f32; 3]) -> [f32; 3] {
    let [right, up, _, back] = matrix.0;
    let combine = |a: Lanes, b: Lanes, c: Lanes| first_three(|lane| a[lane] * x + b[lane] * y + c[lane] * z);
    if RULE == NormalRule::Linear as u8 {
        combine(right, up, back)
    } else {
        combine(cross(up, back), cross(back, right), cross(right, up))
    }
}

fn cross(a: Lanes, b: Lanes) -> Lanes {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0], 0.0]
}

fn first_three(lane: impl Fn(usize) -> f32) -> [f32; 3] {
    [lane(0), lane(1), lane(2)]
}
