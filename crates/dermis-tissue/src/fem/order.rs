//! Order of nodes inside the simulator: neighbours get nearby indices, so that the data of a matrix row is in the cache.
//!
//! Breadth-first traversal of the mesh from a node of low degree (Cuthill & `McKee` 1969), free nodes before driven ones.

use dermis_mesh::TetMesh;

/// Returns the mesh nodes that are corners of `tetrahedra`, in simulation order, and the number of free nodes.
pub(super) fn order_nodes(mesh: &TetMesh, tetrahedra: &[[u32; 4]], free: &[bool]) -> (Vec<u32>, usize) {
    let neighbours = Neighbours::new(mesh.nodes().len(), tetrahedra);
    let mut starts: Vec<u32> = (0..mesh.nodes().len() as u32).filter(|&node| neighbours.degree(node) > 0).collect();
    starts.sort_by_key(|&node| (neighbours.degree(node), node));
    let mut seen = vec![false; mesh.nodes().len()];
    let mut order: Vec<u32> = Vec::with_capacity(starts.len());
    for start in starts {
        let mut next = order.len();
        push_unseen(start, &mut seen, &mut order);
        while next < order.len() {
            let first = order.len();
            for &node in neighbours.of(order[next]) {
                push_unseen(node, &mut seen, &mut order);
            }
            order[first..].sort_by_key(|&node| (neighbours.degree(node), node));
            next += 1;
        }
    }
    let (mut ordered, driven): (Vec<u32>, Vec<u32>) = order.into_iter().partition(|&node| free[node as usize]);
    let free_count = ordered.len();
    ordered.extend(driven);
    (ordered, free_count)
}

fn push_unseen(node: u32, seen: &mut [bool], order: &mut Vec<u32>) {
    if !std::mem::replace(&mut seen[node as usize], true) {
        order.push(node);
    }
}

struct Neighbours {
    starts: Vec<usize>,
    nodes: Vec<u32>,
}

impl Neighbours {
    fn new(node_count: usize, tetrahedra: &[[u32; 4]]) -> Self {
        let mut pairs: Vec<(u32, u32)> = tetrahedra
            .iter()
            .flat_map(|t| t.iter().flat_map(|&a| t.iter().filter(move |&&b| b != a).map(move |&b| (a, b))))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let starts = (0..=node_count).map(|node| pairs.partition_point(|pair| (pair.0 as usize) < node)).collect();
        Self { starts, nodes: pairs.into_iter().map(|pair| pair.1).collect() }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.nodes[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    fn degree(&self, node: u32) -> usize {
        self.of(node).len()
    }
}
