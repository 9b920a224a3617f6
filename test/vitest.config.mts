import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: resolve(__dirname, ".."),
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    // Two cores are the smallest machine that runs this; forks keep Pulumi's global runtime state apart.
    pool: "forks",
    maxWorkers: 2,
  },
});
