//! Pixels of pictures of known shapes.

use std::sync::Arc;

use dermis_math::progress::NoProgress;
use dermis_render::{
    Backdrop, ColorMap, DrawnJoint, Framing, Image, Legend, Opacity, Paint, PaintTexture, Panel, RenderError, Shading,
    Sheet, Surface, Texture, Topology, View, Wrap, draw, skeleton,
};
use glam::{Vec2, Vec3};

const RED: [f32; 4] = [0.8, 0.02, 0.02, 1.0];
const BLUE: [f32; 4] = [0.02, 0.02, 0.8, 1.0];

/// A square of side 2 in the plane z, which faces +z.
fn square(z: f32, paint: Paint) -> Surface {
    let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let uvs = corners.map(|[x, y]: [f32; 2]| Vec2::new(0.5 + 0.5 * x, 0.5 - 0.5 * y)).to_vec();
    let topology =
        Topology { triangles: vec![[0, 1, 2], [0, 2, 3]], uvs: vec![uvs], paints: vec![paint], ..Topology::default() };
    Surface {
        topology: Arc::new(topology),
        positions: corners.map(|[x, y]| Vec3::new(x, y, z)).to_vec(),
        normals: vec![Vec3::Z; 4],
        colors: Vec::new(),
    }
}

fn painted(color: [f32; 4]) -> Paint {
    Paint { color, is_unlit: true, ..Paint::default() }
}

fn front() -> View {
    View { azimuth_degrees: 0.0, elevation_degrees: 0.0, ..View::default() }
}

fn panel(surfaces: Vec<Surface>, view: View, size: [usize; 2]) -> Panel {
    let mut framing = Framing::new(view, size);
    for surface in &surfaces {
        framing.add(&surface.positions);
    }
    let (camera, floor) = (framing.camera(), None);
    Panel { surfaces, overlay: Vec::new(), camera, floor, shading: Shading::Lit, label: String::new() }
}

fn sheet([width, height]: [usize; 2], backdrop: Backdrop) -> Sheet {
    Sheet { width, height, columns: None, backdrop, wireframe: false, legend: None }
}

/// A picture of surfaces from the front, on a transparent backdrop.
fn picture(surfaces: Vec<Surface>, size: [usize; 2]) -> Image {
    draw(&sheet(size, Backdrop::Transparent), &[panel(surfaces, front(), size)], &NoProgress).unwrap()
}

/// The mean opacity of all pixels.
fn coverage(image: &Image) -> f64 {
    image.pixels.iter().map(|pixel| f64::from(pixel[3]) / 255.0).sum::<f64>() / image.pixels.len() as f64
}

#[test]
fn a_square_covers_its_part_of_the_picture() {
    // The margins leave 86 % of each side.
    let covered = coverage(&picture(vec![square(0.0, painted(RED))], [200, 200]));
    assert!((covered - 0.86 * 0.86).abs() < 1e-3, "{covered}");
    let mut triangle = square(0.0, painted(RED));
    Arc::make_mut(&mut triangle.topology).triangles.pop();
    let half = coverage(&picture(vec![triangle], [200, 200]));
    assert!((half - 0.5 * covered).abs() < 1e-3, "{half}");
}

#[test]
fn the_nearer_surface_hides_the_other_in_any_order() {
    let shapes = || [square(-0.5, painted(BLUE)), square(0.5, painted(RED))];
    let [far, near] = shapes();
    let first = picture(vec![near, far], [64, 64]);
    let second = picture(shapes().to_vec(), [64, 64]);
    assert_eq!(first, second);
    assert!(first.pixel(32, 32)[0] > 200 && first.pixel(32, 32)[2] < 60, "{:?}", first.pixel(32, 32));
}

#[test]
fn textures_are_upright() {
    let (red, blue, white) = ([255, 0, 0, 255], [0, 0, 255, 255], [255; 4]);
    let texture = Arc::new(Texture::new(2, 2, &[red, blue, white, white]));
    let textured = PaintTexture { texture, uv_set: 0, wrap: [Wrap::Clamp; 2] };
    let image = picture(vec![square(0.0, Paint { texture: Some(textured), ..painted([1.0; 4]) })], [100, 100]);
    assert_eq!(image.pixel(20, 20), red);
    assert_eq!(image.pixel(80, 20), blue);
    assert_eq!(image.pixel(20, 80), white);
}

