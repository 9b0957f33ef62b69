// Appearance of the page: materials, light, bones, panels, timeline and export.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { center, setFrame, showView } from "./actions.mjs";
import { difference, picture } from "./browser.mjs";
import { run } from "./inputs.mjs";

const state = (page, read) => page.evaluate(`(({ viewer, stats }) => ${read})(window.dermis)`);
const until = async (page, read, timeout = 30_000) => {
  for (const end = Date.now() + timeout; !(await state(page, read)); await page.waitForTimeout(30))
    assert.ok(Date.now() < end, `not in ${timeout} ms: ${read}`);
};
/** Waits until materials are loaded and occlusion is complete. */
const settled = async (page) => {
  await until(page, "viewer.models.every((m) => m.surface.version > 0) && stats.firstPictureMs !== null");
  await page.evaluate(() => {
    const { viewer } = window.dermis;
    for (let i = 0; i < 6; i++) viewer.draw();
  });
};
/** Colours of pixels, as red, green and blue from 0 to 255; `spots` are fractions of the canvas from the upper left. */
const pixels = (page, spots) =>
  page.evaluate((all) => {
    const { viewer } = window.dermis;
    viewer.draw();
    const gl = viewer.stage.renderer.getContext();
    return all.map(([x, y]) => {
      const rgba = new Uint8Array(4);
      const [column, row] = [x * gl.drawingBufferWidth, (1 - y) * gl.drawingBufferHeight];
      gl.readPixels(Math.floor(column), Math.floor(row), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, rgba);
      return [...rgba.subarray(0, 3)];
    });
  }, spots);
const brightness = ([r, g, b]) => (r + g + b) / 3;

/** Number of different normals on a row of pixels across the middle of the picture. */
const normalsAcross = (page) =>
  page.evaluate(() => {
    const { viewer } = window.dermis;
    viewer.state.surface = "normals";
    viewer.draw();
    const gl = viewer.stage.renderer.getContext();
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const row = new Uint8Array(4 * width);
    gl.readPixels(0, Math.floor(height / 2), width, 1, gl.RGBA, gl.UNSIGNED_BYTE, row);
    const colors = new Set();
    for (let x = Math.floor(0.35 * width); x < 0.65 * width; x++) colors.add(row.subarray(4 * x, 4 * x + 3).join());
    return colors.size;
  });

/** Encodes an image of 8-bit RGB rows as PNG. */
function encodePng(width, height, color) {
  const table = Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    return c >>> 0;
  });
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const crc = body.reduce((c, byte) => table[(c ^ byte) & 255] ^ (c >>> 8), 0xffffffff) ^ 0xffffffff;
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc >>> 0);
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = [];
  for (let y = 0; y < height; y++) {
    rows.push(0);
    for (let x = 0; x < width; x++) rows.push(...color(x / width, y / height));
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk("IHDR", head), chunk("IDAT", deflateSync(Buffer.from(rows))), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

/** Writes glTF with embedded arrays; each mesh has `positions`, `indices` and optionally `uvs`, `colors`, `normals`. */
function writeGltf(folder, name, meshes, materials, image) {
  const [buffers, views, accessors] = [[], [], []];
  let length = 0;
  const add = (values, type, componentType, target) => {
    const array = componentType === 5125 ? new Uint32Array(values) : new Float32Array(values);
    const bytes = Buffer.from(array.buffer);
    views.push({ buffer: 0, byteOffset: length, byteLength: bytes.length, target });
    buffers.push(bytes);
    length += bytes.length;
    const size = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 }[type];
    const accessor = { bufferView: views.length - 1, componentType, count: values.length / size, type };
    if (type === "VEC3") {
      const axis = (c) => values.filter((_, i) => i % 3 === c);
      accessor.min = [0, 1, 2].map((c) => Math.fround(Math.min(...axis(c))));
      accessor.max = [0, 1, 2].map((c) => Math.fround(Math.max(...axis(c))));
    }
    return accessors.push(accessor) - 1;
  };
  const made = meshes.map(({ name: label, positions, indices, uvs, colors, normals, material }) => {
    const attributes = { POSITION: add(positions, "VEC3", 5126, 34962) };
    if (normals) attributes.NORMAL = add(normals, "VEC3", 5126, 34962);
    if (uvs) attributes.TEXCOORD_0 = add(uvs, "VEC2", 5126, 34962);
    if (colors) attributes.COLOR_0 = add(colors, "VEC4", 5126, 34962);
    return { name: label, primitives: [{ attributes, indices: add(indices, "SCALAR", 5125, 34963), material }] };
  });
  const gltf = {
    asset: { version: "2.0" },
    scene: 0,
    scenes: [{ nodes: made.map((_, at) => at) }],
    nodes: made.map(({ name: label }, mesh) => ({ name: label, mesh })),
    meshes: made,
    materials,
    accessors,
    bufferViews: views,
    buffers: [
      {
        byteLength: length,
        uri: `data:application/octet-stream;base64,${Buffer.concat(buffers).toString("base64")}`,
      },
    ],
  };
  if (image) {
    gltf.images = [{ uri: `data:image/png;base64,${image.toString("base64")}`, mimeType: "image/png" }];
    gltf.textures = [{ source: 0 }];
  }
  writeFileSync(join(folder, `${name}.gltf`), JSON.stringify(gltf));
}

