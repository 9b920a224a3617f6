import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { operatorHome } from "../../components/evidence/readEvidence";

afterEach(() => void vi.unstubAllEnvs());

it.each(["test", "no-such-folder"])("a relative HOME (%s) counts from the current folder", (home) => {
  vi.stubEnv("HOME", home);
  expect(operatorHome()).toBe(join(process.cwd(), home));
});