#[test]
fn texture_coordinates_are_perspective_correct() {
    // On a receding floor, the middle of the texture is far above the middle of the floor in the picture.
    let (red, blue) = ([255, 0, 0, 255], [0, 0, 255, 255]);
    let texture =
        Arc::new(Texture::new(1, 64, &(0..64).map(|row| if row < 32 { red } else { blue }).collect::<Vec<_>>()));
    let textured = PaintTexture { texture, uv_set: 0, wrap: [Wrap::Clamp; 2] };
    let mut surface = square(0.0, Paint { texture: Some(textured), ..painted([1.0; 4]) });
    surface.positions.iter_mut().for_each(|point| *point = Vec3::new(point.x, 0.0, -6.0 * point.y));
    surface.normals = vec![Vec3::Y; 4];
    let size = [200, 200];
    let view = View { elevation_degrees: 12.0, ..front() };
    let image = draw(&sheet(size, Backdrop::Transparent), &[panel(vec![surface], view, size)], &NoProgress).unwrap();
    let rows = |is_wanted: &dyn Fn([u8; 4]) -> bool| (0..200).filter(|&y| is_wanted(image.pixel(100, y))).count();
    let (far, near) = (rows(&|p| p[3] > 128 && p[0] > 128), rows(&|p| p[3] > 128 && p[2] > 128));
    assert!(far > 5 && near as f64 > 1.5 * far as f64, "{far} {near}");
}

#[test]
fn opacity_covers_a_part_of_the_samples_or_cuts() {
    let with = |alpha: f32, opacity: Opacity| {
        let paint = Paint { opacity, ..painted([0.5, 0.5, 0.5, alpha]) };
        picture(vec![square(0.0, paint)], [40, 40]).pixel(20, 20)[3]
    };
    assert_eq!(
        [with(0.4, Opacity::Mask(0.5)), with(0.6, Opacity::Mask(0.5)), with(0.1, Opacity::Opaque)],
        [0, 255, 255]
    );
    assert!((i32::from(with(0.5, Opacity::Blend)) - 128).abs() < 10);
}

/// A ball on a floor, with light, shadow, label and legend.
fn studio(size: [usize; 2], backdrop: Backdrop) -> (Sheet, Vec<Panel>) {
    let mut ball = Surface::default();
    let (rings, sectors) = (24u32, 32u32);
    for ring in 0..=rings {
        for sector in 0..=sectors {
            let (polar, azimuth) = (
                std::f32::consts::PI * ring as f32 / rings as f32,
                std::f32::consts::TAU * sector as f32 / sectors as f32,
            );
            let at = Vec3::new(polar.sin() * azimuth.cos(), polar.cos(), polar.sin() * azimuth.sin());
            ball.positions.push(at);
            ball.normals.push(at);
        }
    }
    let corner = |ring: u32, sector: u32| ring * (sectors + 1) + sector;
    let triangles = (0..rings * sectors).flat_map(|at| {
        let (ring, sector) = (at / sectors, at % sectors);
        let [a, b] = [corner(ring, sector), corner(ring, sector + 1)];
        let [c, d] = [corner(ring + 1, sector), corner(ring + 1, sector + 1)];
        [[a, b, c], [b, d, c]]
    });
    let paints = vec![Paint { color: [0.7, 0.7, 0.7, 1.0], ..Paint::default() }];
    ball.topology = Arc::new(Topology { triangles: triangles.collect(), paints, ..Topology::default() });
    let mut panel = panel(vec![ball], View::default(), size);
    panel.floor = Some(-1.0);
    "ball".clone_into(&mut panel.label);
    let joints = [(Vec3::ZERO, None), (Vec3::Y, Some(0))];
    let joints = joints.map(|(position, parent)| DrawnJoint { position, parent, color: [0.9, 0.4, 0.1] });
    panel.overlay = vec![skeleton(&joints, 2.0)];
    let legend = Legend { title: "error".to_owned(), map: ColorMap::Sequential, range: [0.0, 1.0] };
    (Sheet { legend: Some(legend), wireframe: true, ..sheet(size, backdrop) }, vec![panel])
}

#[test]
fn pictures_do_not_depend_on_the_number_of_threads() {
    let (sheet, panels) = studio([160, 120], Backdrop::Light);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| draw(&sheet, &panels, &NoProgress).unwrap())
    };
    assert_eq!(with(1), with(2));
}

#[test]
fn a_transparent_picture_keeps_the_shadow_and_nothing_else() {
    let (mut sheet, mut panels) = studio([160, 120], Backdrop::Transparent);
    sheet.legend = None;
    panels[0].label.clear();
    let image = draw(&sheet, &panels, &NoProgress).unwrap();
    assert_eq!(image.pixel(0, 0), [0; 4]);
    assert_eq!(image.pixel(80, 50)[3], 255);
    let shadow = image.pixels.iter().filter(|pixel| (20..200).contains(&pixel[3]) && pixel[..3] == [0; 3]).count();
    assert!(shadow > 300, "{shadow} pixels of shadow");
}

