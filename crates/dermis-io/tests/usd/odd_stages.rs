//! Stages that use rare or older parts of the format.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;

use dermis_io::{Error, ReadOptions};
use dermis_mesh::Scene;
use dermis_mesh::glam::Vec3;

const TRIANGLE: &str = "int[] faceVertexCounts = [3]\n    int[] faceVertexIndices = [0, 1, 2]\n    point3f[] points = [(0, 0, 0), \
                        (1, 0, 0), (0, 1, 0)]";

fn read(text: &str) -> Scene {
    dermis_io::read_bytes("usda", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn read_file(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    dermis_io::read(path.to_str().unwrap(), options)
}

#[test]
fn older_types_and_unusual_literals_are_read() {
    let scene = read(
        "#usda 1.0 \n(\n    metersPerUnit = .01\n)\n\n// a comment\ndef Mesh \"m\"\n{\n    int[] faceVertexCounts = [3]\n    \
         PointIndex[] faceVertexIndices = [0, 1, 2]\n    PointFloat[] points = [(0, 0, 0), (1., 0, 0), (0, .5, 0)]\n    custom \
         uint[] ids = [1, 2, 3]\n    Vec3f xformOp:translate = (0, 0, 2)\n    uniform token[] xformOpOrder = \
         [\"xformOp:translate\"]\n    pathExpression p = \"//\"\n}\n\ndef Shader \"s\"\n{\n    config token info:id = \"x\"\n    \
         asset inputs:file.timeSamples = {\n        1: @a.png@,\n        2: @b.png@,\n    }\n}\n",
    );
    assert_eq!(scene.units.metres_per_unit, Some(0.01));
    assert_eq!(
        scene.objects[0].mesh.points(),
        [Vec3::new(0.0, 0.0, 2.0), Vec3::new(1.0, 0.0, 2.0), Vec3::new(0.0, 0.5, 2.0)]
    );
}

#[test]
fn blend_shapes_need_no_joints() {
    let text = format!(
        "#usda 1.0\n(\n    timeCodesPerSecond = 24\n)\ndef SkelRoot \"r\"\n{{\n    rel skel:skeleton = </r/k>\n    def Skeleton \
         \"k\" (\n        prepend apiSchemas = [\"SkelBindingAPI\"]\n    )\n    {{\n        rel skel:animationSource = </r/a>\n    \
         }}\n    def SkelAnimation \"a\"\n    {{\n        uniform token[] blendShapes = [\"up\"]\n        float[] \
         blendShapeWeights.timeSamples = {{ 0: [0], 2: [1] }}\n    }}\n    def Mesh \"m\" (\n        prepend apiSchemas = \
         [\"SkelBindingAPI\"]\n    )\n    {{\n    {TRIANGLE}\n        uniform token[] skel:blendShapes = [\"up\", \"shade\"]\n        rel \
         skel:blendShapeTargets = [</r/m/up>, </r/m/shade>]\n        def BlendShape \"shade\"\n        {{\n            uniform \
         vector3f[] normalOffsets = [(0, 1, 0), (0, 1, 0)]\n            uniform vector3f[] offsets = []\n            uniform \
         int[] pointIndices = [0, 2]\n        }}\n        def BlendShape \"up\"\n        {{\n            uniform vector3f[] offsets = \
         [(0, 0, 1), (0, 0, 1), (0, 0, 1)]\n        }}\n    }}\n}}\n"
    );
    let scene = read(&text);
    let object = &scene.objects[0];
    let shapes = object.rig.as_ref().unwrap().shapes();
    assert_eq!(shapes.len(), 2);
    assert!(shapes[1].offsets.iter().all(|offset| *offset == Vec3::ZERO), "a shape of normals alone moves no point");
    let motion = object.base_motion().unwrap().unwrap();
    assert_eq!(motion.frame(motion.frame_count() - 1).unwrap()[1], Vec3::new(1.0, 0.0, 1.0));
}

#[test]
fn nested_instances_are_read() {
    let text = format!(
        "#usda 1.0\nclass Xform \"leaf\"\n{{\n    def Mesh \"m\"\n    {{\n    {TRIANGLE}\n    }}\n}}\nclass Xform \"branch\"\n{{\n    \
         def Xform \"one\" (\n        instanceable = true\n        references = </leaf>\n    )\n    {{\n    }}\n    def Xform \"two\" \
         (\n        instanceable = true\n        references = </leaf>\n    )\n    {{\n        double3 xformOp:translate = (0, 0, \
         1)\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }}\n}}\ndef Xform \"a\" (\n    instanceable = \
         true\n    references = </branch>\n)\n{{\n}}\ndef Xform \"b\" (\n    instanceable = true\n    references = \
         </branch>\n)\n{{\n    double3 xformOp:translate = (0, 0, 10)\n    uniform token[] xformOpOrder = \
         [\"xformOp:translate\"]\n}}\n"
    );
    let scene = read(&text);
    let mut heights: Vec<f32> = scene.objects.iter().map(|object| object.mesh.points()[0].z).collect();
    heights.sort_by(f32::total_cmp);
    assert_eq!(heights, [0.0, 1.0, 10.0, 11.0]);
}

#[test]
fn instances_within_instances_that_come_through_a_payload_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let placed = |name: &str, target: &str, height: u32| {
        format!(
            "def Xform \"{name}\" (\n    instanceable = true\n    references = <{target}>\n)\n{{\n    double3 xformOp:translate = \
             (0, 0, {height})\n    uniform token[] xformOpOrder = [\"xformOp:translate\"]\n}}\n"
        )
    };
    let (one, two) = (placed("one", "/Geometry/prototypes/leaf", 0), placed("two", "/Geometry/prototypes/leaf", 1));
    let geometry = format!(
        "#usda 1.0\n(\n    defaultPrim = \"Geometry\"\n)\ndef Xform \"Geometry\"\n{{\n{one}{two}    def Scope \"prototypes\"\n    \
         {{\n        token visibility = \"invisible\"\n        def Xform \"leaf\"\n        {{\n            def Mesh \"m\"\n            \
         {{\n    {TRIANGLE}\n            }}\n        }}\n    }}\n}}\n"
    );
    let (a, b) = (placed("a", "/loaded", 10), placed("b", "/loaded", 20));
    let stage = format!("#usda 1.0\ndef \"loaded\" (\n    payload = @./geometry.usda@\n)\n{{\n}}\n{a}{b}");
    std::fs::write(folder.path().join("geometry.usda"), geometry).unwrap();
    let path = folder.path().join("stage.usda");
    std::fs::write(&path, stage).unwrap();
    let scene = read_file(&path, &ReadOptions::default()).unwrap();
    let mut heights: Vec<f32> = scene.objects.iter().map(|object| object.mesh.points()[0].z).collect();
    heights.sort_by(f32::total_cmp);
    assert_eq!(heights, [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
}

/// A package of `files`, the first of which is opened.
fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in files {
        archive.start_file(*name, stored).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn packages_in_packages_are_read() {
    let mesh = format!("#usda 1.0\n(\n    defaultPrim = \"m\"\n)\ndef Mesh \"m\"\n{{\n    {TRIANGLE}\n}}\n");
    let references = |names: &[(&str, f32)]| {
        let mut text = "#usda 1.0\n(\n    defaultPrim = \"all\"\n)\ndef Xform \"all\"\n{\n".to_owned();
        for (index, (name, height)) in names.iter().enumerate() {
            write!(
                text,
                "    def \"p{index}\" (\n        references = @{name}@\n    )\n    {{\n        double3 xformOp:translate = (0, 0, \
                 {height})\n        uniform token[] xformOpOrder = [\"xformOp:translate\"]\n    }}\n"
            )
            .unwrap();
        }
        text + "}\n"
    };
    // A package with textures before its layer, a package that refers to a layer next to the one that is opened, and a
    // package of packages.
    let leaf = package(&[("textures/t.png", b"no layer"), ("leaf.usda", mesh.as_bytes())]);
    let branch = package(&[
        ("scene/branch.usda", references(&[("./parts/m.usda", 1.0), ("../leaf.usdz", 2.0)]).as_bytes()),
        ("scene/parts/m.usda", mesh.as_bytes()),
        ("leaf.usdz", &leaf),
    ]);
    let top = [("leaf.usdz", 0.0), ("sub/branch.usdz", 10.0), ("sub/branch.usdz[scene/parts/m.usda]", 20.0)];
    let bytes =
        package(&[("top.usda", references(&top).as_bytes()), ("leaf.usdz", &leaf), ("sub/branch.usdz", &branch)]);
    let heights = |scene: &Scene| {
        let mut heights: Vec<f32> = scene.objects.iter().map(|object| object.mesh.points()[0].z).collect();
        heights.sort_by(f32::total_cmp);
        heights
    };
    let scene = dermis_io::read_bytes("usdz", &bytes, &ReadOptions::default()).unwrap();
    assert_eq!(heights(&scene), [0.0, 11.0, 12.0, 20.0], "{:?}", scene.notes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("top.usdz");
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(heights(&read_file(&path, &ReadOptions::default()).unwrap()), [0.0, 11.0, 12.0, 20.0]);
    // A layer next to packages refers to them as well.
    std::fs::write(folder.path().join("s.usda"), references(&[("top.usdz", 0.0)])).unwrap();
    let scene = read_file(&folder.path().join("s.usda"), &ReadOptions::default()).unwrap();
    assert_eq!(heights(&scene), [0.0, 11.0, 12.0, 20.0]);
}

#[test]
fn layers_of_parent_folders_are_read_inside_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    for below in ["scenes", "assets"] {
        std::fs::create_dir_all(project.join(below)).unwrap();
    }
    let asset = format!("#usda 1.0\n(\n    defaultPrim = \"m\"\n)\ndef Mesh \"m\"\n{{\n    {TRIANGLE}\n}}\n");
    std::fs::write(project.join("assets/m.usda"), &asset).unwrap();
    std::fs::write(folder.path().join("outside.usda"), &asset).unwrap();
    let path = project.join("scenes/s.usda");
    let scene_of = |asset: &str| format!("#usda 1.0\ndef \"a\" (\n    references = @{asset}@\n)\n{{\n}}\n");
    std::fs::write(&path, scene_of("../assets/m.usda")).unwrap();
    let plain = ReadOptions::default();
    let any = ReadOptions { allow_parent: true, ..ReadOptions::default() };
    let count = |options: &ReadOptions| read_file(&path, options).unwrap().objects.len();
    let notes = read_file(&path, &plain).unwrap().notes;
    assert!(notes.iter().any(|note| note.message.contains("root folder")), "{notes:?}");
    assert_eq!(count(&plain), 0);
    assert_eq!(count(&ReadOptions { root: Some(project.clone()), ..ReadOptions::default() }), 1);
    assert_eq!(count(&any), 1);
    std::fs::write(project.join("LICENSE"), "").unwrap();
    assert_eq!(count(&plain), 1);
    for outside in ["../../outside.usda".to_owned(), folder.path().join("outside.usda").display().to_string()] {
        std::fs::write(&path, scene_of(&outside)).unwrap();
        assert_eq!((count(&plain), count(&any)), (0, 1), "{outside}");
    }
}
