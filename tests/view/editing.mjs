// The brush and what is saved of it.

import assert from "node:assert/strict";
import { cellCenter, center, said, showView, stroke } from "./actions.mjs";
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
  async "what is saved is what was touched, sculpted and painted"() {
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
      await said(page, `Written: the edited ${first}`);
      assert.deepEqual(attributes(shared, "touched.glb"), [], "what was not painted is not written");
      const bones = run(shared.dermis, ["inspect", "touched.glb"], shared.files).objects[0].joints;
      assert.equal(bones, 8, "the asset under the brush, not the one that was active");

      const before = await page.evaluate(() => [...window.dermis.viewer.active.model.rest]);
      await brush(page, "paint");
      await stroke(page, await cellCenter(page, 0, 2));
      await save(page);
      await page.waitForFunction(() => window.dermis.brush.unsaved.size === 0);
      assert.deepEqual(attributes(shared, "touched.glb"), ["stiffness"]);
      await withPage(["touched.glb"], async (other) => {
        const rest = await other.evaluate(() => [...window.dermis.viewer.active.model.rest]);
        const worst = rest.reduce((most, value, i) => Math.max(most, Math.abs(value - before[i])), 0);
        assert.ok(worst < 1e-5, `the sculpted shape is kept beside the paint: ${worst}`);
      });
    });
  },

  async "edits are guarded and undone"() {
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

  async "a ring shows where the brush would touch, and the original says that it cannot be displaced"() {
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
      await said(page, "no rest pose");
    });
  },
});