#[test]
fn light_comes_from_above_and_the_key_light_casts_a_shadow() {
    let (sheet, mut panels) = studio([160, 120], Backdrop::Light);
    let sheet = Sheet { wireframe: false, legend: None, ..sheet };
    panels[0].overlay.clear();
    let image = draw(&sheet, &panels, &NoProgress).unwrap();
    let brightness = |x: usize, y: usize| image.pixel(x, y)[..3].iter().map(|&byte| u32::from(byte)).sum::<u32>();
    assert!(brightness(72, 25) > brightness(92, 78) + 100, "{} {}", brightness(72, 25), brightness(92, 78));
    // The key light is on the left, so the floor is darker on the right.
    let floor = |range: std::ops::Range<usize>| range.map(|x| brightness(x, 80)).min().unwrap();
    assert!(floor(110..150) + 40 < floor(5..25), "{} {}", floor(110..150), floor(5..25));
}

#[test]
fn the_legend_shows_the_colours_of_the_map() {
    let size = [400, 300];
    let (mut sheet, panels) = studio(size, Backdrop::Light);
    let without = draw(&Sheet { legend: None, ..sheet.clone() }, &panels, &NoProgress).unwrap();
    sheet.wireframe = false;
    let image = draw(&sheet, &panels, &NoProgress).unwrap();
    assert_ne!(image, without);
    let byte = |channel: f32| (dermis_render::encode_srgb(channel) * 255.0).round() as i32;
    let has = |at: f32| {
        let wanted = ColorMap::Sequential.color(at).map(byte);
        let is_close = |pixel: &[u8; 4]| (0..3).all(|k| (i32::from(pixel[k]) - wanted[k]).abs() <= 3);
        image.pixels[size[0] * 240..].iter().any(is_close)
    };
    assert!([0.05, 0.25, 0.5, 0.75, 0.95].into_iter().all(has));
}

#[test]
fn a_wireframe_and_a_skeleton_are_drawn_over_the_surface() {
    let size = [320, 240];
    let (mut with, panels) = studio(size, Backdrop::Light);
    with.legend = None;
    let bare = Sheet { wireframe: false, ..with.clone() };
    let mut plain = panels.clone();
    plain[0].overlay.clear();
    let [lines, surface] = [&with, &bare].map(|sheet| draw(sheet, &plain, &NoProgress).unwrap());
    assert_ne!(lines, surface);
    let skeleton = draw(&bare, &panels, &NoProgress).unwrap();
    let orange = |image: &Image| image.pixels.iter().filter(|[r, _, b, _]| *r > 150 && *b < 110).count();
    assert!(orange(&surface) == 0 && orange(&skeleton) > 4, "{}", orange(&skeleton));
}

#[test]
fn panels_are_in_rows_and_columns() {
    let size = [120, 80];
    let part = [60, 40];
    let colors = [RED, BLUE, [0.02, 0.8, 0.02, 1.0]];
    let panels: Vec<Panel> =
        colors.map(|color| panel(vec![square(0.0, painted(color))], front(), part)).into_iter().collect();
    let sheet = Sheet { columns: Some(2), ..sheet(size, Backdrop::Transparent) };
    let image = draw(&sheet, &panels, &NoProgress).unwrap();
    let strongest = |x: usize, y: usize| {
        let [r, g, b, a] = image.pixel(x, y);
        (a > 0).then_some({
            if r > g && r > b {
                'r'
            } else if b > g {
                'b'
            } else {
                'g'
            }
        })
    };
    assert_eq!(
        [strongest(30, 20), strongest(90, 20), strongest(30, 60), strongest(90, 60)],
        [Some('r'), Some('b'), Some('g'), None]
    );
}

#[test]
fn rejects_sizes_that_cannot_be_drawn() {
    let check = |width, height, panels| sheet([width, height], Backdrop::Light).check(panels);
    for (width, height) in [(0, 10), (10, 0), (20_000, 10), (16_000, 16_000), (usize::MAX, usize::MAX)] {
        assert_eq!(check(width, height, 1), Err(RenderError::Size { width, height }));
    }
    assert_eq!(check(10, 10, 0), Err(RenderError::NoPanels));
    assert_eq!(check(30, 10, 20), Err(RenderError::PanelSize { panels: 20, width: 30, height: 10 }));
    assert_eq!(check(1, 1, 1), Ok(()));
    let tiny =
        draw(&sheet([1, 1], Backdrop::Light), &[panel(vec![square(0.0, painted(RED))], front(), [1, 1])], &NoProgress);
    assert_eq!(tiny.unwrap().pixels.len(), 1);
}

#[test]
fn an_empty_or_degenerate_surface_is_a_backdrop() {
    let size = [32, 32];
    let mut flat = square(0.0, painted(RED));
    flat.positions = vec![Vec3::ONE; 4];
    for surfaces in [Vec::new(), vec![Surface::default()], vec![flat]] {
        let mut panel = panel(surfaces, front(), size);
        panel.floor = Some(0.0);
        let image = draw(&sheet(size, Backdrop::Plain([9, 8, 7])), &[panel], &NoProgress).unwrap();
        assert!(image.pixels.iter().all(|pixel| pixel[3] == 255), "opaque");
    }
}
