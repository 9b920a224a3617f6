import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { objectOr, textOr } from "@local-serving/base/faults/json";
import { describe, expect, it } from "vitest";
import { onRequest, plannedOnDemand, RESIDENT } from "../../fixtures/onDemand";
import { fileOf } from "../../fixtures/services";
import { freePort } from "../../layers/freePort";
import { llamaSwap } from "./rig";

const program = llamaSwap();
const KEY = "a-key-of-the-test-0123456789";

/** What llama-swap answers to /v1/models, and its exit code; it is stopped after that. */
async function asked(text: string, key: string) {
  const folder = mkdtempSync(join(tmpdir(), "swap-config-"));
  const file = join(folder, "config.yaml");
  writeFileSync(file, text);
  const listen = `127.0.0.1:${await freePort()}`;
  const child = spawn(program ?? "", ["-config", file, "-listen", listen], {
    env: { ...process.env, LOCAL_SERVING_SWAP_KEY: KEY },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const answer = () =>
    fetch(`http://${listen}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  let response: Response | undefined;
  while (response === undefined && child.exitCode === null)
    response = await answer().catch(() => undefined);
  const read = await response?.json().catch(() => ({}));
  const { data = [] } = objectOr(read);
  child.kill("SIGTERM");
  const [code] = await ended;
  const ids = Array.isArray(data) ? data.map((each) => textOr(objectOr(each).id)) : [];
  return { status: response?.status, ids, code };
}

describe.skipIf(program === undefined)("the real llama-swap", () => {
  const config = (more: Record<string, unknown> = {}) =>
    fileOf(plannedOnDemand(more).machine, "on-demand-config").text;

  it("reads the configuration, and lists every name of every server", async () => {
    const { status, ids, code } = await asked(config(), KEY);
    expect([status, code]).toEqual([200, 0]);
    expect(ids.sort()).toEqual(["coder", "org/coder", "org/other", "other"]);
  });

  it("refuses another key", async () => {
    expect(await asked(config(), "another")).toMatchObject({ status: 401 });
  });

  it("reads twelve servers, with slashes and dots in their names", async () => {
    const servers = Array.from({ length: 12 }, (_, index) => [
      `s${index}`,
      onRequest(`some.org/model-${index}`, 8002 + index, {
        gpuMemoryUtilization: index % 3 === 0 ? 0.4 : 0.1,
        maxModelLen: 32768,
      }),
    ]);
    const inferenceServers = { b: RESIDENT, ...Object.fromEntries(servers) };
    const { status, ids } = await asked(config({ inferenceServers }), KEY);
    expect([status, ids.length]).toEqual([200, 24]);
  });

  it("refuses a set of a server that it doesn't know", async () => {
    const text = config().replace("s1: c", "s1: nobody");
    expect(await asked(text, KEY)).toEqual({ status: undefined, ids: [], code: 1 });
  });
});
