import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { plan } from "../../components/plan/plan";
import {
  type OtherStack,
  otherStackFindings,
  readOtherPlans,
  readOtherStack,
} from "../../components/preflight/otherStack";
import { preflight } from "../../components/preflight/preflight";
import { type Answers, FakeDocker, inspected } from "../cli/fakeDocker";
import { stack } from "../fixtures/machine";
import { BRIDGE } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";

const [machine] = plan(stack({ bridge: BRIDGE }), { home: "/home/me" }).machines;
if (machine === undefined) throw new Error("no machine planned");
const B = "vllm-model-8001";
const LITELLM = "litellm-8787";
const NETWORK = "local-serving";

const id = (letter: string) => letter.repeat(64);
/** Containers by letter, with the label of a machine or without. */
const THERE: Record<string, Record<string, unknown>> = {
  a: { ...inspected({ name: B, labels: { "local-serving.machine": "spark" } }), Id: id("a") },
  b: { ...inspected({ name: LITELLM, labels: { "local-serving.machine": "dgx" } }), Id: id("b") },
  c: { ...inspected({ name: B }), Id: id("c") },
  d: { ...inspected({ name: `${B}0`, labels: {} }), Id: id("d") },
};

/** An engine that has these containers by name, and these in the network. */
function engine(called: string, joined: string, networks = ""): Answers {
  const ids = (letters: string) => ({ out: [...letters].map((each) => `${id(each)}\n`).join("") });
  const states = [...new Set(called + joined)].map((each) => THERE[each]);
  return {
    "ps --all --quiet --no-trunc --filter name=": ids(called),
    "ps --all --quiet --no-trunc --filter label=": ids(joined),
    "network ls": { out: networks },
    // Each question is about one set of containers.
    inspect: { out: JSON.stringify(states) },
  };
}

async function read(answers: Answers, isNew = false) {
  const docker = new FakeDocker(answers);
  vi.stubEnv("PATH", docker.env.PATH ?? "");
  const found = await readOtherStack(machine as NonNullable<typeof machine>, {
    machines: ["dgx"],
    isNew,
  });
  vi.unstubAllEnvs();
  return { found, asked: readFileSync(docker.asked, "utf8") };
}

describe("what another stack has under names of the plan", () => {
  it("is nothing on a machine without any, or with those of this stack", async () => {
    expect((await read(engine("", ""))).found).toBeUndefined();
    expect((await read(engine("b", "b"))).found).toBeUndefined();
    expect((await read({})).found).toBeUndefined();
  });

  it("is found by the label of its containers, whose name or network the plan has", async () => {
    const { found, asked } = await read(engine("ab", "a", `${NETWORK}\n`));
    expect(found).toEqual({ machines: ["spark"], containers: [B], network: NETWORK });
    expect(asked).toContain(`--filter name=^/?${B}$ --filter name=^/?${LITELLM}$\n`);
    expect(asked).toContain(`--filter label=local-serving.machine --filter network=${NETWORK}\n`);
    expect(asked).not.toContain("network ls");
  });

  it("may be a container that no stack made; a longer name is another", async () => {
    const other = { machines: [], containers: [B] };
    expect((await read(engine("cd", ""), true)).found).toEqual(other);
    // Where the state has the stack, Docker alone knows whose it is.
    expect((await read(engine("cd", ""))).found).toBeUndefined();
  });

  it("is everything that is there before the first `up`", async () => {
    expect((await read(engine("b", "b", `${NETWORK}\n`), true)).found).toEqual({
      machines: ["dgx"],
      containers: [LITELLM],
      network: NETWORK,
    });
    expect((await read(engine("", "", `${NETWORK}\n`), true)).found).toEqual({
      machines: [],
      containers: [],
      network: NETWORK,
    });
    expect((await read(engine("", "", ""), true)).found).toBeUndefined();
  });

  it("is told by an applied plan, too, which says whose a network is", async () => {
    const home = temporaryFolder("other-plans-");
    const [here] = plan(stack({ bridge: BRIDGE }), { home }).machines;
    const [moved] = plan(stack({ bridge: BRIDGE, network: "second" }), { home }).machines;
    if (here === undefined || moved === undefined) throw new Error("no machine planned");
    const own = { machines: ["dgx"], isNew: false };
    expect(await readOtherPlans(here, own)).toEqual([]);
    const leave = (name: string, containers: readonly unknown[]) => {
      const path = join(home, ".local/share/local-serving", name, "applied-plan.json");
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, JSON.stringify({ machine: { name, network: NETWORK, containers } }));
    };
    leave("spark", here.containers.slice(0, 1));
    leave("dgx", here.containers);
    expect(await readOtherPlans(here, own)).toEqual([
      { machines: ["spark"], containers: [B], network: NETWORK },
    ]);
    expect(await readOtherPlans(here, { ...own, isNew: true })).toHaveLength(2);
    expect(await readOtherPlans(moved, own)).toEqual([{ machines: ["spark"], containers: [B] }]);
    leave("spark", []);
    expect(await readOtherPlans(moved, own)).toEqual([]);
    const docker = new FakeDocker(engine("", "", `${NETWORK}\n`));
    vi.stubEnv("PATH", docker.env.PATH ?? "");
    rmSync(join(home, ".local/share/local-serving/dgx"), { recursive: true });
    expect(await readOtherStack(here, { ...own, isNew: true })).toEqual({
      machines: ["spark"],
      containers: [],
      network: NETWORK,
    });
    vi.unstubAllEnvs();
  });
});

