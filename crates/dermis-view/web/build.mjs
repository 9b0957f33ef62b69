// Builds the page (index.html with its assets) and the script of the report (one file) into the given folder.
import { resolve } from "node:path";
import { build } from "vite";

const outDir = resolve(process.argv[2] ?? "dist");
const common = { root: import.meta.dirname ?? resolve("."), configFile: false, logLevel: "error", publicDir: false };
const output = { outDir, target: "es2022", reportCompressedSize: false, chunkSizeWarningLimit: 2000 };

await build({ ...common, base: "./", build: { ...output, emptyOutDir: true, modulePreload: false } });
await build({
  ...common,
  build: {
    ...output,
    emptyOutDir: false,
    lib: { entry: "src/report/main.ts", name: "dermisReport", formats: ["iife"], fileName: () => "report.js" },
  },
});
