//! Volume of the skin around each joint, spanned by its triangles and the joint.

use dermis_mesh::{Joint, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

/// Volume at rest below which a region is ignored, relative to the cube of its size: flat and open parts.
const MIN_VOLUME: f64 = 1e-3;

/// Triangles around each joint, and their volume at rest.
#[derive(Debug, Clone)]
pub(super) struct RegionVolumes {
    regions: Vec<Region>,
}

#[derive(Debug, Clone)]
struct Region {
    triangles: Vec<[u32; 3]>,
    /// The joint in the rest pose.
    centre: DVec3,
    /// Volume at rest; 0 if the region is ignored.
    volume: f64,
}

impl RegionVolumes {
    /// Regions of `joints`: the triangles with a point that depends on the joint.
    pub(super) fn new(mesh: &TriMesh, joints: &[Joint], dependencies: &[Vec<u32>]) -> Self {
        let mut regions: Vec<Region> = joints
            .iter()
            .map(|joint| Region { triangles: Vec::new(), centre: joint.bind().translation, volume: 0.0 })
            .collect();
        for triangle in mesh.triangles() {
            let mut around: Vec<u32> =
                triangle.iter().flat_map(|&point| dependencies[point as usize].iter().copied()).collect();
            around.sort_unstable();
            around.dedup();
            for &joint in &around {
                regions[joint as usize].triangles.push(*triangle);
            }
        }
        for region in &mut regions {
            let at = |point: u32| mesh.points()[point as usize].as_dvec3();
            let volume = region.spanned(region.centre, at);
            let corners = region.triangles.iter().flatten();
            let size = corners.map(|&point| at(point).distance(region.centre)).fold(0.0, f64::max);
            region.volume = if volume > MIN_VOLUME * size.powi(3) { volume } else { 0.0 };
        }
        Self { regions }
    }

    /// Volume lost by `multi` compared with `linear` around each joint, relative to the volume at rest. `transforms` apply
    /// to the rest mesh.
    pub(super) fn losses(&self, multi: &[Vec3], linear: impl Fn(usize) -> Vec3, transforms: &[DAffine3]) -> Vec<f64> {
        let loss = |(region, transform): (&Region, &DAffine3)| {
            if region.volume == 0.0 {
                return 0.0;
            }
            let centre = transform.transform_point3(region.centre);
            let with_linear = region.spanned(centre, |point| linear(point as usize).as_dvec3());
            let with_multi = region.spanned(centre, |point| multi[point as usize].as_dvec3());
            (with_linear - with_multi) / region.volume
        };
        self.regions.iter().zip(transforms).map(loss).collect()
    }
}

impl Region {
    /// Volume spanned by the triangles and `centre`.
    fn spanned(&self, centre: DVec3, at: impl Fn(u32) -> DVec3) -> f64 {
        let tetrahedron = |triangle: &[u32; 3]| {
            let [a, b, c] = triangle.map(|point| at(point) - centre);
            a.dot(b.cross(c))
        };
        self.triangles.iter().map(tetrahedron).sum::<f64>() / 6.0
    }
}