/** Square in the plane of x and y that faces the front. */
const square = (x, width = 1) => ({
  positions: [x, 0, 0, x + width, 0, 0, x + width, 1, 0, x, 1, 0],
  indices: [0, 1, 2, 0, 2, 3],
  uvs: [0, 1, 1, 1, 1, 0, 0, 0],
});

/** Ball with a normal per facet, as flat-shaded files have. */
function flatBall(rings) {
  const [positions, normals, indices] = [[], [], []];
  const at = (i, j) => {
    const [u, v] = [(Math.PI * i) / rings, (Math.PI * j) / rings];
    return [Math.sin(u) * Math.cos(v), Math.cos(u), Math.sin(u) * Math.sin(v)];
  };
  const face = (...corners) => {
    const [a, b, c] = corners;
    const [p, q] = [b.map((x, k) => x - a[k]), c.map((x, k) => x - a[k])];
    const n = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
    const size = Math.hypot(...n);
    if (size < 1e-9) return;
    for (const corner of corners) {
      indices.push(positions.length / 3);
      positions.push(...corner);
      normals.push(...n.map((x) => x / size));
    }
  };
  for (let i = 0; i < rings; i++)
    for (let j = 0; j < 2 * rings; j++) {
      face(at(i, j), at(i, j + 1), at(i + 1, j + 1));
      face(at(i, j), at(i + 1, j + 1), at(i + 1, j));
    }
  return { positions, normals, indices };
}

