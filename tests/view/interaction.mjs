// Interaction of the components of the page: views, time, error, crowd, dropped files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { center, drop, measure, positions, message, setFrame, setRank, showView } from "./actions.mjs";
import { difference, picture } from "./browser.mjs";
import { run } from "./inputs.mjs";

const state = (page, read) => page.evaluate(`(({ viewer, crowd }) => ${read})(window.dermis)`);
/** Waits until an expression is true. The content security policy of the page forbids `waitForFunction` with text. */
const until = async (page, read, timeout = 30_000) => {
  for (const end = Date.now() + timeout; !(await state(page, read)); await page.waitForTimeout(30))
    assert.ok(Date.now() < end, `not in ${timeout} ms: ${read}`);
};

export const interaction = ({ withPage, shot, dermis, files, fits, sampleAndFit }) => ({
  async "an empty page shows dropped files"() {
    await withPage([], async (page) => {
      await message(page, "drop a file");
      await page.keyboard.press("c");
      assert.ok(!(await page.locator("[data-role=crowd] input").isChecked()));
      await drop(page, "fit.glb", readFileSync(join(files, fits[1].output)));
      await until(page, "viewer.views.length === 2 && viewer.stage && window.dermis.stats.firstPictureMs !== null");
      await until(page, "viewer.active.tag === 'fit + corrections'");
      await page.waitForTimeout(500);
      const canvas = page.locator(".stage canvas").first();
      assert.ok((await canvas.screenshot()).length > 20_000, "the canvas shows something");
      await shot(page, "dropped");
    });
  },

  async "compares a fit with the motion that it reproduces"() {
    run(dermis, ["convert", "sample:gallop", "late.npz", "--frames", "24:"], files);
    run(dermis, ["convert", "sample:gallop", "early.npz", "--frames", ":24"], files);
    const two = ["skin", "early.npz", "late.npz", "-o", "two.glb", "--bones", "8", "--rank", "0"];
    run(dermis, two, files);
    await withPage(["late.npz", "early.npz", "two.glb"], async (page) => {
      const errors = [];
      for (const [clip, expected] of [
        ["0", "early.npz"],
        ["1", "late.npz"],
      ]) {
        await page.locator("select[title=Clip]").selectOption(clip);
        await page.waitForFunction(
          (text) => document.querySelector("[data-role=reference]").textContent === `compared with ${text}`,
          expected,
        );
        await page.waitForFunction(() =>
          /\d/.test(document.querySelector("[data-measure=max_error]")?.textContent ?? ""),
        );
        errors.push(Number(await measure(page, "max_error").textContent()));
      }
      const diagonal = await state(page, "viewer.active.model.info.diagonal");
      assert.ok(Math.max(...errors) < 0.15 * diagonal, `${errors} of ${diagonal}: each clip reproduces its own motion`);
    });
  },

  async "the colour bar includes the largest shown error"() {
    await withPage(["sample:gallop", ...fits.map((fit) => fit.output)], async (page) => {
      await page.keyboard.press("h");
      await page.locator("[data-role=heat-range]").selectOption("all");
      for (const rank of [5, 1]) {
        await setRank(page, rank);
        await until(
          page,
          "viewer.models.slice(1).every((m) => [0, viewer.state.rank].every((r) => viewer.measured(m, r)))",
        );
        assert.ok(
          await state(
            page,
            "viewer.errorRange().high >= viewer.measured(viewer.active.model, viewer.state.rank).max_error",
          ),
        );
        assert.ok(!(await page.locator(".ticks").textContent()).includes("≥"));
      }
      const field = page.locator("[data-role=heat-high]");
      await field.fill("0.001");
      await field.press("Enter");
      assert.match(await page.locator(".ticks span").last().textContent(), /^≥ 0\.001/);
      await field.fill("abc");
      await field.press("Enter");
      assert.match(await field.inputValue(), /^[\d.]+$/);
      await page.keyboard.press("w");
      assert.ok(await state(page, "viewer.state.look.wireframe"), "the keys work after a text field");
    });
  },

  async "a crowd follows the active view, mixes ticked views and ends side by side"() {
    await withPage([...sampleAndFit, fits[0].output], async (page) => {
      await page.locator("[data-role=crowd-count] input").fill("5");
      await showView(page, "fit");
      await page.keyboard.press("c");
      await until(page, "crowd.crowd?.batches.length === 2 && crowd.crowd.leader === viewer.active");
      await page.keyboard.press("h");
      await message(page, "without lines and colours");
      assert.ok(await page.locator("[data-role=heat]").evaluate((select) => select.closest("[inert]") !== null));
      await until(page, "document.querySelector('[data-role=crowd-facts]').textContent.includes('frames/s')", 90_000);
      await shot(page, "mixed-crowd");
      await showView(page, "original");
      await until(page, "crowd.crowd?.leader.tag === 'original' && crowd.crowd.batches.length === 1");
      await page.keyboard.press("2");
      await until(page, "crowd.crowd === null && viewer.state.split");
      assert.ok(!(await page.locator("[data-role=crowd] input").isChecked()));
      assert.equal(await page.locator("[inert]").count(), 0);
    });
  },

  async "bones are a tree of octahedra; a click on one shows its weights"() {
    const tree = ["skin", "sample:gallop", "-o", "tree.glb", "--bones", "8", "--refine", "6", "--frames", "::8", "--skeleton"];
    run(dermis, tree, files);
    await withPage(["tree.glb"], async (page) => {
      await until(page, "viewer.active && window.dermis.stats.firstPictureMs !== null");
      const panel = page.locator("[data-role=bones]");
      assert.equal(await panel.locator(".row").count(), 8, "end joints are not shown");
      assert.ok((await panel.locator("details").count()) > 0, "the joints are a tree");
      const visible = () => panel.locator(".row:visible").count();
      assert.equal(await visible(), 8);
      await panel.locator("details").first().evaluate((details) => (details.open = false));
      assert.equal(await visible(), 1, "the root is collapsed");
      await panel.locator("details").first().evaluate((details) => (details.open = true));
      const before = await picture(page);
      await page.keyboard.press("b");
      await page.waitForTimeout(300);
      assert.ok(difference(before, await picture(page)) > 0, "bones are drawn");
      await shot(page, "octahedra");
      await panel.locator(".row").nth(3).click();
      await until(page, "viewer.state.heat === 'weight'");
      assert.equal(await panel.locator(".row.active").count(), 1);
      const bone = await state(page, "viewer.state.bone");
      const at = await state(
        page,
        `(() => {
          const { model } = viewer.active;
          const other = model.info.bones.findIndex((info, at) => at !== ${bone} && !info.is_end && info.tail);
          const { anchor, tail } = model.info.bones[other];
          const middle = viewer.stage.camera.position.clone().set(...anchor.map((x, c) => 0.5 * (x + tail[c])));
          const ndc = model.poseWithBone(other, viewer.frameOf(viewer.active), middle).project(viewer.stage.camera);
          const box = viewer.stage.canvas.getBoundingClientRect();
          return [box.left + (0.5 + 0.5 * ndc.x) * box.width, box.top + (0.5 - 0.5 * ndc.y) * box.height];
        })()`,
      );
      await page.mouse.click(...at);
      await until(page, `viewer.state.bone !== ${bone}`);
    });
  },

  async "the vertex panel can be used during playback"() {
    await withPage(sampleAndFit, async (page) => {
      await showView(page, "fit + corrections");
      const at = await center(page);
      await page.mouse.click(at.x, at.y);
      await page.waitForFunction(() => document.querySelector(".point .plot path"));
      await page.evaluate(() => (window.kept = document.querySelector(".point .step button")));
      const [position, mark] = [page.locator("[data-role=point]"), page.locator(".point .mark")];
      const before = [await position.textContent(), await mark.getAttribute("x1")];
      await page.keyboard.press("Space");
      await until(page, "viewer.state.frame > 3");
      assert.ok(await page.evaluate(() => window.kept.isConnected), "the rows are not recreated every frame");
      assert.notEqual(await position.textContent(), before[0]);
      assert.notEqual(await mark.getAttribute("x1"), before[1]);
      await page.locator(".point .step button").first().click();
      await until(page, "viewer.state.heat === 'weight'");
    });
  },

  async "playback continues from the selected frame"() {
    await withPage([fits[0].output], async (page) => {
      await page.evaluate(() => (window.dermis.viewer.state.fps = 2));
      await setFrame(page, 30);
      await page.keyboard.press("Space");
      await page.keyboard.press("Home");
      await until(page, "viewer.state.frame > 0");
      assert.ok((await state(page, "viewer.state.frame")) < 10, "Home returns to the first frame during playback");
      await page.keyboard.press("Space");
      await page.keyboard.press("l");
      await page.keyboard.press("End");
      await page.keyboard.press("Space");
      assert.deepEqual(await state(page, "[viewer.state.playing, viewer.state.frame < 10]"), [true, true]);
      await page.keyboard.press("Space");
      const short = "viewer.frameOf({ ...viewer.active, model: { motion: () => ({ frames: 20 }) } })";
      await setFrame(page, 45);
      assert.equal(await state(page, short), 19, "without looping a shorter motion stops at its end");
      await page.keyboard.press("l");
      assert.equal(await state(page, short), 5, "with looping it repeats");
    });
  },

  async "shows a dropped file of any size and ticks only its views"() {
    await withPage([fits[0].output], async (page) => {
      await page.locator(".view input").first().uncheck();
      const corners = ["0 0 0", "90 0 0", "0 90 0"].map((corner) => `v ${corner}\n`).join("");
      await drop(page, "large.obj", Buffer.from(`${corners}f 1 2 3\n`));
      await until(page, "viewer.active?.model.info.label === 'large.obj'");
      assert.deepEqual(await page.locator(".view input").evaluateAll((boxes) => boxes.map((box) => box.checked)), [
        false,
        true,
        true,
      ]);
      const names = await page.locator(".view .row").allTextContents();
      assert.ok(
        names.every((name) => / · /.test(name)),
        names.join(),
      );
      assert.ok((await picture(page)).lit > 0.05);
      await showView(page, "fit");
      await page.keyboard.press("f");
      assert.ok((await picture(page)).lit > 0.03, "F frames the shown views only");
    });
  },

  async "side by side shows all ticked views and names the measured one"() {
    await withPage(["sample:gallop", ...fits.map((fit) => fit.output)], async (page) => {
      await page.keyboard.press("2");
      const labels = await page.locator(".labels span").allTextContents();
      assert.equal(labels.length, 5, labels.join());
      assert.equal(await page.locator(".labels .active").count(), 1);
      assert.equal(await page.locator(".view .row.active").count(), 1);
      const name = await page.locator("[data-role=measured]").textContent();
      assert.ok((await page.locator(".labels .active").textContent()).startsWith(name), name);
      await page.waitForTimeout(400);
      await shot(page, "five");
      const same = await page.evaluate(() => {
        const { models, state } = window.dermis.viewer;
        Object.assign(state, { bone: 3, boneModel: models[1] });
        const found =
          models[2].info.bones[window.dermis.viewer.boneIn(models[2])]?.name ?? models[1].info.bones[3].name;
        return found === models[1].info.bones[3].name;
      });
      assert.ok(same, "bones of different assets are matched by name only");
      await showView(page, "fit");
      assert.deepEqual(await state(page, "[viewer.state.split, viewer.active.tag]"), [false, "fit"]);
      await page.keyboard.press("2");
      await page.keyboard.press("x");
      assert.equal(await page.locator(".labels span").count(), 1, "a flip ends side by side");
    });
  },

  async "shows no error without a reference"() {
    await withPage([fits[0].output], async (page) => {
      await page.keyboard.press("h");
      await message(page, "no recorded motion");
      assert.ok(await page.locator(".heatbar").isHidden());
      assert.equal(await page.locator("[data-role=heat]").inputValue(), "none");
      await page.locator("[data-role=heat]").selectOption("bones");
      const before = await picture(page);
      await page.keyboard.press("w");
      assert.ok(difference(before, await picture(page)) > 0.0005, "the keys work after selecting from a list");
    });
  },

  async "disables playback and crowd for a static shape"() {
    await withPage([], async (page) => {
      await drop(page, "triangle.obj", Buffer.from("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"));
      await until(page, "viewer.views.length === 1");
      for (const selector of [".play", "[data-role=crowd] input", ".buttons .toggle input"])
        assert.ok(await page.locator(selector).first().isDisabled(), selector);
      assert.equal(await page.locator("aside.right h2:visible").first().textContent(), "Shape");
      await page.keyboard.press("Space");
      assert.ok(!(await state(page, "viewer.state.playing")));
    });
  },

  async "reports that the server has stopped"() {
    const problems = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
    await withPage(
      sampleAndFit,
      async (page, server) => {
        await until(page, "viewer.measures.size > 0");
        await server.stop();
        await setRank(page, 3);
        await message(page, "the server has stopped");
        await page.waitForFunction(
          () => document.querySelector("[data-measure=distortion_percent]")?.textContent === "–",
        );
        assert.ok((await positions(page)).length > 0, "loaded data remain available");
      },
      undefined,
      problems,
    );
  },
});
