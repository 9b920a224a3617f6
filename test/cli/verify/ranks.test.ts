import { describe, expect, it } from "vitest";
import type { Host } from "../../../cli/sees/host";
import { verify } from "../../../cli/verify/run/runner";
import { plan } from "../../../components/plan/plan";
import type { MachinePlan } from "../../../components/plan/types";
import { ranks } from "../../fixtures/ranks";
import { httpServer } from "../../layers/httpServer";
import { emptyHost, resultOf } from "./environment";

const socket = (name: string) => `unix:///run/${name}.sock`;
const HEAD = "vllm-model-8001";
const WORKER = `${HEAD}-rank1`;
const METRICS = "vllm:num_requests_running 0\n";

/** Two machines whose head answers at a port of loopback. */
function planned(port: number, link: Record<string, unknown> = {}): readonly MachinePlan[] {
  const [first, second] = ["one", "two"].map((name) => ({ dockerHost: socket(name) }));
  const settings = ranks({}, first, second);
  const machines = plan(settings, { home: "/home/me" }).machines;
  return machines.map((machine) => ({
    ...machine,
    inferenceServers: machine.inferenceServers.map((server) => ({
      ...server,
      reach: { ...server.reach, address: "127.0.0.1", port },
      ...(server.rank === undefined
        ? {}
        : { rank: { ...server.rank, link: { ...server.rank.link, ...link } } }),
    })),
  }));
}

/**
 * One probe of the ranks, with the hosts of both machines, and a head that answers completions
 * after so long.
 */
async function probe(
  name: string,
  hosts: Readonly<Record<string, Partial<Host>>> = {},
  {
    seconds = 0,
    status = 200,
    link = {},
  }: { seconds?: number; status?: number; link?: Record<string, unknown> } = {},
) {
  const { port } = await httpServer((request, response) => {
    response.statusCode = request.url === "/v1/completions" ? status : 200;
    const answer = () => response.end(request.url === "/metrics" ? METRICS : "{}");
    setTimeout(answer, request.url === "/v1/completions" ? seconds * 1000 : 0);
  });
  const machines = planned(port, link);
  const [machine] = machines;
  if (machine === undefined) throw new Error("nothing planned");
  const host = (dockerHost: string) => emptyHost(hosts[dockerHost]);
  const { probes: results } = await verify(machine, {
    timeoutSeconds: 1,
    only: [name],
    host,
    machines,
  });
  const { status: verdict, detail, target } = resultOf(results, name);
  return { verdict, detail, target, machines };
}

const byHost = (one: Partial<Host>, two: Partial<Host>) => ({
  [socket("one")]: one,
  [socket("two")]: two,
});

describe("ranks-answer", () => {
  it("passes with the seconds that a token took", async () => {
    const { verdict, detail, target } = await probe("ranks-answer");
    expect([verdict, target]).toEqual(["pass", HEAD]);
    expect(detail).toMatch(/^one token in 0\.\d s$/);
  });

  it("finds a stall that /health and the metrics don't show", async () => {
    expect(await probe("ranks-answer", {}, { seconds: 2 })).toMatchObject({
      verdict: "fail",
      detail: "stalled: no token in 1 s, while /health answers 200 and 0 requests run",
    });
  });

  it("says how the token was refused", async () => {
    expect((await probe("ranks-answer", {}, { status: 500 })).detail).toBe(
      "one token was refused with 500",
    );
  });

  it("is skipped where the model is on one machine", async () => {
    const [, second] = planned(1);
    if (second === undefined) throw new Error("nothing planned");
    const { probes: results } = await verify(second, {
      timeoutSeconds: 1,
      only: ["ranks-answer"],
      host: () => emptyHost(),
    });
    expect(resultOf(results, "ranks-answer")).toMatchObject({
      status: "skip",
      detail: "the plan has no server over several machines",
    });
  });
});

