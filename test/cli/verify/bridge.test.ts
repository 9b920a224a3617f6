import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { probesOf } from "../../../cli/verify/run/catalog";
import { TIER_NAMES } from "../../../components/services/bridge/bridgeConfig";
import { type BridgeFault, startBridge } from "../../stand-in/bridge";
import type { StandIn } from "../../stand-in/server";
import { emptyHost, failed, resultOf, run, type Seen, startPlanned } from "./environment";
import { withBridge } from "./services";

const PROBES = probesOf("bridge").map((probe) => probe.name);
const KEY = "a-key-that-nobody-sees";
const TIERS = {
  ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-9",
  ANTHROPIC_SMALL_FAST_MODEL: "org/model",
};

let server: StandIn;
beforeAll(async () => {
  server = await startPlanned();
});
afterAll(() => server.close());

/** Every name that the planned bridge lists. */
const NAMES = ["model", "org/model", ...TIER_NAMES].filter((name) => !name.endsWith("*"));

async function through(fault?: BridgeFault, env: Record<string, string> = { BRIDGE_KEY: KEY }) {
  const bridge = await startBridge({
    upstream: server.url,
    key: KEY,
    names: NAMES,
    ...(fault === undefined ? {} : { fault }),
  });
  const plan = withBridge(server.port, bridge.port, {
    keyVariable: "BRIDGE_KEY",
    environment: TIERS,
  });
  try {
    return await run(plan, { only: PROBES }, emptyHost({ env }));
  } finally {
    await bridge.close();
  }
}

/** How each fault is seen. */
const SEEN: Record<BridgeFault, Seen> = {
  "validation-errors-212": [
    ["bridge-routing", "bridge-prefix-reuse"],
    "400 with the validation errors of /v1/responses: litellm.BadRequestError",
    "hosted_vllm/",
  ],
  "responses-detour": [
    ["bridge-routing"],
    "the answer's id begins with `resp_`: it came by /v1/responses",
    "hosted_vllm/",
  ],
  "responses-detour-1.109": [
    ["bridge-routing"],
    "count_tokens is answered with 404",
    "hosted_vllm/",
  ],
  "responses-detour-unmarked": [
    ["bridge-routing"],
    "the server behind it got 1 requests on /v1/responses",
    "hosted_vllm/",
  ],
  "drops-system": [["bridge-system"], "the text did not reach the model", "bridge.image"],
  "moves-system-first": [
    ["bridge-prefix-reuse"],
    "0 % of the second call's prompt came from the cache (0 of ",
    "moves a new system element to the beginning: pin another version",
  ],
  "tools-as-text": [
    ["bridge-tools", "bridge-tools-stream"],
    "the call is written as XML in the text",
    "inferenceServers.b.tools.parser",
  ],
  "any-model": [["bridge-unknown-tier"], "it answered 200", "model_list"],
  "only-canonical-name": [
    ["bridge-models", "bridge-tiers"],
    "not there: org/model, claude-fable-5,",
    "model_list of bridge-config",
  ],
  "no-liveliness": [["bridge-health"], "/health/liveliness answered 200", "docker logs litellm-"],
  "without-text": [
    ["bridge-messages"],
    "no text (stop_reason end_turn, blocks: none)",
    "(probe chat)",
  ],
  "echoes-key": [
    ["bridge-models"],
    "it refuses the key in BRIDGE_KEY (400: Key <key> is not allowed.)",
    "Export the key that the bridge was started with as BRIDGE_KEY",
  ],
};

