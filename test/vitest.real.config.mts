import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

/** The generated files in the real programs. Slow, and the first run installs them: `npm run test:real`. */
export default defineConfig({
  root: resolve(__dirname, ".."),
  test: {
    include: ["test/real/**/*.test.ts"],
    // Programs that are started here want both cores for themselves.
    fileParallelism: false,
    globalSetup: ["test/layers/temporaryDirectory.ts", "test/real/setup.ts"],
    testTimeout: 180_000,
    hookTimeout: 300_000,
  },
});
