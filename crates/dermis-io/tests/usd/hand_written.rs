//! Hand-written files, as other programs write them.

use dermis_io::{ErrorKind, ReadOptions};
use dermis_mesh::Scene;
use dermis_mesh::glam::{Vec2, Vec3, Vec4};

/// Every transform operation, at rest and over time.
pub(crate) const TRANSFORMS: &str = r#"#usda 1.0
(
    metersPerUnit = 0.01
    upAxis = "Z"
    timeCodesPerSecond = 30
    framesPerSecond = 30
)
def Xform "Top"
{
    double3 xformOp:translate = (10, 0, 0)
    float3 xformOp:rotateXYZ = (0, 0, 90)
    float3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
    def Mesh "Placed"
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        double3 xformOp:translate:pivot = (1, 1, 0)
        quatf xformOp:orient = (0.70710677, 0, 0, 0.70710677)
        uniform token[] xformOpOrder = ["xformOp:translate:pivot", "xformOp:orient", "!invert!xformOp:translate:pivot"]
    }
    def Mesh "Free"
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        matrix4d xformOp:transform = ( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (5, 6, 7, 1) )
        uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:transform"]
    }
    def Xform "Moving"
    {
        double xformOp:translateZ.timeSamples = { 1: 0, 3: 4 }
        uniform token[] xformOpOrder = ["xformOp:translateZ"]
        def Mesh "Carried"
        {
            int[] faceVertexCounts = [3]
            int[] faceVertexIndices = [0, 1, 2]
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        }
        def Mesh "Waving"
        {
            int[] faceVertexCounts = [3]
            int[] faceVertexIndices = [0, 1, 2]
            point3f[] points.timeSamples = {
                1: [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
                2: [(0, 0, 1), (1, 0, 1), (0, 1, 1)],
                3: [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
            }
        }
    }
}
"#;

fn read(text: &str) -> Scene {
    dermis_io::read_bytes("usd", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn fails(text: &str) -> dermis_io::Error {
    dermis_io::read_bytes("usd", text.as_bytes(), &ReadOptions::default()).unwrap_err()
}

fn mesh(body: &str) -> String {
    format!("#usda 1.0\ndef Mesh \"M\" {{\n{body}\n}}\n")
}

const QUAD: &str = "int[] faceVertexCounts = [4]\nint[] faceVertexIndices = [0, 1, 2, 3]\n\
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]\n";

fn near(found: Vec3, expected: Vec3) {
    assert!(found.distance(expected) < 1e-5, "{found} is not {expected}");
}

#[test]
fn transforms_above_a_mesh_are_applied() {
    let scene = read(TRANSFORMS);
    let object = |name: &str| scene.objects.iter().find(|object| object.name.ends_with(name)).unwrap();
    // (1, 0, 0) about (1, 1): (2, 1); scaled by two, rotated, moved.
    near(object("/Placed").mesh.points()[1], Vec3::new(8.0, 4.0, 0.0));
    near(object("/Free").mesh.points()[1], Vec3::new(6.0, 6.0, 7.0));
    let carried = object("/Carried").base_motion().unwrap().unwrap();
    assert_eq!((carried.frame_count(), carried.frame_rate_hz(), carried.start_seconds()), (2, 15.0, 1.0 / 30.0));
    near(carried.frame(1).unwrap()[1], Vec3::new(10.0, 2.0, 8.0));
    let waving = object("/Waving").base_motion().unwrap().unwrap();
    assert_eq!(waving.frame_count(), 3);
    near(waving.frame(1).unwrap()[0], Vec3::new(10.0, 0.0, 6.0));
}

#[test]
fn primvars_of_every_interpolation_are_read() {
    let spread = |primvar: &str| {
        let scene = read(&mesh(&format!("{QUAD}{primvar}")));
        let polygons = scene.objects[0].mesh.to_polygon_mesh();
        let uvs = polygons.uvs[0].clone();
        uvs.indices.iter().map(|&at| uvs.values[at as usize]).collect::<Vec<Vec2>>()
    };
    let st = |values: &str, interpolation: &str| {
        format!("texCoord2f[] primvars:st = {values} ( interpolation = \"{interpolation}\" )\n")
    };
    let four = "[(0, 0), (1, 0), (1, 1), (0, 1)]";
    let expected = [Vec2::new(0.0, 1.0), Vec2::new(1.0, 1.0), Vec2::new(1.0, 0.0), Vec2::new(0.0, 0.0)];
    assert_eq!(spread(&st(four, "vertex")), expected);
    assert_eq!(spread(&st(four, "varying")), expected);
    assert_eq!(spread(&st(four, "faceVarying")), expected);
    assert_eq!(spread(&st("[(0.5, 0.25)]", "constant")), [Vec2::new(0.5, 0.75); 4]);
    assert_eq!(spread(&st("[(0.5, 0.25)]", "uniform")), [Vec2::new(0.5, 0.75); 4]);
    let indexed = st("[(0, 1), (1, 0)]", "faceVarying") + "int[] primvars:st:indices = [0, 1, 1, 0]\n";
    let (a, b) = (Vec2::new(0.0, 0.0), Vec2::new(1.0, 1.0));
    assert_eq!(spread(&indexed), [a, b, b, a]);
}

#[test]
fn primvars_that_do_not_match_are_skipped_with_a_note() {
    let text = mesh(&format!("{QUAD}texCoord2f[] primvars:st = [(0, 0)] ( interpolation = \"vertex\" )"));
    let scene = read(&text);
    assert!(scene.notes.iter().any(|note| note.message.contains("does not match")), "{:?}", scene.notes);
}

#[test]
fn left_handed_faces_are_reversed_with_their_attributes() {
    let body = format!(
        "{QUAD}uniform token orientation = \"leftHanded\"\n\
         color3f[] primvars:displayColor = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)] (interpolation = \"vertex\")"
    );
    let polygons = read(&mesh(&body)).objects[0].mesh.to_polygon_mesh();
    assert_eq!(polygons.polygons.corners, [0, 3, 2, 1]);
    let colors: Vec<Vec4> =
        polygons.colors[0].indices.iter().map(|&at| polygons.colors[0].values[at as usize]).collect();
    assert_eq!(colors[1], Vec4::new(0.0, 0.0, 1.0, 1.0));
}

#[test]
fn uneven_samples_are_interpolated_once_per_time_code() {
    let body = "int[] faceVertexCounts = []\nint[] faceVertexIndices = []\npoint3f[] points.timeSamples = {\n\
        0: [(0, 0, 0)], 1.5: [(3, 0, 0)], 3.7: [(3, 0, 0)], 4: [(4, 0, 0)] }";
    let scene = read(&mesh(body));
    let motion = scene.objects[0].base_motion().unwrap().unwrap();
    let firsts: Vec<f32> = (0..motion.frame_count()).map(|frame| motion.frame(frame).unwrap()[0].x).collect();
    assert_eq!(firsts, [0.0, 2.0, 3.0, 3.0, 4.0]);
    assert_eq!(motion.frame_rate_hz(), 24.0);
    assert!(scene.notes.iter().any(|note| note.message.contains("24 is assumed")));
}

#[test]
fn the_last_sample_is_included_even_off_the_grid() {
    let body = "int[] faceVertexCounts = []\nint[] faceVertexIndices = []\npoint3f[] points.timeSamples = {\n\
                0: [(0, 0, 0)], 1: [(1, 0, 0)], 10: [(2, 0, 0)], 10.37: [(5, 0, 0)] }";
    let scene = read(&mesh(body));
    let motion = scene.objects[0].base_motion().unwrap().unwrap();
    assert_eq!(motion.frame_count(), 12);
    near(motion.frame(11).unwrap()[0], Vec3::new(5.0, 0.0, 0.0));
    assert!(scene.notes.iter().any(|note| note.message.contains("interpolated")), "{:?}", scene.notes);
}

#[test]
fn sparse_keys_of_transforms_are_sampled_at_the_rate_of_the_stage() {
    let keys = "double xformOp:translateX.timeSamples = { 0: 0, 30: 15 }\n\
                uniform token[] xformOpOrder = [\"xformOp:translateX\"]";
    let scene = read(&mesh(&format!("{QUAD}{keys}")));
    let clip = &scene.objects[0].clips[0];
    assert_eq!((clip.frame_count(), clip.frame_rate_hz()), (31, 24.0));
    let motion = scene.objects[0].base_motion().unwrap().unwrap();
    near(motion.frame(10).unwrap()[0], Vec3::new(5.0, 0.0, 0.0));
}

#[test]
fn rejects_changing_point_counts_with_the_frame() {
    let body = format!(
        "{QUAD}point3f[] points.timeSamples = {{ 1: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], 2: [(0, 0, 0)] }}"
    );
    let error = fails(&mesh(&body));
    assert!(matches!(error.kind(), ErrorKind::PointCountChanges { frame: 1, expected: 4, found: 1 }), "{error}");
    assert_eq!(error.location(), Some("/M"));
}

#[test]
fn rejects_faces_that_change() {
    let body = format!("{QUAD}int[] faceVertexIndices.timeSamples = {{ 1: [0, 1, 2, 3], 2: [3, 2, 1, 0] }}");
    let error = fails(&mesh(&body));
    assert!(matches!(error.kind(), ErrorKind::TopologyChanges { frame: 1 }), "{error}");
}

#[test]
fn rejects_faces_with_missing_points() {
    for indices in ["[0, 1, 2, 7]", "[0, 1, 2, -1]", "[0, 1, 2]", "[0, 1, 2, 2147483647]"] {
        let body = format!(
            "int[] faceVertexCounts = [4]\nint[] faceVertexIndices = {indices}\npoint3f[] points = [(0,0,0), (1,0,0), (1,1,0)]"
        );
        assert_eq!(fails(&mesh(&body)).location(), Some("/M"), "{indices}");
    }
}

#[test]
fn rejects_positions_that_are_not_finite() {
    let body = "int[] faceVertexCounts = []\nint[] faceVertexIndices = []\npoint3f[] points = [(0, nan, 0)]";
    assert!(fails(&mesh(body)).to_string().contains("non-finite"));
}

#[test]
fn rejects_a_weight_on_a_missing_joint() {
    let text = format!(
        "#usda 1.0\ndef SkelRoot \"R\" {{\n\
         def Skeleton \"S\" {{\n uniform token[] joints = [\"a\"]\n\
         uniform matrix4d[] bindTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))]\n\
         uniform matrix4d[] restTransforms = [((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))] }}\n\
         def Mesh \"M\" {{\n{QUAD}\
         int[] primvars:skel:jointIndices = [3] (elementSize = 1 interpolation = \"constant\")\n\
         float[] primvars:skel:jointWeights = [1] (elementSize = 1 interpolation = \"constant\")\n\
         rel skel:skeleton = </R/S> }} }}"
    );
    assert!(fails(&text).to_string().contains("joint"), "{}", fails(&text));
    let rigid = read(&text.replace("[3]", "[0]"));
    assert_eq!(rigid.objects[0].rig.as_ref().unwrap().weights().row(2).collect::<Vec<_>>(), [(0, 1.0)]);
}

#[test]
fn references_and_variants_are_composed() {
    let text = format!(
        "#usda 1.0\nclass \"_proto\" {{ def Mesh \"M\" {{ {QUAD} }} }}\n\
         def Xform \"A\" (references = </_proto>) {{}}\n\
         def Xform \"B\" (inherits = </_proto>) {{\n double3 xformOp:translate = (1, 2, 3)\n\
         uniform token[] xformOpOrder = [\"xformOp:translate\"] }}\n"
    );
    let scene = read(&text);
    let names: Vec<&str> = scene.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names, ["/A/M", "/B/M"]);
    near(scene.objects[1].mesh.points()[0], Vec3::new(1.0, 2.0, 3.0));
}

#[test]
fn a_prim_that_references_itself_terminates() {
    let text = "#usda 1.0\ndef Xform \"A\" { def Xform \"B\" (references = </A>) {} }\n";
    assert!(read(text).objects.is_empty());
}

#[test]
fn deep_nesting_within_the_limits_does_not_exhaust_the_stack() {
    let nested = |open: &str, count: usize| format!("{}{}", open.repeat(count), "}".repeat(count));
    read(&format!("#usda 1.0\n{}", nested("def Xform \"a\" {\n", 250)));
    read(&format!("#usda 1.0\n(customLayerData = {{{}}})\n", nested("dictionary a = {\n", 390)));
    let chain = |level: usize| format!("def Xform \"a{level}\" (references = </a{}>) {{}}\n", level + 1);
    read(&format!("#usda 1.0\n{}", (0..40).map(chain).collect::<String>()));
    fails(&format!("#usda 1.0\n{}", (0..3000).map(chain).collect::<String>()));
    fails(&format!("#usda 1.0\n{}", nested("def Xform \"a\" {\n", 100_000)));
}

#[test]
fn rejects_references_that_multiply() {
    // Each level contains two copies of the next.
    let level = |level: usize| {
        let next = level + 1;
        format!(
            "def \"a{level}\" {{ def \"x\" (references = </a{next}>) {{}}\n def \"y\" (references = </a{next}>) {{}} }}\n"
        )
    };
    fails(&format!("#usda 1.0\n{}", (0..30).map(level).collect::<String>()));
}

#[test]
fn files_outside_of_the_folder_are_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("inside")).unwrap();
    std::fs::write(folder.path().join("secret.usda"), mesh(QUAD)).unwrap();
    let path = folder.path().join("inside/root.usda");
    std::fs::write(&path, "#usda 1.0\ndef \"A\" (references = @../secret.usda@</M>) {}\n").unwrap();
    let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    assert!(scene.objects.is_empty());
    assert!(!scene.notes.is_empty());
    std::fs::write(folder.path().join("inside/near.usda"), mesh(QUAD)).unwrap();
    std::fs::write(&path, "#usda 1.0\ndef Mesh \"A\" (references = @./near.usda@</M>) {}\n").unwrap();
    assert_eq!(dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap().objects.len(), 1);
}

#[test]
fn hidden_and_invalid_meshes_are_skipped_with_notes() {
    let mesh = |name: &str, more: &str| {
        format!(
            "def Mesh \"{name}\" {{ int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 2]\n\
             point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]\n{more}\n}}\n"
        )
    };
    let odd = "def Mesh \"Odd\" { int[] faceVertexCounts = [3] int[] faceVertexIndices = [0, 1, 9]\n\
               point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)] }\n";
    let hidden = format!("def Xform \"Off\" {{ token visibility = \"invisible\"\n{} }}\n", mesh("Below", ""));
    let guide = mesh("Guide", "uniform token purpose = \"guide\"");
    let stage = format!("#usda 1.0\n{}{hidden}{guide}{odd}", mesh("Seen", ""));
    let scene = dermis_io::read_bytes("usda", stage.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(scene.objects.len(), 1);
    assert_eq!(scene.notes.iter().filter(|note| note.message.starts_with("the mesh is skipped")).count(), 3);
    let alone = format!("#usda 1.0\n{odd}");
    assert!(dermis_io::read_bytes("usda", alone.as_bytes(), &ReadOptions::default()).is_err());
}