describe("ranks-alike", () => {
  const env = (mark?: string): Partial<Host> => ({
    docker: async () =>
      JSON.stringify([
        { Config: { Env: mark === undefined ? [] : ["A=1", `LOCAL_SERVING_RANKS=${mark}`] } },
      ]),
  });
  const mark = planned(1)[0]?.inferenceServers[0]?.rank?.mark ?? "";

  it("passes where all containers have the mark of the plan", async () => {
    expect(await probe("ranks-alike", byHost(env(mark), env(mark)))).toMatchObject({
      verdict: "pass",
      detail: `2 ranks have the mark ${mark}`,
    });
  });

  it("names the rank and the machine that differ", async () => {
    expect(await probe("ranks-alike", byHost(env(mark), env("0123456789abcdef")))).toMatchObject({
      verdict: "fail",
      detail: `${WORKER} on dgx2 has the mark 0123456789abcdef, but ${mark} is planned`,
    });
    expect((await probe("ranks-alike", byHost(env(), env(mark)))).detail).toBe(
      `${HEAD} on dgx1 has no mark of a plan, but ${mark} is planned`,
    );
  });
});

describe("ranks-kv", () => {
  const log = (gib?: number): Partial<Host> => ({
    memoryLines: async () => ({
      text: gib === undefined ? "" : `Available KV cache memory: ${gib} GiB`,
    }),
  });

  it("passes where the ranks have about the same", async () => {
    expect(await probe("ranks-kv", byHost(log(80), log(78)))).toMatchObject({
      verdict: "pass",
      detail: "80 GiB on dgx1, 78 GiB on dgx2",
    });
  });

  it("names the rank with less than another", async () => {
    const { verdict, detail } = await probe("ranks-kv", byHost(log(80), log(60)));
    expect(verdict).toBe("fail");
    expect(detail).toMatch(
      /^80 GiB on dgx1, 60 GiB on dgx2: 60 GiB on dgx2 is too little; [\d.]+ and [\d.]+ GiB are planned$/,
    );
  });

  it("is skipped where no log has that line any more, and judges what one says", async () => {
    expect(await probe("ranks-kv", byHost(log(), log()))).toMatchObject({ verdict: "skip" });
    expect((await probe("ranks-kv", byHost(log(80), log()))).detail).toBe(
      "80 GiB on dgx1, nothing said on dgx2",
    );
  });
});

describe("link-speed", () => {
  const row = (average: string) =>
    ` #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      1082160          0.00               ${average}              0.180312\n`;
  /** Docker of a machine that answers a speed test, and notes what it was asked. */
  const measured = (asked: string[], average?: string): Partial<Host> => ({
    docker: async (args) => {
      asked.push(args.join(" "));
      if (args.at(-1) === "command -v ib_write_bw")
        return average === undefined ? "" : "/usr/bin/ib_write_bw\n";
      return average === undefined || args.includes("--detach") ? "" : row(average);
    },
  });

  it("passes by the image's own tool, one device after the other, the worker listening first", async () => {
    const [one, two]: [string[], string[]] = [[], []];
    const { verdict, detail } = await probe(
      "link-speed",
      byHost(measured(one, "94.53"), measured(two, "94.53")),
    );
    expect([verdict, detail]).toEqual([
      "pass",
      "rocep1s0f1 to dgx2: 94.53 Gb/s, roceP2p1s0f1 to dgx2: 94.53 Gb/s",
    ]);
    expect(two[0]).toBe(
      `exec --detach ${WORKER} sh -c sleep 0; exec timeout 15 ib_write_bw "$@" sh --report_gbits -F -D 2 -p 18515 -d rocep1s0f2 -x 4`,
    );
    expect(one[1]).toBe(
      `exec ${HEAD} sh -c sleep 1; exec timeout 15 ib_write_bw "$@" sh --report_gbits -F -D 2 -p 18515 -d rocep1s0f1 -x 3 192.168.100.2`,
    );
  });

  it("finds a link that is far slower than it should be", async () => {
    expect(
      await probe("link-speed", byHost(measured([], "13.10"), measured([], "13.10"))),
    ).toMatchObject({
      verdict: "fail",
      detail: "rocep1s0f1 to dgx2: 13.1 Gb/s, below 90; roceP2p1s0f1 to dgx2: 13.1 Gb/s, below 90",
    });
  });

  it("is skipped with the reason where there is no tool, or no RDMA", async () => {
    expect(await probe("link-speed", byHost(measured([]), {}))).toMatchObject({
      verdict: "skip",
      detail: "the image has no ib_write_bw (package perftest)",
    });
    expect(await probe("link-speed", {}, { link: { hcas: [] } })).toMatchObject({
      verdict: "skip",
      detail: "without `link.hcas`, NCCL uses sockets",
    });
  });
});
