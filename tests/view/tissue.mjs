// Simulation of a layered body: pulling, poking, painting, gravity, stiffness, saving.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { positions, message, setFrame } from "./actions.mjs";
import { picture } from "./browser.mjs";
import { run } from "./inputs.mjs";

const MODEL = "model.npz";
const status = (page) => page.locator("[data-role=flesh-status]").textContent();
const hand = (page, mode) => page.locator(`[data-flesh=${mode}]`).click();
const slide = (page, name, value) => page.locator(`[data-parameter=${name}] input`).fill(String(value));
const chooseHeat = (page, name) => page.locator("[data-parameter=heat] select").selectOption({ label: name });

/** Waits until the simulation runs. */
const simulated = (page) =>
  page.waitForFunction(
    () =>
      window.dermis.viewer.active?.tag === "simulated" &&
      window.dermis.flesh.liveOf(window.dermis.viewer.active).status,
    null,
    { timeout: 90_000 },
  );

/** Largest distance of points between two shapes, or that of one point. */
function moved(before, after, point = null) {
  const distance = (p) => Math.hypot(...[0, 1, 2].map((c) => after[4 * p + c] - before[4 * p + c]));
  if (point !== null) return distance(point);
  return Array.from({ length: before.length / 4 }, (_, p) => distance(p)).reduce((a, b) => Math.max(a, b), 0);
}

/** Waits until the shape is at rest. Returns its positions. */
async function still(page, timeout = 12_000) {
  let before = await positions(page);
  for (const end = Date.now() + timeout; ;) {
    await page.waitForTimeout(400);
    const now = await positions(page);
    if (moved(before, now) < 3e-4) return now;
    assert.ok(Date.now() < end, `it still moves by ${moved(before, now)} m`);
    before = now;
  }
}

/** Visible point that faces the camera, of the largest or smallest thickness, with its position on the page. */
const visiblePoint = (page, softest) =>
  page.evaluate((softest) => {
    const { viewer } = window.dermis;
    const { active, stage } = viewer;
    const { camera, canvas } = stage;
    const at = viewer.positions(active);
    const { triangles, attributes, pointCount } = active.model;
    const thickness = attributes.get("tissue_thickness");
    const eye = camera.position.toArray();
    const facing = new Float32Array(pointCount).fill(1);
    const vector = (p) => [at[4 * p], at[4 * p + 1], at[4 * p + 2]];
    const minus = (a, b) => a.map((x, c) => x - b[c]);
    const dot = (a, b) => a.reduce((sum, x, c) => sum + x * b[c], 0);
    for (let i = 0; i < triangles.length; i += 3) {
      const [a, b, c] = [triangles[i], triangles[i + 1], triangles[i + 2]];
      const [u, v] = [minus(vector(b), vector(a)), minus(vector(c), vector(a))];
      const n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
      const to = minus(eye, vector(a));
      const cosine = dot(n, to) / Math.sqrt(dot(n, n) * dot(to, to));
      for (const p of [a, b, c]) facing[p] = Math.min(facing[p], cosine);
    }
    const box = canvas.getBoundingClientRect();
    const screen = Array.from({ length: pointCount }, (_, p) => {
      const q = camera.position.clone().fromArray(vector(p));
      const depth = q.distanceTo(camera.position);
      q.project(camera);
      return [box.left + ((q.x + 1) / 2) * box.width, box.top + ((1 - q.y) / 2) * box.height, depth];
    });
    const order = Array.from({ length: pointCount }, (_, p) => p).filter((p) => facing[p] > 0.75);
    order.sort((a, b) => (softest ? thickness[b] - thickness[a] : thickness[a] - thickness[b]));
    const open = (p) => {
      const [x, y, depth] = screen[p];
      return screen.every((q) => Math.hypot(q[0] - x, q[1] - y) > 9 || q[2] > depth - 0.03);
    };
    const point = order.find(open);
    return { point, x: screen[point][0], y: screen[point][1], thickness: thickness[point] };
  }, softest);

