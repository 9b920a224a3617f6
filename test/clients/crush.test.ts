import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crushWindow } from "../../components/clients/crush";
import { fileOf, planned } from "../fixtures/services";
import { clientText } from "./client";

describe("Crush's configuration", () => {
  const config = (settings: Record<string, unknown> = {}) =>
    JSON.parse(clientText("crush-config", { crush: settings })) as Record<string, unknown>;

  it("has one provider, with the window, the output and the name of the key's variable", () => {
    expect(config()).toEqual({
      $schema: "https://charm.land/crush.json",
      models: {
        large: { model: "model", provider: "local-serving" },
        small: { model: "model", provider: "local-serving" },
      },
      options: {
        disable_default_providers: true,
        disable_metrics: true,
        disable_provider_auto_update: true,
      },
      providers: {
        "local-serving": {
          api_key: "$LOCAL_SERVING_API_KEY",
          base_url: "http://127.0.0.1:8001/v1",
          discover_models: false,
          models: [
            { context_window: 262144, default_max_tokens: 8192, id: "model", name: "model" },
          ],
          name: "Local model server",
          type: "openai-compat",
        },
      },
    });
  });

  it("lies in a folder of its own and leaves the user's alone", () => {
    expect(fileOf(planned(), "crush-config").path).toBe(
      "/home/me/.local/share/local-serving/clients/crush/crush.json",
    );
  });

  it("says nothing of a window that nobody knows", () => {
    const instanceA = { gpuMemoryUtilization: 0.4, servedModelName: "old" };
    const text = clientText("crush-config", { crush: { server: "instance-a" } }, { instanceA });
    expect(text).not.toContain("context_window");
  });
});

describe("the window that Crush is given", () => {
  it("is the server's, where its own reserve holds the output", () => {
    expect(crushWindow(262144, 8192)).toBe(262144);
    expect(crushWindow(65536, 8192)).toBe(65536);
  });

  it("leaves room for all of the output when Crush summarizes", () => {
    const sizes = fc
      .tuple(fc.integer({ min: 2, max: 2 ** 20 }), fc.integer({ min: 1, max: 2 ** 17 }))
      .filter(([window, output]) => output < window);
    fc.assert(
      fc.property(sizes, ([window, output]) => {
        const claimed = crushWindow(window, output);
        const summarizesAt = claimed - (claimed > 200_000 ? 20_000 : Math.floor(claimed * 0.2));
        // A fifth is rounded down, so one token may be missing.
        expect(summarizesAt + output).toBeLessThanOrEqual(window + 1);
      }),
    );
  });
});
