import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { MachinePlan } from "../../components/plan/types";
import { probesOf } from "../../operate/verify/catalog";
import { freePort } from "../layers/freePort";
import { failed, machineOf, resultOf, run, startPlanned } from "../operate/verify/environment";
import { withBridge } from "../operate/verify/services";
import type { StandIn } from "../stand-in/server";
import { type Egress, watchEgress } from "./egress";
import { startLitellm } from "./litellm";
import { title } from "./programs";

const program = inject("programs").litellm;
const PROBES = probesOf("bridge").map((probe) => probe.name);

describe.skipIf("missing" in program)(title("serving verify before a real LiteLLM 1.103.0", program), () => {
  const folder = mkdtempSync(join(tmpdir(), "verify-litellm-"));
  let server: StandIn;
  let egress: Egress;
  beforeAll(async () => {
    [server, egress] = [await startPlanned(), await watchEgress()];
  });
  afterAll(async () => {
    await Promise.all([server?.close(), egress?.close()]);
    rmSync(folder, { recursive: true });
  });

  /** Probes a LiteLLM that was started with the planned file, changed by `change`. */
  const probe = async (change: (text: string) => string) => {
    if ("missing" in program) return [];
    const environment = { ANTHROPIC_DEFAULT_HAIKU_MODEL: "claude-haiku-9" };
    const plan = withBridge(server.port, await freePort(), { environment });
    const machine: MachinePlan = machineOf(plan);
    const files = machine.files.map((file) =>
      file.role === "bridge-config" ? { ...file, text: change(file.text) } : file,
    );
    const proxy = await startLitellm(program.path, { ...machine, files }, folder, egress);
    try {
      return await run(plan, { only: PROBES, timeoutSeconds: 60 });
    } finally {
      await proxy.stop();
    }
  };

  it("every probe of the bridge passes with our file", async () => {
    const results = await probe((text) => text);
    expect(
      results.map(({ name, status, detail }) => (status === "pass" ? name : `${name}: ${detail}`)),
    ).toEqual(PROBES);
  });

  it("the generic prefix's detour is seen, and nothing else", async () => {
    const results = await probe((text) => text.replaceAll("hosted_vllm/", "openai/"));
    expect(failed(results)).toEqual(["bridge-routing"]);
    expect(resultOf(results, "bridge-routing").fix).toContain("hosted_vllm/");
  });
});
