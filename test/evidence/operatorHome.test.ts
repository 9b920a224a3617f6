import { afterEach, expect, it, vi } from "vitest";
import { operatorHome } from "../../components/evidence/readEvidence";

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each(["test", "no-such-folder", ""])(
  "HOME=%j, which is no absolute path, is refused",
  (home) => {
    vi.stubEnv("HOME", home);
    expect(operatorHome).toThrow(
      "HOME: expected the absolute path of your home, such as /home/me, got ",
    );
  },
);
