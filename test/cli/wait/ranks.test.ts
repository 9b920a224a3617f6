import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { isReady } from "../../../cli/sees/isReady";
import { waitProgress } from "../../../cli/wait/progress";
import { plan } from "../../../components/plan/plan";
import { ranks, twoMachines } from "../../fixtures/ranks";
import { lookSooner } from "../../layers/lookSooner";
import { temporaryFolder } from "../../layers/temporaryFolder";
import { container } from "../doctor/cases";
import { FakeDocker, inspected } from "../fakeDocker";
import { runServing } from "../runServing";

lookSooner();

const folder = temporaryFolder("serving-wait-ranks-");
const HEAD = "vllm-model-8001";
const WORKER = `${HEAD}-rank1`;

/**
 * `serving status --wait` for two ranks whose engines are here, by the state and the log that docker gives
 * for each.
 */
function wait(
  states: Readonly<Record<string, Record<string, unknown>>>,
  log = "",
  ...args: string[]
) {
  const file = join(folder, "Pulumi.ranks.yaml");
  const socket = (name: string) => ({ dockerHost: `unix:///run/${name}.sock` });
  const machines = twoMachines({}, socket("one"), socket("two"));
  writeFileSync(file, stringify({ config: { "local-serving:machines": machines } }));
  const all = Object.entries(states).map(([name, state]) =>
    inspected({ name, state: { StartedAt: "2026-11-21T13:00:00Z", ...state } }),
  );
  const docker = new FakeDocker({
    ps: { out: all.map((_, index) => `471${index}\n`).join("") },
    "inspect 471": { out: JSON.stringify(all) },
    logs: { out: log },
    "image inspect": { code: 1 },
  });
  return runServing(["status", "--wait", "--file", file, ...args], docker.env);
}

describe("serving status --wait, for a server over two machines", () => {
  it("names the machine of a worker that died, and doctor reads its log from there", async () => {
    const log =
      "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n";
    const { code, out } = await wait(
      { [HEAD]: {}, [WORKER]: { Status: "exited", ExitCode: 1 } },
      log,
      "--format",
      "json",
    );
    expect(code).toBe(1);
    const { servers, diagnoses } = JSON.parse(out);
    expect(servers).toMatchObject([
      { container: WORKER, machine: "dgx2", outcome: "died", cause: log.trim() },
    ]);
    expect(servers[0].reason).toBe(
      "on dgx2: it ended with exit code 1; Docker has started it again 6 times",
    );
    expect(diagnoses.map(({ id }: { id: string }) => id)).toContain("link-gid");
  });

  it("ends at the closed gate of a worker", async () => {
    const log = "start gate: closed: 3 starts within an hour failed. docker exec x rm y\n";
    const { code, out } = await wait({ [HEAD]: { Status: "created" }, [WORKER]: {} }, log);
    expect(code).toBe(1);
    expect(out).toContain(`${WORKER}: on dgx2: closed: 3 starts within an hour failed.`);
  });

  it("shows what each rank waits for, until its time is over", async () => {
    const log =
      "start gate: waiting for the rank on dgx2: its gate at 192.168.100.2:29502 does not answer\n";
    const { code, out, err } = await wait(
      { [HEAD]: {}, [WORKER]: { Status: "created" } },
      log,
      "--timeout",
      "3",
    );
    expect(code).toBe(1);
    expect(err).toMatch(
      /vllm-model-8001: \d s: start gate, waiting for the rank on dgx2: its gate at/,
    );
    expect(err).toMatch(/vllm-model-8001-rank1: \d s: container not started/);
    expect(out).toContain(`${HEAD}: on dgx1: not ready after 3 s (start gate)`);
  });

  it("shares a terminal's line", () => {
    const written: string[] = [];
    const stream = { isTTY: true, columns: 60, write: (text: string) => written.push(text) > 0 };
    const lines = new Map([
      ["one", ""],
      ["two", ""],
    ]);
    waitProgress(stream, "one", lines)({ phase: "compiling" }, 61);
    waitProgress(stream, "two", lines)({ phase: "start gate", note: "waiting for the rank" }, 61);
    expect(written.at(-1)?.slice(-60)).toContain(
      "one: 1 min 1 s: compiling (10|two: 1 min 1 s: start gate, ",
    );
  });
});

describe("a head", () => {
  const planned = () => {
    const [machine] = plan(ranks({}, { dockerHost: "unix:///run/docker.sock" }), {
      home: "/home/me",
    }).machines;
    const [server] = machine?.inferenceServers ?? [];
    if (machine === undefined || server === undefined) throw new Error("nothing planned");
    return { machine, server };
  };

  /** A server that answers by status: /health, then a completion. */
  async function headWith(health: number, completion: number) {
    const asked: string[] = [];
    const http = createServer((request, response) => {
      let body = "";
      request.on("data", (text) => {
        body += text;
      });
      request.on("end", () => {
        asked.push(`${request.method} ${request.url} ${body}`.trim());
        response.statusCode = request.url === "/health" ? health : completion;
        response.end("{}");
      });
    });
    await new Promise<void>((listening) => http.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void http.close());
    const { port } = http.address() as AddressInfo;
    const { machine, server } = planned();
    const reach = { ...server.reach, address: "127.0.0.1", port };
    return { ready: await isReady(machine, { ...server, reach }, container()), asked };
  }

  it("is ready once it has made a token, by its served name", async () => {
    const { ready, asked } = await headWith(200, 200);
    expect(ready).toBe(true);
    expect(asked).toEqual([
      "GET /health",
      'POST /v1/completions {"model":"model","prompt":"1","max_tokens":1}',
    ]);
  });

  it("is not ready while it answers /health alone, nor asked for a token before that", async () => {
    expect((await headWith(200, 500)).ready).toBe(false);
    expect(await headWith(503, 200)).toEqual({ ready: false, asked: ["GET /health"] });
  });

  it("on another computer is asked over ssh, and only once Docker finds it healthy", async () => {
    const { machine, server } = planned();
    const elsewhere = { ...machine, dockerHost: "ssh://nobody@nowhere.invalid" };
    expect(await isReady(elsewhere, server, container({ health: "starting" }))).toBe(false);
  });
});