describe("every probe of the bridge", () => {
  it("passes on a healthy one", async () => {
    const results = await through();
    expect(
      results.map(({ name, status, detail }) => (status === "pass" ? name : `${name}: ${detail}`)),
    ).toEqual(PROBES);
    expect(resultOf(results, "bridge-tiers").detail).toBe("model, claude-haiku-9, org/model");
    expect(resultOf(results, "bridge-routing").detail).toBe(
      "answered; nothing went to /v1/responses",
    );
  });

  it.each(Object.entries(SEEN))(
    "%s: seen by its own probes and by no other",
    async (fault, [probes, detail, fix]) => {
      const results = await through(fault as BridgeFault);
      expect(failed(results)).toEqual(probes);
      const first = resultOf(results, probes[0] ?? "");
      expect(first.detail).toContain(detail);
      expect(first.fix).toContain(fix);
      expect(JSON.stringify(results)).not.toContain(KEY);
    },
  );

  it.each<[string, string | undefined, string]>([
    ["in the variable", "BRIDGE_KEY", "it refuses the key in BRIDGE_KEY (400: No connected db.)"],
    ["as a placeholder", undefined, "it refuses the placeholder key (400: No connected db.)"],
  ])("a wrong key %s is one fault, and the rest is not run", async (_, keyVariable, detail) => {
    const bridge = await startBridge({ upstream: server.url, key: "the-right-key", names: NAMES });
    const options = keyVariable === undefined ? {} : { keyVariable };
    const host = emptyHost({ env: { BRIDGE_KEY: KEY } });
    const results = await run(
      withBridge(server.port, bridge.port, options),
      { only: PROBES },
      host,
    );
    await bridge.close();
    expect(failed(results)).toEqual(["bridge-models"]);
    expect(resultOf(results, "bridge-models").detail).toBe(detail);
    expect(resultOf(results, "bridge-health").status).toBe("pass");
    for (const name of PROBES.slice(3)) {
      expect(resultOf(results, name)).toMatchObject({
        status: "skip",
        detail: "not run: the bridge refuses the key (see bridge-models)",
      });
    }
    expect(JSON.stringify(results)).not.toContain(KEY);
    // What closes a target is for the run alone.
    expect(Object.keys(resultOf(results, "bridge-models")).sort()).toEqual([
      "detail",
      "fix",
      "name",
      "seconds",
      "status",
      "target",
    ]);
  });

  it("is skipped where the variable of its key is not set, by the variable's name", async () => {
    const results = await through(undefined, {});
    expect(new Set(results.map(({ status, detail }) => `${status}: ${detail}`))).toEqual(
      new Set(["skip: its key is in the variable BRIDGE_KEY, which is not set here"]),
    );
  });

  it.each([
    ["a-key", {}, "BRIDGE_KEY has fewer than 20 characters"],
    [`${KEY}\n${KEY}`, {}, "BRIDGE_KEY holds a blank or a line break"],
    [KEY, { open: true }, /^without a key it answers http:\/\/127.0.0.1:\d+: 200$/],
    [
      KEY,
      { addresses: ["127.0.0.2"] },
      "it is declared for the network, but does not answer on 127.0.0.2",
    ],
    [KEY, { addresses: ["127.0.0.1"] }, undefined],
  ])(
    "is no bridge for a network: key %j, %j",
    async (key, { open, addresses = [] }: { open?: boolean; addresses?: string[] }, said) => {
      const bridge = open
        ? await startPlanned()
        : await startBridge({ upstream: server.url, key: KEY, names: NAMES });
      const host = emptyHost({ env: { BRIDGE_KEY: key }, lanAddresses: async () => addresses });
      const plan = withBridge(server.port, bridge.port, {
        keyVariable: "BRIDGE_KEY",
        listen: "0.0.0.0",
      });
      const results = await run(
        plan,
        { only: ["bridge-health", "bridge-key", "bridge-models"] },
        host,
      );
      await bridge.close();
      const { status, detail, fix } = resultOf(results, "bridge-key");
      if (said === undefined)
        expect([status, detail]).toEqual([
          "pass",
          expect.stringMatching(/^without the key it refuses requests: .*, 127.0.0.1$/),
        ]);
      else expect([status, detail]).toEqual(["fail", expect.stringMatching(said)]);
      if (key !== KEY) {
        expect(fix).toBe(
          "Give the bridge a new one: export BRIDGE_KEY=$(openssl rand -hex 32), then `serving up`.",
        );
        expect(resultOf(results, "bridge-models").detail).toBe(
          "not run: its key isn't valid (see bridge-key)",
        );
        expect(JSON.stringify(results)).not.toContain(key);
      }
    },
  );

  it("needs no variable where the key is a placeholder", async () => {
    const bridge = await startBridge({
      upstream: server.url,
      key: "local-serving-placeholder",
      names: NAMES,
    });
    const results = await run(withBridge(server.port, bridge.port), { only: PROBES });
    await bridge.close();
    expect(failed(results)).toEqual([]);
  });
});
