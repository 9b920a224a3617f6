import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { LABEL } from "../../../components/planned/container";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { serverInput, stack } from "../../fixtures/machine";
import { declared, hostInstance, IMAGE, said, server } from "../declared";

const LABELS = [{ label: LABEL.start, value: "onRequest" }];
const NOT_STARTED = { labels: LABELS, restart: "no", start: false, mustRun: false };
const asking = (share: string) => ["m", "--gpu-memory-utilization", share];

describe("inference-container, of one that starts on request", () => {
  const RULE = "inference-container";
  it("passes one that nothing starts", () => {
    expect(said(RULE, [server(NOT_STARTED)])).toEqual([]);
  });

  it.each([
    [{ restart: "unless-stopped" }, 'Set `restart: "no"`; it has `unless-stopped`.'],
    [{ restart: undefined }, 'Set `restart: "no"`; it has nothing.'],
    [{ mustRun: true }, "Set `mustRun: false`; it has `true`."],
    [{ mustRun: undefined }, "Set `mustRun: false`; it has nothing."],
    [{ start: true }, "Set `start: false`; it has `true`."],
  ])("refuses %o", (changes, why) => {
    expect(said(RULE, [server({ ...NOT_STARTED, ...changes })])).toEqual([
      `refused: b lacks the setting that keeps it stopped until its model is asked for. ${why}`,
    ]);
  });

  it("refuses one that lacks what every server has", () => {
    expect(said(RULE, [server({ ...NOT_STARTED, ipcMode: "private" })])).toEqual([
      expect.stringContaining('Set `ipcMode: "host"`; it has `private`.'),
    ]);
  });

  it("refuses one without the label", () => {
    expect(said(RULE, [server({ ...NOT_STARTED, labels: [] })])).toEqual([
      'refused: b lacks a restart policy that survives a reboot. Set `restart: "unless-stopped"`; it has `no`.',
    ]);
  });
});

describe("aggregate-utilization, with servers that start on request", () => {
  const RULE = "aggregate-utilization";
  const A = hostInstance(0.3);
  const b = (more: object = {}) =>
    server({ ...NOT_STARTED, command: asking("0.45"), ...more }, "b");
  const c = (more: object = {}) => server({ ...NOT_STARTED, command: asking("0.5"), ...more }, "c");
  const component = (sets: string[][], known = ["b", "c"]) =>
    declared(TYPE.machine, "dgx", {
      machine: "dgx",
      totalGiB: 121.63,
      hostInstance: { port: 8000, gpuMemoryUtilization: 0.3 },
      memory: { lines: [], together: { servers: known.map((name) => ({ name })), sets } },
      servers: [
        { name: "b", image: IMAGE, command: asking("0.45"), start: "onRequest" },
        { name: "c", image: IMAGE, command: asking("0.5"), start: "onRequest" },
      ],
    });

  it("judges each set by itself", () => {
    expect(said(RULE, [component([["b"], ["c"]]), A, b(), c()])).toEqual([]);
  });

  it("refuses a set that is too much", () => {
    expect(said(RULE, [component([["b", "c"]]), A, b(), c()])).toEqual([
      expect.stringContaining(
        "The servers of dgx claim 1.25 of its memory, and 0.90 is the limit.",
      ),
    ]);
  });

  it("says so once, in whatever order the servers are declared", () => {
    expect(said(RULE, [component([["b", "c"]]), A, c(), b()])).toHaveLength(1);
  });

  it("refuses a set of which a share is not known, however large another is", () => {
    const unknown = asking("x");
    const containers = [A, b({ command: asking("0.9") }), c({ command: unknown })];
    expect(said(RULE, [component([["b"], ["c"]]), ...containers]).join()).toContain(
      "refused: The memory share of c can't be judged: `--gpu-memory-utilization` is `x`, which is not a number.",
    );
  });

  it("adds all up where no component says what runs together", () => {
    expect(said(RULE, [A, b(), c()])).toEqual([expect.stringContaining("0.30 + b 0.45 + c 0.50")]);
  });

  it.each([
    ["another restart policy", { restart: "unless-stopped" }],
    ["mustRun", { mustRun: true }],
    ["no label", { labels: [] }],
  ])("counts one with %s as always running, whatever its label and the sets say", (_, more) => {
    expect(said(RULE, [component([["b"], ["c"]]), A, b(more), c()])).toEqual([
      expect.stringContaining("b 0.45 + c 0.50"),
    ]);
  });

  it("counts one that the component doesn't know", () => {
    expect(said(RULE, [component([["b"]], ["b"]), A, b(), c()])[0]).toContain("b 0.45 + c 0.50");
  });

  it("judges one in no set by itself", () => {
    expect(said(RULE, [component([["b"]]), A, b(), c({ command: asking("0.7") })])).toEqual([
      expect.stringContaining("instance A (host, port 8000) 0.30 + c 0.70"),
    ]);
  });
});

describe("memory-sum, of a server that never fits", () => {
  const findings = (share: number, machine: object = {}) => {
    const settings = stack(
      {
        instanceA: { gpuMemoryUtilization: 0.45 },
        inferenceServers: {
          b: serverInput({ servedModelName: "b", start: "onRequest", gpuMemoryUtilization: share }),
        },
        ...machine,
      },
      {},
    );
    return judge(declaredResources(plan(settings, { home: "/h" }))).filter(
      ({ verdict, name }) => verdict === "refused" && name === "memory-sum",
    );
  };

  it("says what it needs and what is left, and the advice fits", () => {
    const [refused, ...others] = findings(0.5, { operatingSystemGiB: 10 });
    expect(others).toEqual([]);
    expect(refused?.message).toBe(
      "b never fits: it needs 60.82 GiB, but 56.90 GiB is left. Set `gpuMemoryUtilization` of b to 0.43. The plan still warns of the sum of the shares. The rest is taken by what always runs. In the stack file: `machines.dgx.inferenceServers.b.gpuMemoryUtilization: 0.43`.",
    );
    expect([refused?.path, refused?.value]).toEqual([
      "machines.dgx.inferenceServers.b.gpuMemoryUtilization",
      0.43,
    ]);
    expect(findings(Number(refused?.value), { operatingSystemGiB: 10 })).toEqual([]);
  });

  it("says so of the shares", () => {
    expect(findings(0.46)[0]?.message).toContain(
      "b never fits: it needs a share of 0.46, but 0.45 is left. Set `gpuMemoryUtilization` of b to 0.45.",
    );
  });
});
