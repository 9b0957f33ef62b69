// Brush edits and saving them.

import assert from "node:assert/strict";
import { cellCenter, center, message, showView, stroke } from "./actions.mjs";
import { picture } from "./browser.mjs";
import { run } from "./inputs.mjs";

const save = (page) => page.locator("[data-role=save]").click();
const brush = (page, mode) => page.locator(`[data-brush=${mode}]`).click();
const untick = async (page, tag) => {
  for (const box of await page.locator(`[data-view="${tag}"] input`).all()) await box.uncheck();
};
const attributes = ({ dermis, files }, file) =>
  run(dermis, ["inspect", file], files).objects[0].attributes.map((name) => name.toLowerCase());

export const editing = (shared) => ({
  async "saves the sculpted shape and the painted attribute of the edited asset"() {
    const { withPage, fits } = shared;
    const [first, second] = fits.map((fit) => fit.output);
    await withPage([first, second, "--paint", "stiffness", "-o", "touched.glb"], async (page) => {
      await brush(page, "sculpt");
      await untick(page, "fit + corrections");
      await showView(page, "fit");
      await page.keyboard.press("2");
      assert.equal(await page.evaluate(() => window.dermis.viewer.active.model.info.label), second);
      await stroke(page, await cellCenter(page, 0, 2));
      assert.equal(await page.evaluate(() => window.dermis.viewer.active.model.info.label), first);
      await save(page);
      await message(page, `Written: the edited ${first}`);
      assert.deepEqual(attributes(shared, "touched.glb"), [], "only painted attributes are written");
      const joints = run(shared.dermis, ["inspect", "touched.glb"], shared.files).objects[0].joints;
      assert.equal(joints, 16, "the edited asset with 8 bones and their end joints, not the one that was active before");

      const before = await page.evaluate(() => [...window.dermis.viewer.active.model.rest]);
      await brush(page, "paint");
      await stroke(page, await cellCenter(page, 0, 2));
      await save(page);
      await page.waitForFunction(() => window.dermis.edits.unsaved.length === 0);
      assert.deepEqual(attributes(shared, "touched.glb"), ["stiffness"]);
      await withPage(["touched.glb"], async (other) => {
        const rest = await other.evaluate(() => [...window.dermis.viewer.active.model.rest]);
        const worst = rest.reduce((largest, value, i) => Math.max(largest, Math.abs(value - before[i])), 0);
        assert.ok(worst < 1e-5, `the sculpted shape is saved with the paint: ${worst}`);
      });
    });
  },

  async "warns about unsaved edits and undoes them"() {
    await shared.withPage([shared.fits[1].output, "-o", "guarded.glb"], async (page) => {
      await brush(page, "sculpt");
      const prevented = () =>
        page.evaluate(() => !window.dispatchEvent(new Event("beforeunload", { cancelable: true })));
      assert.ok(!(await prevented()) && (await page.locator("[data-role=save]").isDisabled()));
      await stroke(page, await center(page));
      assert.ok((await prevented()) && (await page.locator("[data-role=save]").isEnabled()));
      await page.keyboard.press("Control+z");
      assert.ok(!(await prevented()) && (await page.locator("[data-role=save]").isDisabled()));
    });
  },

  async "shows the brush cursor and reports that recorded frames cannot be displaced"() {
    await shared.withPage(shared.sampleAndFit, async (page) => {
      await brush(page, "sculpt");
      const at = await center(page);
      await page.mouse.move(at.x, at.y);
      await page.waitForFunction(() =>
        window.dermis.viewer.active.figure.group.children.some((part) => part.type === "LineLoop"),
      );
      assert.ok((await picture(page)).colored > 0.0005);
      await shared.shot(page, "ring");
      await showView(page, "original");
      await page.mouse.move(at.x, at.y);
      await page.mouse.down();
      await page.mouse.up();
      await message(page, "no rest pose");
    });
  },
});
