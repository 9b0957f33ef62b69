// Agreement of the page with its data: crowds, ranges, streams, edits, numbers and keys, also without a server.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { center, drop, message, positions, setFrame, showView, stroke } from "./actions.mjs";
import { difference, open, picture, serve } from "./browser.mjs";
import { run, writeSkins, writeTube } from "./inputs.mjs";

const state = (page, read) => page.evaluate(`((d) => { const { viewer, crowd, lives, edits } = d; return ${read}; })(window.dermis)`);
const until = async (page, read, timeout = 60_000) => {
  for (const end = Date.now() + timeout; !(await state(page, read)); await page.waitForTimeout(40))
    assert.ok(Date.now() < end, `not in ${timeout} ms: ${read}`);
};
const messages = (page) => page.locator(".messages").textContent();

/** Draws the crowd and returns the fraction of pixels that are brighter than the background. */
const crowdPicture = (page) =>
  page.evaluate(() => {
    const { viewer, crowd } = window.dermis;
    const gl = viewer.stage.renderer.getContext();
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const pixels = new Uint8Array(4 * width * height);
    const lit = () => {
      gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      let count = 0;
      for (let i = 0; i < pixels.length; i += 4) if (Math.max(pixels[i], pixels[i + 1], pixels[i + 2]) > 110) count++;
      return count / (width * height);
    };
    viewer.stage.draw([]);
    const empty = lit();
    for (let k = 0; k < 4; k++) crowd.draw(crowd.crowd, crowd.method);
    return lit() - empty;
  });

/** Position on the page of the point of the active view that is nearest to the camera. */
const nearest = (page) =>
  page.evaluate(() => {
    const { viewer } = window.dermis;
    const { camera, canvas } = viewer.stage;
    const positions = viewer.positions(viewer.active);
    const point = (p) => camera.position.clone().fromArray(positions, 4 * p);
    const distance = (p) => point(p).distanceTo(camera.position);
    const count = positions.length / 4;
    const best = Array.from({ length: count }, (_, p) => p).reduce((a, b) => (distance(b) < distance(a) ? b : a));
    const box = canvas.getBoundingClientRect();
    const q = point(best).project(camera);
    return { x: box.left + ((q.x + 1) / 2) * box.width - 10, y: box.top + ((1 - q.y) / 2) * box.height };
  });

const freePort = () =>
  new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });

/** Texts of visible elements that are cut at their right end. */
const cutTexts = (page, root) =>
  page.evaluate((selector) => {
    const cut = [];
    for (const element of document.querySelectorAll(`${selector} *`)) {
      const own = [...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
      if (!own || element.closest("[hidden], .visually-hidden, svg") || element.getClientRects().length === 0) continue;
      const style = getComputedStyle(element);
      const hides = style.overflowX !== "visible" && element.scrollWidth > element.clientWidth + 1;
      const box = element.getBoundingClientRect();
      const outside = box.right > document.documentElement.clientWidth + 1 || box.left < -1;
      if ((hides && !element.title) || outside) cut.push(element.textContent.trim().slice(0, 60));
    }
    for (const svg of document.querySelectorAll(`${selector} svg.plot`)) {
      const frame = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        if (box.width > 0 && (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 2))
          cut.push(`plot: ${text.textContent}`);
      }
    }
    return cut;
  }, root);

