import { afterAll, vi } from "vitest";

/**
 * Files share a process, so each leaves it as it found it: whatever a test set in it is taken back
 * behind its file.
 */
const variables = { ...process.env };
const folder = process.cwd();

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
  Object.assign(process.env, variables);
  process.chdir(folder);
  process.exitCode = undefined;
});
