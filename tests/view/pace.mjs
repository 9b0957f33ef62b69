// Time per picture of two builds of dermis, measured in turns in one run. Usage: node pace.mjs OLD NEW FILE…

import { launch, open, serve } from "./browser.mjs";

const [old, current, ...inputs] = process.argv.slice(2);
const ROUNDS = 5;
const PICTURES = 12;

/** Median of the times of pictures of consecutive frames, in milliseconds, after all that happens only once. */
const measure = (page) =>
  page.evaluate((pictures) => {
    const { viewer } = window.dermis;
    const draw = (frame) => {
      viewer.setFrame(frame);
      const began = performance.now();
      viewer.draw();
      viewer.stage.finish();
      return performance.now() - began;
    };
    for (let i = 0; i < 6; i++) draw(i);
    const times = Array.from({ length: pictures }, (_, i) => draw(i + 6)).sort((a, b) => a - b);
    return times[pictures >> 1];
  }, PICTURES);

const browser = await launch();
const builds = { old, current };
const times = { old: [], current: [] };
const pages = {};
for (const [name, dermis] of Object.entries(builds)) {
  const server = await serve(dermis, inputs);
  const { page } = await open(browser, server.url);
  await page.waitForTimeout(1500);
  pages[name] = { page, server };
}
const quality = await pages.current.page.evaluate(() => window.dermis.viewer.stage.drawnQuality);
for (let round = 0; round < ROUNDS; round++) {
  for (const name of Object.keys(builds)) times[name].push(await measure(pages[name].page));
}
for (const { page, server } of Object.values(pages)) {
  await page.close();
  await server.stop();
}
await browser.close();
const smallest = (name) => Math.min(...times[name]);
console.log(`shadows: ${quality}; milliseconds per picture, smallest of ${ROUNDS} medians`);
console.log(`old ${smallest("old").toFixed(1)}, current ${smallest("current").toFixed(1)}`);
console.log(`ratio ${(smallest("current") / smallest("old")).toFixed(2)}`);
