// Server, browser and analysis of screenshots.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const FLAGS = [
  "--headless=new",
  "--no-sandbox",
  "--use-angle=swiftshader",
  "--enable-unsafe-swiftshader",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  // A page that is not served by the server itself may open connections to it.
  ...(process.env.PAGE ? ["--disable-features=LocalNetworkAccessChecks"] : []),
];

export async function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

/** Starts `dermis view`. Returns its address and a function that stops it like Ctrl-C. */
export async function serve(dermis, args, cwd) {
  const child = spawn(dermis, ["view", "--no-open", "--format", "json", ...args], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const first = once(lines, "line").then(([line]) => JSON.parse(line));
  const ready = await Promise.race([
    first,
    ended.then(([code]) => {
      throw new Error(`dermis view ended with ${code}`);
    }),
  ]);
  const stop = async () => {
    if (child.exitCode === null) child.kill("SIGINT");
    return (await ended)[0];
  };
  return { url: ready.url, stop };
}

/** Serves the files of the page from a folder instead of those that are embedded in the server. */
async function servePage(page, url, folder) {
  await page.route(
    (requested) => requested.href.startsWith(url) && !requested.pathname.startsWith("/api/"),
    (route) => {
      const path = new URL(route.request().url()).pathname;
      return route.fulfill({ path: join(folder, path === "/" ? "index.html" : path) });
    },
  );
}

/** Opens a page, after `prepare` has run in it, and collects its errors and warnings. */
export async function open(browser, url, maxTextureSize, prepare) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  if (maxTextureSize) {
    // Simulates a GPU with smaller textures.
    await page.addInitScript((size) => {
      const original = WebGL2RenderingContext.prototype.getParameter;
      WebGL2RenderingContext.prototype.getParameter = function (name) {
        return name === this.MAX_TEXTURE_SIZE ? size : original.call(this, name);
      };
    }, maxTextureSize);
  }
  if (prepare) await page.addInitScript(prepare);
  if (process.env.PAGE) await servePage(page, url, process.env.PAGE);
  const problems = [];
  page.on(
    "console",
    (message) =>
      ["error", "warning"].includes(message.type()) &&
      !/GPU stall|GL Driver/.test(message.text()) &&
      problems.push(message.text()),
  );
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(url);
  await page.waitForFunction(() => window.dermis, null, { timeout: 60_000 });
  return { page, problems };
}

/** Draws and describes the picture: the fraction of lit pixels, its colours, and a fingerprint of its pixels. */
export async function picture(page) {
  return page.evaluate(() => {
    const { viewer } = window.dermis;
    viewer.draw();
    const gl = viewer.stage.renderer.getContext();
    const [width, height] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const pixels = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    let [lit, colored] = [0, 0];
    const shades = new Set();
    const hues = new Set();
    const cells = [];
    for (let i = 0; i < pixels.length; i += 4) {
      const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
      const [high, low] = [Math.max(r, g, b), Math.min(r, g, b)];
      if (high > 95) {
        lit++;
        shades.add(high >> 3);
      }
      if (high > 60 && high - low > 60) {
        colored++;
        const hue =
          high === r ? (g - b) / (high - low) : high === g ? 2 + (b - r) / (high - low) : 4 + (r - g) / (high - low);
        hues.add(Math.floor(((hue + 6) % 6) * 2));
      }
      if ((i / 4) % 7 === 0) cells.push((r + g + b) >> 3);
    }
    return {
      lit: lit / (width * height),
      colored: colored / (width * height),
      shades: shades.size,
      hues: hues.size,
      cells,
    };
  });
}

/** Fraction of pixels that differ between two pictures. */
export function difference(a, b) {
  return a.cells.reduce((sum, value, at) => sum + (Math.abs(value - b.cells[at]) > 2 ? 1 : 0), 0) / a.cells.length;
}

/** Uploaded bytes and number of draws while `act` runs. */
export async function during(page, act) {
  const read = () => page.evaluate(() => ({ ...window.dermis.stats }));
  const before = await read();
  await act();
  const after = await read();
  return { bytes: after.uploadedBytes - before.uploadedBytes, draws: after.draws - before.draws };
}