export const looks = ({ withPage, shot, dermis, files, fits, sampleAndFit, browser, work }) => ({
  async "draws textures, vertex colours and base colours of the file"() {
    const image = encodePng(16, 16, (x, y) => (x < 0.5 ? [230, 30, 30] : y < 0.5 ? [30, 200, 40] : [30, 60, 230]));
    const blue = Array(4).fill([0.05, 0.1, 0.9, 1]).flat();
    const rough = { metallicFactor: 0, roughnessFactor: 1 };
    writeGltf(
      files,
      "painted-squares",
      [
        { name: "textured", ...square(0), material: 0 },
        { name: "coloured", ...square(1), colors: blue, material: 1 },
        { name: "plain", ...square(2), material: 2 },
      ],
      [
        { name: "image", pbrMetallicRoughness: { ...rough, baseColorTexture: { index: 0 } } },
        { name: "vertices", pbrMetallicRoughness: rough },
        { name: "green", pbrMetallicRoughness: { ...rough, baseColorFactor: [0.05, 0.6, 0.1, 1] } },
      ],
      image,
    );
    await withPage(["painted-squares.gltf"], async (page) => {
      await settled(page);
      await page.locator("[data-camera=front]").click();
      await page.waitForTimeout(600);
      // Where the squares are on the canvas.
      const spot = (x, y) =>
        page.evaluate(([a, b]) => {
          const { camera, controls } = window.dermis.viewer.stage;
          const p = controls.target.clone().set(a, b, 0).project(camera);
          return [0.5 + 0.5 * p.x, 0.5 - 0.5 * p.y];
        }, [x, y]);
      const spots = await Promise.all([spot(0.25, 0.5), spot(0.75, 0.8), spot(0.75, 0.2), spot(1.5, 0.5), spot(2.5, 0.5)]);
      const [red, green, blueTexture, vertex, base] = await pixels(page, spots);
      const strongest = (rgb) => rgb.indexOf(Math.max(...rgb));
      assert.deepEqual(
        [red, green, blueTexture, vertex, base].map(strongest),
        [0, 1, 2, 2, 1],
        JSON.stringify([red, green, blueTexture, vertex, base]),
      );
      await shot(page, "looks-materials");
      await page.locator("[data-surface=clay]").click();
      const clay = await pixels(page, spots);
      for (const rgb of clay) assert.ok(Math.max(...rgb) - Math.min(...rgb) < 45, `clay is ${rgb}`);
      await page.locator("[data-surface=normals]").click();
      const [front] = await pixels(page, spots);
      assert.ok(front[2] > 240 && Math.abs(front[0] - 128) < 8, `a normal towards the camera is ${front}`);
      await page.locator("[data-surface=matcap]").click();
      const wax = await pixels(page, spots);
      assert.ok(difference({ cells: wax.flat() }, { cells: clay.flat() }) > 0.5, `${wax} and ${clay}`);
    });
  },

  async "flat-shaded files stay flat and smooth ones smooth"() {
    writeGltf(files, "flat-ball", [{ name: "ball", ...flatBall(8), material: 0 }], [{ name: "plain" }]);
    await withPage(["flat-ball.gltf"], async (page) => {
      await settled(page);
      const flat = await normalsAcross(page);
      assert.ok(flat < 40, `${flat} normals across flat facets`);
    });
    const smooth = flatBall(8);
    writeGltf(
      files,
      "smooth-ball",
      [{ name: "ball", ...smooth, normals: smooth.positions, material: 0 }],
      [{ name: "plain" }],
    );
    await withPage(["smooth-ball.gltf"], async (page) => {
      await settled(page);
      const shades = await normalsAcross(page);
      assert.ok(shades > 60, `${shades} normals across a smooth ball`);
    });
  },

  async "lights with shadows, occlusion and a gradient"() {
    await withPage([fits[1].output], async (page) => {
      await settled(page);
      const [top, middle, bottom] = await pixels(page, [
        [0.3, 0.02],
        [0.02, 0.5],
        [0.02, 0.97],
      ]);
      assert.ok(brightness(top) > brightness(bottom) + 12, `the backdrop has a gradient: ${top}, ${middle}, ${bottom}`);
      await page.locator("[data-role=quality] select").selectOption("3");
      const withShadow = await picture(page);
      await page.locator("[data-role=quality] select").selectOption("4");
      const without = await picture(page);
      assert.ok(difference(withShadow, without) > 0.01, "shadows are visible");
      const darker = withShadow.cells.filter((cell, at) => cell < without.cells[at] - 2).length;
      const brighter = withShadow.cells.filter((cell, at) => cell > without.cells[at] + 2).length;
      assert.ok(darker > 20 * brighter, `shadows darken ${darker} and brighten ${brighter} cells`);
      await page.locator("[data-role=quality] select").selectOption("1");
      await shot(page, "looks-high-quality");
      const open = await page.evaluate(() => {
        const { viewer } = window.dermis;
        const { model } = viewer.active;
        const { renderer } = viewer.stage;
        const rows = model.pointRows;
        const values = new Uint16Array(4 * 2048 * rows);
        renderer.readRenderTargetPixels(model.occlusion.target, 0, 0, 2048, rows, values);
        // Half floats: sign, five bits of exponent, ten of fraction.
        const number = (h) => 2 ** (((h >> 10) & 31) - 15) * (1 + (h & 1023) / 1024);
        const all = Array.from({ length: model.pointCount }, (_, at) => number(values[4 * at]) / number(values[4 * at + 1]));
        return [Math.min(...all), all.reduce((a, b) => a + b, 0) / all.length];
      });
      assert.ok(open[0] < 0.5 && open[1] > 0.5 && open[1] < 0.98, `smallest and mean visibility ${open}`);
      assert.ok(await state(page, "viewer.stage.quality === 'high'"));
    });
  },

  async "bones are solid, named under the mouse and linked with the tree"() {
    run(
      dermis,
      ["skin", "sample:gallop", "-o", "linked.glb", "--bones", "8", "--refine", "6", "--frames", "::8", "--skeleton"],
      files,
    );
    await withPage(["linked.glb", fits[1].output], async (page) => {
      await showView(page, "fit");
      await page.keyboard.press("1");
      await page.evaluate(() => window.dermis.viewer.show(0));
      await settled(page);
      const before = await picture(page);
      await page.keyboard.press("b");
      const withBones = await picture(page);
      assert.ok(difference(before, withBones) > 0.005, "bones are drawn");
      // The middle of a bone on the screen.
      const place = await page.evaluate(() => {
        const { viewer } = window.dermis;
        const { model } = viewer.active;
        const { camera, controls, canvas } = viewer.stage;
        const rect = canvas.getBoundingClientRect();
        const frame = viewer.frameOf(viewer.active);
        for (const [at, bone] of model.info.bones.entries()) {
          if (!bone.tail || bone.is_end) continue;
          const middle = controls.target.clone().set(...bone.anchor.map((x, k) => (x + bone.tail[k]) / 2));
          const p = model.poseWithBone(at, frame, middle).project(camera);
          return { at, name: bone.name, x: rect.left + rect.width * (0.5 + 0.5 * p.x), y: rect.top + rect.height * (0.5 - 0.5 * p.y) };
        }
      });
      await page.mouse.move(place.x, place.y);
      await page.waitForFunction(() => !document.querySelector(".bone-name").hidden);
      const named = await page.locator(".bone-name").textContent();
      const hovered = await state(page, "viewer.state.hovered?.bone");
      assert.equal(named, await state(page, `viewer.active.model.info.bones[${hovered}].name`));
      assert.equal(await page.locator("[data-role=bones] .row.hovered").textContent(), named);
      await page.mouse.click(place.x, place.y);
      await until(page, "viewer.state.heat === 'weight'");
      assert.equal(await page.locator("[data-role=bones] .row.active").textContent(), named);
      const fact = (name) => page.locator(`[data-fact=${name}]`).textContent();
      const [points, parts] = [Number((await fact("points")).replace(",", "")), Number(await fact("parts"))];
      assert.ok(points > 50 && parts >= 1, `${points} points in ${parts} parts`);
      const influences = Number(await fact("influences"));
      assert.ok(influences >= 1 && influences <= 4, `${influences} influences per point`);
      await shot(page, "looks-bones");
    });
  },

  async "objects and parts are shown, hidden, isolated and removed"() {
    writeGltf(
      files,
      "three-squares",
      [
        { name: "left", ...square(0) },
        { name: "middle", ...square(1) },
        { name: "right", ...square(2) },
      ].map((mesh) => ({ ...mesh, material: 0 })),
      [{ name: "plain" }],
    );
    await withPage(["three-squares.gltf", fits[1].output], async (page) => {
      await page.locator("[data-object='three-squares.gltf'] .row").click();
      await settled(page);
      await page.locator("[data-role=frame]").click();
      const whole = await picture(page);
      await page.locator("[data-part=middle] [data-role=eye]").click();
      const gap = await picture(page);
      assert.ok(difference(whole, gap) > 0.005, "a hidden part disappears");
      assert.equal(await state(page, "viewer.active.model.surface.shownTriangles().length"), 12);
      await page.locator("[data-part=middle] [data-role=isolate]").click();
      assert.equal(await state(page, "viewer.active.model.surface.shownTriangles().length"), 6);
      await page.locator("[data-part=middle] [data-role=isolate]").click();
      assert.ok(difference(whole, await picture(page)) < 0.002, "all parts are shown again");
      await page.locator(`[data-object='${fits[1].output}'] [data-role=isolate]`).click();
      assert.equal(await state(page, "viewer.active.model.info.label"), fits[1].output);
      assert.ok(await page.locator("[data-object='three-squares.gltf']").evaluate((row) => row.classList.contains("hidden")));
      await page.locator(`[data-object='${fits[1].output}'] [data-role=isolate]`).click();
      await page.locator("[data-object='three-squares.gltf'] [data-role=remove]").click();
      assert.equal(await page.locator("[data-object]").count(), 1);
      assert.equal(await state(page, "viewer.models.length"), 1);
      await page.locator("[data-role=remove]").click();
      await page.waitForFunction(() => !document.querySelector(".invitation").hidden);
      await picture(page);
    });
  },

  async "the wireframe fades with distance and the camera has presets"() {
    await withPage([fits[1].output], async (page) => {
      await settled(page);
      const contrast = async () => {
        const [, plain] = [await page.evaluate(() => (window.dermis.viewer.state.look.wireframe = false)), await picture(page)];
        await page.evaluate(() => (window.dermis.viewer.state.look.wireframe = true));
        const lined = await picture(page);
        const changes = plain.cells.map((cell, at) => Math.abs(cell - lined.cells[at])).filter((change) => change > 0);
        return { mean: changes.reduce((a, b) => a + b, 0) / changes.length, levels: new Set(changes).size };
      };
      await page.evaluate(() => {
        const { camera, controls } = window.dermis.viewer.stage;
        camera.position.sub(controls.target).multiplyScalar(0.35).add(controls.target);
        controls.update();
      });
      const near = await contrast();
      assert.ok(near.levels > 6, `lines have ${near.levels} levels of coverage`);
      await page.evaluate(() => {
        const { camera, controls } = window.dermis.viewer.stage;
        camera.position.sub(controls.target).multiplyScalar(9).add(controls.target);
        controls.update();
      });
      const far = await contrast();
      assert.ok(far.mean < 0.6 * near.mean, `contrast ${far.mean} far and ${near.mean} near`);
      const directions = {};
      for (const name of ["front", "back", "left", "right", "top", "bottom"]) {
        await page.locator(`[data-camera=${name}]`).click();
        directions[name] = await page.evaluate(() => {
          const { camera, controls } = window.dermis.viewer.stage;
          return camera.position.clone().sub(controls.target).normalize().toArray().map((x) => Math.round(x));
        });
      }
      assert.deepEqual(directions, {
        front: [0, 0, 1],
        back: [0, 0, -1],
        left: [-1, 0, 0],
        right: [1, 0, 0],
        top: [0, 1, 0],
        bottom: [0, -1, 0],
      });
      await page.locator("[data-axis='x']").click();
      const along = await page.evaluate(() => {
        const { camera, controls } = window.dermis.viewer.stage;
        return camera.position.clone().sub(controls.target).normalize().x;
      });
      assert.ok(along > 0.99, "a click on an axis looks along it");
      // A motion that leaves its place is followed.
      await page.locator("[data-role=follow] input").check();
      await setFrame(page, 0);
      await picture(page);
      const moved = await page.evaluate(() => {
        const { viewer } = window.dermis;
        const before = viewer.stage.controls.target.clone();
        const from = viewer.centerOf(viewer.active);
        viewer.setFrame(24);
        viewer.draw();
        const to = viewer.centerOf(viewer.active);
        const target = viewer.stage.controls.target.clone().sub(before);
        return target.sub(to.sub(from)).length();
      });
      assert.ok(moved < 1e-4, `the target is ${moved} away from the motion of the centre`);
    });
  },

  async "the timeline has speed, range, onion skin and marks at the worst frames"() {
    await withPage(sampleAndFit, async (page) => {
      await showView(page, "fit");
      await page.waitForFunction(() => document.querySelectorAll(".worst").length > 0, null, { timeout: 60_000 });
      const mark = page.locator(".worst.largest");
      const frame = Number(await mark.getAttribute("data-frame"));
      const errors = await page.evaluate(async () => {
        const { viewer } = window.dermis;
        return (await viewer.source.frameErrors(viewer.active.model.info.id, 0, 0)).rms;
      });
      assert.equal(frame, errors.indexOf(Math.max(...errors)), "the first mark is at the largest error");
      await setFrame(page, (frame + 20) % 48);
      await mark.click();
      assert.equal(await state(page, "viewer.state.frame"), frame);
      const plain = await picture(page);
      await page.keyboard.press("k");
      const ghosts = await picture(page);
      assert.ok(difference(plain, ghosts) > 0.005, "ghosts are visible");
      await shot(page, "looks-onion");
      await page.keyboard.press("k");
      await setFrame(page, 10);
      await page.keyboard.press("i");
      await setFrame(page, 14);
      await page.keyboard.press("o");
      assert.deepEqual(await state(page, "viewer.span"), { first: 10, last: 14 });
      await page.locator("[data-role=speed]").selectOption("4");
      const seen = await page.evaluate(() => {
        const { viewer } = window.dermis;
        viewer.play(true);
        const frames = new Set();
        for (let i = 0; i < 60; i++) {
          viewer.tick(0.02, false);
          frames.add(viewer.state.frame);
        }
        viewer.play(false);
        return [...frames].sort((a, b) => a - b);
      });
      assert.deepEqual(seen, [10, 11, 12, 13, 14], "playback stays in the range");
      const ticks = await page.evaluate(() => {
        const { viewer } = window.dermis;
        const { state } = viewer;
        viewer.setRange(0, viewer.frameCount - 1);
        return [0.25, 2].map((speed) => {
          viewer.setFrame(0);
          state.speed = speed;
          viewer.play(true);
          for (let i = 0; i < 20; i++) viewer.tick(1.01 / state.fps, false);
          viewer.play(false);
          return state.frame;
        });
      });
      assert.deepEqual(ticks, [5, 40], "the speed scales the time");
      // The plot of a vertex and the timeline have one playhead.
      await page.evaluate(() => (window.dermis.viewer.state.speed = 1));
      const at = await center(page);
      await page.mouse.click(at.x, at.y);
      await page.waitForFunction(() => document.querySelector(".point .plot path"));
      const plot = page.locator(".point .plot");
      const box = await plot.boundingBox();
      await plot.click({ position: { x: 0.6 * box.width, y: 0.4 * box.height } });
      const picked = await state(page, "viewer.state.frame");
      assert.ok(picked > 15 && picked < 35, `a click in the plot goes to frame ${picked}`);
      assert.equal(Number(await page.locator("[data-role=scrub]").inputValue()), picked);
    });
  },

  async "exports pictures and videos, and a link restores the view"() {
    await withPage([fits[1].output], async (page, server) => {
      await settled(page);
      await setFrame(page, 7);
      const saved = async (role, timeout = 120_000) => {
        const [download] = await Promise.all([
          page.waitForEvent("download", { timeout }),
          page.locator(`[data-export=${role}]`).click(),
        ]);
        const path = join(work, `looks-${download.suggestedFilename()}`);
        await download.saveAs(path);
        return { name: download.suggestedFilename(), bytes: readFileSync(path) };
      };
      const png = await saved("png");
      assert.match(png.name, /^gallop-16-7\.png$/);
      assert.deepEqual([...png.bytes.subarray(1, 4)], [0x50, 0x4e, 0x47]);
      const width = await state(page, "viewer.stage.canvas.width");
      assert.equal(png.bytes.readUInt32BE(16), 2 * width, "the picture is twice as large as on the page");
      // A short clip; the first bytes are those of EBML.
      await page.evaluate(() => window.dermis.viewer.setRange(0, 5));
      const clip = await saved("clip");
      assert.match(clip.name, /-clip\.webm$/);
      assert.equal(clip.bytes.readUInt32BE(0), 0x1a45dfa3);
      assert.ok(clip.bytes.length > 2000, `${clip.bytes.length} bytes`);
      assert.equal(await state(page, "viewer.state.frame"), 7, "the frame is restored");
      // A browser without an encoder gets pictures.
      await page.evaluate(() => (window.MediaRecorder.isTypeSupported = () => false));
      const frames = await saved("clip");
      assert.match(frames.name, /-clip\.zip$/);
      assert.equal(frames.bytes.readUInt32LE(0), 0x04034b50);
      assert.equal(frames.bytes.readUInt16LE(frames.bytes.length - 12), 6, "one picture per frame");

      await page.keyboard.press("w");
      await page.locator("[data-surface=matcap]").click();
      await page.locator("[data-camera=left]").click();
      await setFrame(page, 4);
      await page.locator("[data-export=link]").click();
      await page.waitForFunction(() => location.hash.startsWith("#view="));
      const address = page.url();
      assert.ok(address.startsWith(server.url), address);
      const before = await picture(page);
      const again = await browser.newPage({ viewport: { width: 1280, height: 720 } });
      await again.goto(address);
      await again.waitForFunction(() => window.dermis, null, { timeout: 60_000 });
      await settled(again);
      assert.equal(await state(again, "viewer.state.frame"), 4);
      assert.deepEqual(await state(again, "viewer.state.range"), { first: 0, last: 5 });
      assert.ok(difference(before, await picture(again)) < 0.01, "the picture is the same");
      await again.close();
    });
  },

  async "an empty page invites files, and Open adds them"() {
    await withPage([], async (page) => {
      assert.ok(await page.locator(".invitation").isVisible());
      await shot(page, "looks-empty");
      await page
        .locator("[data-role=files]")
        .first()
        .setInputFiles({ name: "triangle.obj", mimeType: "text/plain", buffer: Buffer.from("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n") });
      await until(page, "viewer.views.length === 1");
      assert.ok(!(await page.locator(".invitation").isVisible()));
    });
  },

  async "is usable from 390 pixels to 4K, in both themes"() {
    await withPage(sampleAndFit, async (page) => {
      await showView(page, "fit");
      await settled(page);
      const font = await page.evaluate(async () => {
        await document.fonts.ready;
        const { fontSize, fontFamily } = getComputedStyle(document.querySelector("aside section"));
        return { fontSize, fontFamily, loaded: [...document.fonts].some((f) => f.family.includes("Inter") && f.status === "loaded") };
      });
      assert.equal(font.fontSize, "13px");
      assert.ok(font.loaded, "the bundled font is used");
      const dark = await pixels(page, [[0.02, 0.03]]);
      await page.locator("[data-role=theme]").click();
      const light = await pixels(page, [[0.02, 0.03]]);
      assert.ok(brightness(light[0]) > brightness(dark[0]) + 100, `${dark} and ${light}`);
      await page.waitForTimeout(300);
      await shot(page, "looks-light");
      await page.locator("[data-role=theme]").click();
      for (const [width, height] of [
        [390, 844],
        [1280, 720],
        [3840, 2160],
      ]) {
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(400);
        const canvas = await page.locator(".stage canvas").first().boundingBox();
        assert.ok(canvas.width * canvas.height > 0.4 * width * height, `${width}: the picture has ${canvas.width} × ${canvas.height}`);
        const outside = await page.evaluate(() =>
          [...document.querySelectorAll("footer *, h1 *, nav *, .toolbar *")]
            .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.getClientRects().length > 0)
            .filter((one) => !one.closest("aside") || getComputedStyle(one.closest("aside")).visibility === "visible")
            .filter((one) => {
              const { left, right, bottom } = one.getBoundingClientRect();
              return left < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
            })
            .map((one) => one.outerHTML.slice(0, 80)),
        );
        assert.deepEqual(outside, [], `controls outside of ${width} pixels`);
        if (width === 390) {
          await page.locator("[data-panel=left]").click();
          await page.locator("[data-surface=clay]").click();
          await page.waitForTimeout(300);
          await shot(page, "page-390-panel");
          await page.locator("[data-panel=left]").click();
          await page.waitForTimeout(300);
        }
        await picture(page);
        await shot(page, `page-${width}`);
      }
      // Groups collapse and panels change their width.
      await page.setViewportSize({ width: 1280, height: 720 });
      const title = page.locator("aside.left h2", { hasText: "Display" });
      await title.click();
      assert.ok(!(await page.locator("[data-surface=clay]").isVisible()));
      await title.click();
      assert.ok(await page.locator("[data-surface=clay]").isVisible());
      const width = async () => (await page.locator("aside.left").boundingBox()).width;
      const before = await width();
      const handle = await page.locator(".handle.left").boundingBox();
      await page.mouse.move(handle.x + 3, 300);
      await page.mouse.down();
      await page.mouse.move(handle.x + 63, 300, { steps: 3 });
      await page.mouse.up();
      assert.ok(Math.abs((await width()) - before - 60) < 6, `${before} to ${await width()}`);
    });
  },
});
