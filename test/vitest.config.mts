import { defineConfig } from "vitest/config";

/** Tests that drive the real engine or a real Docker daemon, where the machine has them. */
const REAL_PARTS = ["test/engine/**/*.test.ts", "test/docker/**/*.test.ts"];

/** The generated files in programs that have to be installed first: `npm run test:real`. */
const INSTALLED_PROGRAMS = ["test/real/**/*.test.ts"];

export default defineConfig({
  test: {
    // Two cores are the smallest machine that runs this.
    pool: "forks",
    maxWorkers: 2,
    // What is awaited comes in its own time on a busy machine: one generous bound for all of it.
    expect: { poll: { timeout: 60_000 } },
    globalSetup: ["test/layers/temporaryDirectory.ts"],
    setupFiles: ["test/layers/seed.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
          exclude: [...REAL_PARTS, ...INSTALLED_PROGRAMS],
          // Loading our modules anew for each file took a third of the time.
          isolate: false,
          // They wait for child processes for almost half of their time: 3 and 5 took no less.
          maxWorkers: 4,
          setupFiles: ["test/layers/asFound.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: "real",
          // After the pure ones, which have another number of workers.
          sequence: { groupOrder: 1 },
          include: REAL_PARTS,
          globalSetup: ["test/layers/setup.ts"],
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
    ],
  },
});