export const truth = (shared) => {
  const { withPage, shot, startLive, dermis, files, browser } = shared;
  const made = new Set();
  const once = (name, make) => {
    if (!made.has(name)) make();
    made.add(name);
    return name;
  };
  const tube = () =>
    once("tube.glb", () => {
      writeTube(files, "tube", 24, 12, 24);
      run(dermis, ["skin", "tube.pc2", "-o", "tube.glb", "--bones", "5", "--rank", "2", "--refine", "3"], files);
    });
  const coarse = () =>
    once("coarse.glb", () => {
      tube();
      run(dermis, ["skin", "tube.pc2", "-o", "coarse.glb", "--bones", "2", "--rank", "0", "--refine", "3"], files);
    });
  const flesh = () =>
    once("flesh.npz", () => run(dermis, ["tissue", "build", "sample:arm", "--mesher", "lattice", "-o", "flesh.npz"], files));

  return {
    async "a crowd of a streamed view is drawn, and 10,000 instances do not block the page"() {
      tube();
      await withPage(["tube.glb"], async (page) => {
        await startLive(page, "pose");
        await page.locator("[data-role=crowd-count] input").fill("12");
        await page.keyboard.press("c");
        await until(page, "crowd.crowd?.batches[0].streamed && crowd.facts.textContent.includes('pose of this frame')");
        const streamed = await crowdPicture(page);
        assert.ok(streamed > 0.01, `${streamed} of the picture`);
        assert.equal(await state(page, "crowd.crowd.stats.triangles"), 12 * (await state(page, "viewer.active.model.triangleCount")));
        await shot(page, "crowd-streamed");
        await showView(page, "fit + corrections");
        await page.locator("[data-role=crowd-count] input").fill("10000");
        await until(page, "crowd.crowd?.stats.instances === 10000 && crowd.times.length > 4", 120_000);
        const gap = await page.evaluate(async () => {
          let [last, largest] = [performance.now(), 0];
          for (const end = last + 3000; last < end; ) {
            await new Promise((resume) => setTimeout(resume, 10));
            largest = Math.max(largest, performance.now() - last);
            last = performance.now();
          }
          return largest;
        });
        const stats = await state(page, "crowd.crowd.stats");
        const drawn = stats.levels.reduce((sum, count) => sum + count, 0);
        assert.equal(drawn + stats.pictures + stats.hidden, 10_000);
        assert.ok(stats.pictures > 5000 && stats.hidden < 1000, JSON.stringify(stats));
        assert.ok((await crowdPicture(page)) > 0.02);
        console.log(`  ${await page.locator("[data-role=crowd-facts]").textContent()}`);
        console.log(`  longest interval without events: ${gap.toFixed(0)} ms`);
        assert.ok(gap < 1000, `the page is blocked for ${gap} ms`);
        await shot(page, "crowd-10000");
      });
    },

    async "measures the time per frame against the number of instances"() {
      tube();
      await withPage(["tube.glb"], async (page) => {
        await page.locator("[data-role=crowd-measure]").click();
        await until(page, "crowd.measured.length === 5 && !crowd.measuring", 180_000);
        const rows = await page.locator("[data-role=crowd-times] tr").allInnerTexts();
        for (const row of rows) console.log(`  ${row.replace(/\s+/g, " ")}`);
        const measured = await state(page, "crowd.measured");
        assert.deepEqual(measured.map(({ instances }) => instances), [1, 10, 100, 1000, 10_000]);
        const isTimed = measured.every(({ ms }) => ms.levels > 0) && measured[0].ms.uploads > 0 && measured[0].ms.full > 0;
        assert.ok(isTimed, JSON.stringify(measured));
      });
    },

    async "colour ranges follow the values of the clip and have round numbers"() {
      await withPage(["sample:arm"], async (page) => {
        await setFrame(page, 0);
        await startLive(page, "volume");
        await page.locator("[data-role=heat]").selectOption("live");
        const high = () => state(page, "viewer.rangeIn(viewer.active).high");
        const size = await state(page, "viewer.active.model.info.diagonal");
        const still = await high();
        assert.ok(still < 0.01 * size, `a still frame has the range ${still} of a body of ${size}`);
        await setFrame(page, 70);
        await until(page, "lives.at(-1).shown === 70");
        const bent = await high();
        assert.ok(bent > still, `${bent} after ${still}`);
        await setFrame(page, 0);
        await until(page, "lives.at(-1).shown === 0");
        assert.equal(await high(), bent, "the range is that of all frames");
        await page.locator("[data-role=heat-range]").selectOption("all");
        assert.ok((await high()) >= bent);
        const ticks = () => page.locator(".ticks span").allTextContents();
        for (const text of await ticks()) assert.match(text, /^(≥ |≤ )?-?\d+(\.\d{1,4})?(e-?\d+)?$/);
        await setFrame(page, 70);
        await until(page, "lives.at(-1).shown === 70");
        const linear = await picture(page);
        await shot(page, "heat-range");
        await page.locator("[data-role=heat-log] input").check();
        const log = await picture(page);
        assert.ok(difference(linear, log) > 0.002, "a logarithmic scale shows small values");
        await shot(page, "heat-log");
        await page.locator("[data-role=heat-map]").selectOption("purple to green");
        assert.ok(difference(log, await picture(page)) > 0.002, "another colour map");
        await page.locator("[data-parameter=on] select").selectOption("0");
        await until(page, "viewer.liveScalars.get(viewer.active.id).statistics.extent.all === 0");
        await page.locator("[data-role=heat-range]").selectOption("most");
        assert.ok((await high()) <= still, "the range shrinks");
      });
      tube();
      await withPage(["tube.pc2", "tube.glb"], async (page) => {
        await until(page, "viewer.measures.size > 1");
        const plain = await brightness(page);
        await page.keyboard.press("h");
        await until(page, "!document.querySelector('.heatbar').hidden");
        await shot(page, "heat-error");
        const largest = "Math.max(...[0, 2].map((rank) => viewer.measured(viewer.active.model, rank).max_error))";
        assert.ok(await state(page, `viewer.errorRange().high <= 1.3 * ${largest}`));
        const field = page.locator("[data-role=heat-high]");
        await field.fill("1000");
        await field.press("Enter");
        const good = await brightness(page);
        assert.ok(good > plain, `a good fit is light: ${good}, without a heat map ${plain}`);
        assert.equal(await page.locator("[data-role=heat-range]").inputValue(), "fixed");
        await shot(page, "heat-light");
      });
    },

    async "streamed views show the frame of the timeline"() {
      tube();
      const server = await serve(dermis, ["tube.glb"], files);
      const late = () => {
        // Messages of the server arrive late, as over a slow connection.
        const native = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
        Object.defineProperty(WebSocket.prototype, "onmessage", {
          ...native,
          set(act) {
            native.set.call(this, (event) => setTimeout(() => act(event), 120));
          },
        });
      };
      const { page, problems } = await open(browser, server.url, undefined, late);
      try {
        await startLive(page, "pose");
        await page.evaluate(() => window.dermis.viewer.play(true));
        const seen = await page.evaluate(async () => {
          const { viewer, lives } = window.dermis;
          const fit = viewer.views.find((view) => view.tag === "fit + corrections");
          const results = [];
          for (let k = 0; k < 40 || (k < 400 && new Set(results.map(({ frame }) => frame)).size < 5); k++) {
            await new Promise((resume) => setTimeout(resume, 50));
            const [a, b] = [viewer.positions(viewer.active).slice(), viewer.positions(fit)];
            const worst = a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
            results.push({ frame: viewer.state.frame, shown: lives.at(-1).shown, worst });
          }
          return results;
        });
        assert.ok(new Set(seen.map(({ frame }) => frame)).size > 4, "the clock runs");
        for (const { frame, shown, worst } of seen) {
          assert.equal(shown, frame);
          assert.ok(worst < 1e-3, `frame ${frame} is off by ${worst}`);
        }
        await page.evaluate(() => window.dermis.viewer.play(false));
        // A frame that arrives after another one has been chosen is dropped.
        await page.evaluate(async () => {
          const { viewer } = window.dermis;
          for (const frame of [3, 9, 15]) {
            viewer.setFrame(frame);
            await new Promise((resume) => setTimeout(resume, 60));
          }
        });
        await until(page, "lives.at(-1).shown === 15");
        assert.ok((await state(page, "lives.at(-1).dropped")) > 0);
      } finally {
        await page.close();
        await server.stop();
      }
      assert.deepEqual(problems, []);
    },

    async "reports a stopped server within two seconds and connects again"() {
      flesh();
      const port = String(await freePort());
      let server = await serve(dermis, ["flesh.npz", "--port", port], files);
      const { page, problems } = await open(browser, server.url);
      try {
        await until(page, "viewer.active?.tag === 'simulated' && lives[0].shown >= 0", 90_000);
        await until(page, "viewer.state.playing");
        await page.locator("[data-parameter=gravity] input").fill("9.8");
        await server.stop();
        const stopped = Date.now();
        await message(page, "The server has stopped");
        const after = Date.now() - stopped;
        console.log(`  reported after ${after} ms`);
        assert.ok(after < 2000, `${after} ms`);
        assert.ok(!(await state(page, "viewer.state.playing")), "the clock stops");
        const frame = await state(page, "viewer.state.frame");
        await page.waitForTimeout(500);
        assert.equal(await state(page, "viewer.state.frame"), frame);
        await shot(page, "server-gone");
        server = await serve(dermis, ["flesh.npz", "--port", port], files);
        await message(page, "The server is back");
        const uploaded = await state(page, "d.stats.uploadedBytes");
        await until(page, `lives[0].greetings === 2 && d.stats.uploadedBytes > ${uploaded}`);
        assert.equal(await page.locator("[data-parameter=gravity] output").textContent(), "9.8", "settings are kept");
        assert.ok(!(await messages(page)).includes("has stopped"));
      } finally {
        await page.close();
        await server.stop();
      }
      assert.deepEqual(problems.filter((problem) => !/ERR_|WebSocket/.test(problem)), []);
    },

    async "shows all meshes, bones and clips of a file with several skins"() {
      writeSkins(files, "skins");
      await withPage(["skins.gltf"], async (page) => {
        const info = await state(page, "viewer.active.model.info");
        assert.deepEqual(
          [info.points, info.clips.map(({ name }) => name), info.bones.filter((bone) => /root|tip/.test(bone.name)).length],
          [2 * 56 + 8, ["bend", "nod"], 4],
        );
        const bent = async (clip) => {
          await page.locator("select[title=Clip]").selectOption(clip);
          await until(page, `viewer.active.model.clip === ${clip}`);
          await setFrame(page, 0);
          const rest = await positions(page);
          await setFrame(page, 12);
          const now = await positions(page);
          const moved = (from, to) => now.slice(4 * from, 4 * to).some((value, i) => Math.abs(value - rest[4 * from + i]) > 0.05);
          return [moved(0, 56), moved(56, 112), moved(112, 120)];
        };
        const all = [await bent("0"), await bent("1")];
        assert.deepEqual(all, [[true, true, false], [false, true, false]]);
        await page.keyboard.press("b");
        await shot(page, "skins");
        assert.ok((await picture(page)).lit > 0.02);
      });
    },

    async "undoes and redoes all edits and keeps them over a reload"() {
      tube();
      await withPage(["tube.glb", "--paint", "mask", "-o", "kept.glb", "--force"], async (page, server) => {
        page.on("dialog", (dialog) => void dialog.accept());
        const values = () =>
          page.evaluate(() => {
            const { viewer } = window.dermis;
            const { model } = viewer.active;
            return [[...model.rest], [...(viewer.paints.get(model) ?? [])]];
          });
        const [untouched] = await values();
        await stroke(page, await center(page));
        await page.locator("[data-brush=sculpt]").click();
        await stroke(page, await center(page));
        const edited = await values();
        assert.notDeepEqual(edited[0], untouched);
        assert.ok(edited[1].some((value) => value > 0));
        await page.keyboard.press("Control+z");
        assert.deepEqual((await values())[0], untouched);
        await page.keyboard.press("Control+z");
        assert.ok((await values())[1].every((value) => value === 0));
        await page.keyboard.press("Control+Shift+Z");
        await page.keyboard.press("Control+y");
        assert.deepEqual(await values(), edited);
        await page.waitForTimeout(600);
        await page.reload();
        await page.waitForFunction(() => window.dermis?.edits);
        await message(page, "restored");
        assert.deepEqual(await values(), edited);
        // A second page warns, and its save does not replace that of the first by accident.
        const { page: second } = await open(browser, server.url);
        await stroke(second, await center(second));
        for (const one of [page, second]) await message(one, "2 pages");
        await page.bringToFront();
        await page.locator("[data-role=save]").click();
        await message(page, "Written");
        await second.bringToFront();
        await second.locator("[data-role=save]").click();
        await message(second, "another page has saved");
        await shot(second, "second-page");
        await second.locator("[data-role=save]").click();
        await message(second, "Written");
        await second.close();
        await page.bringToFront();
        await page.waitForTimeout(500);
        await page.reload();
        await page.waitForFunction(() => window.dermis?.edits);
        await page.waitForTimeout(300);
        assert.ok(!(await messages(page)).includes("restored"), "saved edits are not kept as drafts");
      }, undefined, /409/);
    },

    async "undoes painted thickness and keeps it over a reload"() {
      flesh();
      await withPage(["flesh.npz"], async (page) => {
        page.on("dialog", (dialog) => void dialog.accept());
        await until(page, "viewer.active?.tag === 'simulated' && lives[0].shown >= 0", 90_000);
        await page.evaluate(() => window.dermis.viewer.play(false));
        await setFrame(page, 0);
        await page.locator("[data-flesh=paint]").click();
        const most = () => state(page, "viewer.liveScalars.get(viewer.active.id)?.statistics.extent.all ?? 0");
        await until(page, "viewer.liveScalars.get(viewer.active.id)?.label === 'thickness d'");
        const before = await most();
        await page.locator("[data-tool=paint] [title=Thickness]").fill("2");
        await stroke(page, await nearest(page));
        assert.equal(await state(page, "lives[0].painted.length"), 1);
        await until(page, `viewer.liveScalars.get(viewer.active.id).statistics.extent.all > ${before} + 0.02`);
        await page.waitForTimeout(1500);
        const painted = await most();
        await page.keyboard.press("Control+z");
        await until(page, `Math.abs(viewer.liveScalars.get(viewer.active.id).statistics.extent.all - ${before}) < 1e-4`);
        await page.keyboard.press("Control+y");
        await until(page, `Math.abs(viewer.liveScalars.get(viewer.active.id).statistics.extent.all - ${painted}) < 1e-4`);
        await page.waitForTimeout(600);
        await page.reload();
        await page.waitForFunction(() => window.dermis?.edits);
        await message(page, "restored");
        assert.equal(await state(page, "lives[0].painted.length"), 1);
      });
    },

    async "drops balls on the moving skin"() {
      await withPage(["sample:arm"], async (page) => {
        await startLive(page, "balls");
        await until(page, "viewer.active.tag === 'with balls' && viewer.state.playing");
        const status = () => page.locator("[data-role=live-status]").textContent();
        let contacts = 0;
        for (const end = Date.now() + 40_000; contacts === 0 && Date.now() < end; await page.waitForTimeout(60))
          contacts = Number(/^(\d+) contacts/.exec(await status())?.[1] ?? 0);
        assert.ok(contacts > 0, await status());
        await shot(page, "balls");
        const before = await picture(page);
        await page.waitForTimeout(800);
        assert.ok(difference(before, await picture(page)) > 0.001, "the balls move");
      });
    },

    async "shows stored light under a rotating sun"() {
      run(dermis, ["light", tube(), "--rays", "64", "--rank", "6", "-o", "lit.glb", "--transfer", "lit.npz"], files);
      await withPage(["lit.glb", "--light", "lit.npz"], async (page) => {
        await startLive(page, "light");
        await page.evaluate(() => window.dermis.viewer.play(false));
        const status = () => page.locator("[data-role=live-status]").textContent();
        assert.match(await status(), /^sun at \d+°, rank 6 of 6/);
        const before = await picture(page);
        assert.ok(before.lit > 0.01);
        await page.waitForTimeout(2500);
        assert.ok(difference(before, await picture(page)) > 0.003, "the light moves while the pose is fixed");
        await shot(page, "light");
      });
    },

    async "compares fits at the same rank, opens on the best and shows all errors of dropped files"() {
      coarse();
      await withPage(["tube.pc2", "coarse.glb", "tube.glb"], async (page) => {
        await until(page, "document.querySelectorAll('.ladder .step').length === 2 && viewer.active.model.info.label === 'tube.glb'");
        assert.equal(await state(page, "viewer.active.tag"), "fit + corrections");
        const rows = await page.locator(".ladder .step .row").allTextContents();
        assert.deepEqual(rows.map((row) => row.replace(/^\d+ bones, /, "")), ["rank 0 of 0", "rank 0 of 2"]);
        assert.match(await page.locator(".ladder h3").textContent(), /at rank 0/);
        const shown = (await page.locator(".ladder .step span").allTextContents()).map(parseFloat);
        const expected = await state(page, "viewer.models.slice(1).map((m) => Number(viewer.measured(m, 0).text.distortion_percent))");
        assert.deepEqual(shown, expected);
        await page.evaluate(() => {
          const data = new DataTransfer();
          for (const name of ["broken.glb", "other.glb", "picture.png"]) data.items.add(new File(["no"], name));
          window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        });
        await message(page, "0 of 3 files added");
        const text = await messages(page);
        for (const name of ["broken.glb", "other.glb", "picture.png"]) assert.ok(text.includes(`${name}:`), text);
        assert.equal(await page.locator(".message.error[role=alert]").count(), 4);
        await page.keyboard.press("h");
        for (const width of [1024, 1280]) {
          await page.setViewportSize({ width, height: 720 });
          await page.waitForTimeout(300);
          await shot(page, `page-${width}`);
          assert.deepEqual(await cutTexts(page, "body"), [], `${width} pixels`);
        }
      }, undefined, /422/);
      run(dermis, ["report", "coarse.glb", "tube.glb", "--sequence", "tube.pc2", "-o", "ladder.html"], files);
      const context = await browser.newContext({ viewport: { width: 1024, height: 800 } });
      const report = await context.newPage();
      await report.goto(pathToFileURL(join(files, "ladder.html")).href);
      await report.waitForFunction(() => window.dermis?.viewer.measures.size > 0, null, { timeout: 60_000 });
      assert.deepEqual(await cutTexts(report, "#report"), [], "report at 1024 pixels");
      await shot(report, "report-1024");
      await report.emulateMedia({ media: "print" });
      await report.setViewportSize({ width: 700, height: 900 });
      assert.deepEqual(await cutTexts(report, "#report"), [], "printed report");
      await report.screenshot({ path: join(files, "..", "report-print.png"), fullPage: true });
      await context.close();
    },

    async "controls can be used with the keyboard and have names"() {
      tube();
      await withPage(["tube.pc2", "tube.glb"], async (page) => {
        const focus = (selector) => page.locator(selector).first().focus();
        await focus(".grid2 input");
        await page.keyboard.press("Space");
        assert.deepEqual(await state(page, "[viewer.state.playing, viewer.state.look.wireframe]"), [false, true]);
        await focus("[data-role=rank] input");
        const [rank, frame] = await state(page, "[viewer.state.rank, viewer.state.frame]");
        await page.keyboard.press("ArrowLeft");
        assert.deepEqual(await state(page, "[viewer.state.rank, viewer.state.frame]"), [rank - 1, frame]);
        await page.keyboard.press("Space");
        assert.ok(await state(page, "viewer.state.playing"), "Space on a slider plays");
        await page.keyboard.press("Space");
        await focus(".play");
        await page.keyboard.press("Space");
        assert.ok(await state(page, "viewer.state.playing"), "Space presses the focused button once");
        await page.keyboard.press("Enter");
        assert.ok(!(await state(page, "viewer.state.playing")));
        const unnamed = await page.evaluate(() =>
          [...document.querySelectorAll("button, input, select")]
            .filter((control) => {
              const label = [...(control.labels ?? [])].map((one) => one.textContent).join("");
              const text = control.ariaLabel || control.title || label || (control.tagName === "BUTTON" ? control.textContent : "");
              return !text.trim();
            })
            .map((control) => control.outerHTML.slice(0, 90)),
        );
        assert.deepEqual(unnamed, []);
        const boxes = await page.locator(".view input").evaluateAll((all) => all.map((box) => box.ariaLabel));
        assert.equal(new Set(boxes).size, boxes.length, boxes.join());
        assert.equal(await page.locator(".messages[role=status][aria-live=polite]").count(), 1);
        await page.keyboard.press("Tab");
        const outline = await page.evaluate(() => {
          const style = getComputedStyle(document.activeElement);
          return [style.outlineStyle, parseFloat(style.outlineWidth)];
        });
        assert.ok(outline[0] === "solid" && outline[1] >= 2, `the focus is visible: ${outline}`);
        await page.keyboard.press("?");
        assert.equal(await page.evaluate(() => document.activeElement.textContent), "Close");
        await page.keyboard.press("Escape");
        assert.ok(await page.locator("[data-role=help]").isHidden());
      });
    },
  };
};

/** Mean brightness of the pixels of the surface. */
const brightness = (page) =>
  page.evaluate(() => {
    const { viewer } = window.dermis;
    viewer.draw();
    const gl = viewer.stage.renderer.getContext();
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const pixels = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    let [sum, count] = [0, 0];
    for (let i = 0; i < pixels.length; i += 4) {
      const most = Math.max(pixels[i], pixels[i + 1], pixels[i + 2]);
      if (most <= 110) continue;
      sum += most;
      count++;
    }
    return sum / Math.max(count, 1);
  });
