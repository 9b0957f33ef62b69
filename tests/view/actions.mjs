// Actions of a user on the page, and access to its contents.

export const showView = (page, tag) => page.locator(`[data-view="${tag}"] button`).last().click();
export const setFrame = async (page, frame) => {
  await page.locator("[data-role=scrub]").fill(String(frame));
  await page.waitForFunction((f) => window.dermis.viewer.state.frame === f, frame);
};
export const setRank = (page, rank) => page.locator("[data-role=rank] input").fill(String(rank));
export const measure = (page, name) => page.locator(`[data-measure=${name}]`);
export const positions = (page) =>
  page.evaluate(() => {
    const { viewer } = window.dermis;
    return [...viewer.positions(viewer.active).subarray(0, 4 * viewer.active.model.pointCount)];
  });
export const center = async (page) => {
  const box = await page.locator(".stage canvas").first().boundingBox();
  return { x: box.x + box.width / 2, y: box.y + 0.48 * box.height };
};

/** Drops a file on the page. */
export const drop = (page, name, contents) =>
  page.evaluate(
    ([file, bytes]) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(bytes)], file));
      window.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    },
    [name, [...contents]],
  );

/** Waits for a message that contains `part`. */
export const message = (page, part) =>
  page.waitForFunction((text) => document.querySelector(".messages").textContent.includes(text), part, {
    timeout: 30_000,
  });

/** Draws a brush stroke at a position. */
export const stroke = async (page, at) => {
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  for (let step = 0; step < 6; step++) await page.mouse.move(at.x + 4 * step, at.y);
  await page.mouse.up();
};

/** Centre of a view that is shown side by side with others. */
export const cellCenter = async (page, number, count) => {
  const box = await page.locator(".stage canvas").first().boundingBox();
  return { x: box.x + ((number + 0.5) * box.width) / count, y: box.y + 0.48 * box.height };
};