const SAID: readonly (readonly [string, OtherStack, string])[] = [
  [
    "another machine name",
    { machines: ["spark"], containers: [B], network: NETWORK },
    `Another stack is applied here, which calls this machine \`spark\`. It has \`${B}\`, the network \`${NETWORK}\`. Edit the stack file of that machine, or run \`serving down\` in its folder first. If you renamed the machine, write its old name again and run \`serving down\` before you rename it.`,
  ],
  [
    "this machine name",
    { machines: ["dgx"], containers: [B, LITELLM] },
    `A machine \`dgx\` is applied here, and the state of this stack has nothing of it: \`${B}\`, \`${LITELLM}\`. If a stack of another folder made it, edit the stack file there, or run \`serving down\` there first. If the state of this folder was lost, copy \`.pulumi-state\` back.`,
  ],
  [
    "a container of nobody's",
    { machines: [], containers: [B] },
    `This stack would make \`${B}\`, and a container of that name exists that no stack of this program made. Give it another name, as with \`docker rename ${B} NAME\`, or remove it.`,
  ],
  [
    "a network alone",
    { machines: [], containers: [], network: NETWORK },
    `This stack would make the network \`${NETWORK}\`, and it exists already. If nothing else uses it, run \`docker network rm ${NETWORK}\`; else write another \`network\` for the machine.`,
  ],
];

describe("the refusal", () => {
  it.each(SAID)("names whose it is and what to do: %s", (_, other, message) => {
    const isNetwork = other.containers.length === 0;
    expect(otherStackFindings(machine, other)).toEqual([
      { verdict: "refused", message, ...(isNetwork ? { setting: "network" } : {}) },
    ]);
    expect(otherStackFindings(machine, undefined)).toEqual([]);
  });

  it.each([
    ["a stack that has a state", {}, [`network \`${NETWORK}\``], []],
    ["a new stack", { LOCAL_SERVING_NEW_STACK: "on" }, [], ["A machine `dgx` is applied here"]],
  ])("comes at the preview, before anything is made: %s", async (_, env, absent, said) => {
    const docker = new FakeDocker(engine("b", "b", `${NETWORK}\n`));
    for (const [name, value] of Object.entries({ ...docker.env, ...env })) vi.stubEnv(name, value);
    const updating = { locate: () => ({}), fingerprint: "settings", preview: true };
    const isNew = "LOCAL_SERVING_NEW_STACK" in env;
    const found = await preflight({ machines: [machine] }, { ...updating, isNew });
    vi.unstubAllEnvs();
    const messages = found.filter(({ verdict }) => verdict === "refused");
    expect(messages.map(({ name }) => name)).toEqual(said.map(() => "preflight of dgx"));
    for (const each of said) expect(messages[0]?.message).toContain(each);
    for (const each of absent) expect(JSON.stringify(found)).not.toContain(each);
  });
});
