import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

/** Makes an environment of its own for each version, so it needs no program that the others install. */
const ENGINE_DATA = "test/real/engineData.test.ts";

/** The generated files in the real programs. Slow, and the first run installs them: `npm run test:real`. */
export default defineConfig({
  root: resolve(__dirname, ".."),
  test: {
    // Programs that are started here want both cores for themselves.
    fileParallelism: false,
    globalSetup: ["test/layers/temporaryDirectory.ts"],
    testTimeout: 180_000,
    hookTimeout: 300_000,
    projects: [
      { extends: true, test: { name: "engine-data", include: [ENGINE_DATA] } },
      {
        extends: true,
        test: {
          name: "programs",
          include: ["test/real/**/*.test.ts"],
          exclude: [ENGINE_DATA],
          globalSetup: ["test/real/setup.ts"],
        },
      },
    ],
  },
});