const pausedAt = async (page, frame) => {
  await page.evaluate(() => window.dermis.viewer.play(false));
  await setFrame(page, frame);
};

export const tissue = (shared) => {
  const { withPage, shot, dermis, files } = shared;
  const build = () => {
    if (!build.done) run(dermis, ["tissue", "build", "sample:body", "--mesher", "lattice", "-o", MODEL], files);
    build.done = true;
  };
  return {
    async "simulates flesh that can be pulled and poked"() {
      build();
      const rejected = spawnSync(dermis, ["view", MODEL, "--clip", "swimming"], { cwd: files, encoding: "utf8" });
      assert.equal(rejected.status, 2);
      assert.match(rejected.stderr, /no clip called 'swimming'[^]*'jumping_jacks', 'running'/);
      await withPage([MODEL, "--clip", "1"], async (page) => {
        await simulated(page);
        assert.equal(await page.evaluate(() => window.dermis.viewer.active.model.clip), 1);
        assert.ok(await page.evaluate(() => window.dermis.viewer.state.playing), "it starts playing");
        await page.waitForTimeout(2500);
        assert.match(
          await status(page),
          /real-time factor [\d.]+ · [\d.]+ ms per step, \d+ CG .* of \d+ elements simulated/,
        );
        console.log(`  ${await status(page)}`);
        assert.match(await page.locator(".heatbar .title").textContent(), /displacement from the pose \(m\)/);
        await shot(page, "tissue-motion");

        await pausedAt(page, 0);
        const rest = await still(page);
        const soft = await visiblePoint(page, true);
        await page.mouse.move(soft.x, soft.y);
        await page.mouse.down();
        for (let step = 1; step <= 6; step++) await page.mouse.move(soft.x + 12 * step, soft.y - 8 * step);
        await page.waitForTimeout(1200);
        const pulled = await positions(page);
        await shot(page, "tissue-pull");
        await page.mouse.up();
        const way = moved(rest, pulled, soft.point);
        assert.ok(way > 0.01, `the pull moves flesh by ${way} m`);
        const back = moved(rest, await still(page), soft.point);
        assert.ok(back < 0.1 * way, `${back} m of ${way} m remain`);
        console.log(
          `  pulled by ${(1000 * way).toFixed(1)} mm, ${(1000 * back).toFixed(2)} mm remain after the release`,
        );

        await hand(page, "poke");
        await page.mouse.move(soft.x, soft.y);
        await page.waitForTimeout(300);
        await shot(page, "tissue-ball");
        await page.mouse.down();
        await page.waitForTimeout(1200);
        const poked = moved(rest, await positions(page));
        await shot(page, "tissue-poke");
        await page.mouse.up();
        assert.ok(poked > 0.004, `the ball moves flesh by ${poked} m`);
        assert.ok(moved(rest, await still(page)) < 0.25 * poked, "it returns");
      });
    },

    async "flesh sags under gravity, less with a larger stiffness, and has heat maps"() {
      build();
      await withPage([MODEL], async (page) => {
        await simulated(page);
        await pausedAt(page, 0);
        const rest = await still(page);
        await slide(page, "gravity", 29.4);
        const sagged = moved(rest, await still(page));
        assert.ok(sagged > 0.005, `it sags by ${sagged} m`);
        await shot(page, "tissue-gravity");
        await slide(page, "stiffness", 0.7);
        const stiff = moved(rest, await still(page));
        assert.ok(stiff < 0.6 * sagged, `five times as stiff: ${stiff} m of ${sagged} m`);
        for (const [name, title] of [
          ["thickness", "thickness d"],
          ["stiffness", "Young's modulus (Pa)"],
          ["displacement", "displacement from the pose (m)"],
        ]) {
          await chooseHeat(page, name);
          await page.waitForFunction((t) => document.querySelector(".heatbar .title").textContent.trim() === t, title);
          assert.ok((await picture(page)).colored > 0.01, name);
          await shot(page, `tissue-${name}`);
        }
        await chooseHeat(page, "none");
        await page.waitForFunction(() => document.querySelector(".heatbar").hidden);
        await slide(page, "spin", 8);
        await page.waitForTimeout(800);
        await page.locator("[data-role=flesh-reset]").click();
        await page.keyboard.press("r");
        // An invalid message ends its connection and nothing else.
        const survives = await page.evaluate(async () => {
          const messages = [
            "nonsense",
            '{"pull": {"point": 99999999, "target": [0, 0, 0]}}',
            '{"pull": {"point": -1, "target": [0, 0, 0]}}',
            '{"pull": {"point": 0, "target": [1e30, 1e300, 0]}}',
            '{"pull": {"point": 0, "target": [0, 0]}}',
            '{"poke": {"center": [1e300, 0, 0], "radius": 1}}',
            '{"poke": {"center": [0, 0, 0], "radius": 1e300}}',
            '{"paint": {"point": 4294967295, "radius": 1, "value": 1}}',
            '{"paint": {"point": 0, "radius": 1e300, "value": 1}}',
            '{"frame": -1}',
            '{"frame": 1e300}',
            '{"set": "gravity", "value": 1e999}',
          ];
          const path = window.location.href.replace(/^http/, "ws") + "api/assets/0/live/tissue";
          const ended = messages.map(
            (message) =>
              new Promise((resolve) => {
                const socket = new WebSocket(path);
                socket.onmessage = () => socket.send(message);
                socket.onclose = () => resolve(true);
              }),
          );
          await Promise.all(ended);
          return (await fetch("api/scene")).ok;
        });
        assert.ok(survives);
        const before = await page.evaluate(() => window.dermis.stats.uploadedBytes);
        await page.waitForTimeout(800);
        assert.ok((await page.evaluate(() => window.dermis.stats.uploadedBytes)) > before, "the connection of the page continues");
      });
    },

    async "paints, simulates and saves a thicker layer"() {
      build();
      let painted = null;
      await withPage([MODEL, "-o", "painted.npz"], async (page) => {
        await simulated(page);
        await pausedAt(page, 0);
        const rest = await still(page);
        await slide(page, "gravity", 29.4);
        const before = await still(page);
        const hard = (painted = await visiblePoint(page, false));
        assert.ok(moved(rest, before, hard.point) < 1e-4, "it follows the bones");
        await hand(page, "paint");
        await page.locator("[data-tool=paint] [title=Thickness]").fill("2");
        await page.mouse.move(hard.x, hard.y);
        await page.mouse.down();
        for (let step = 0; step < 12; step++) await page.mouse.move(hard.x + (step % 3), hard.y + (step % 2));
        await page.mouse.up();
        assert.match(await page.locator(".heatbar .title").textContent(), /thickness d/);
        await page.waitForTimeout(800);
        await shot(page, "tissue-paint");
        const sagged = moved(rest, await still(page), hard.point);
        assert.ok(sagged > 2e-4, `rigid flesh moves by ${sagged} m`);
        await page.locator("[data-role=flesh-save]").click();
        await message(page, "Written: the painted");
        assert.ok(!(await page.evaluate(() => window.dermis.flesh.unsaved)));
      });
      await withPage(["painted.npz"], async (page) => {
        await simulated(page);
        await pausedAt(page, 0);
        const thickness = await page.evaluate(
          (point) => window.dermis.viewer.active.model.attributes.get("tissue_thickness")[point],
          painted.point,
        );
        assert.ok(thickness > 1.5, `painted from ${painted.thickness} to ${thickness}`);
        const [saved] = await Promise.all([
          page.waitForEvent("download"),
          page.locator("[data-role=flesh-save]").click(),
        ]);
        assert.equal(saved.suggestedFilename(), "painted-painted.npz");
      });
    },
  };
};
