import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { parseStackFile } from "../../components/settings/load";
import { judge } from "../../policies/judge";
import { faultLines } from "../fixtures/faults";
import { serverInput } from "../fixtures/machine";
import { ALL_CLIENTS, BRIDGE, CHAT_UI } from "../fixtures/services";
import { CLEAN_COMMAND, record, server } from "../policies/declared";

type Block = Record<string, unknown>;

function text(machine: Block, b: Block = {}): string {
  const dgx = {
    totalGiB: 121.63,
    instanceA: "none",
    inferenceServers: {
      b: serverInput({ model: { id: "org/model", family: "qwen3", weightsGB: 20 }, ...b }),
    },
    bridge: BRIDGE,
    chatUi: CHAT_UI,
    ...machine,
  };
  return stringify({ config: { "local-serving:machines": { dgx } } });
}

function planned(machine: Block, b: Block = {}) {
  const everything = plan(parseStackFile("Pulumi.dgx.yaml", text(machine, b)), {
    home: "/home/me",
    models: {},
  });
  const [only] = everything.machines;
  if (only === undefined) throw new Error("no machine planned");
  return {
    ...only,
    warnings: everything.warnings.map(({ code }) => code),
    refused: refusals(everything),
  };
}

const refusals = (everything: ReturnType<typeof plan>) =>
  judge(declaredResources(everything)).filter(({ verdict }) => verdict === "refused");

/** Faults of a stack file as `path: message`. */
const faults = (machine: Block, b: Block = {}) =>
  faultLines(() => parseStackFile("Pulumi.dgx.yaml", text(machine, b)));

/** Members that every object of JavaScript has. */
describe.each(["constructor", "toString", "hasOwnProperty"])("%s", (name) => {
  it("is a served name like any other, for the bridge, the chat UI and every client", () => {
    const { serve, bridge, clients, containers, refused } = planned(
      { clients: ALL_CLIENTS },
      { servedModelName: name, aliases: [] },
    );
    expect(refused).toEqual([]);
    expect(serve.map(({ names }) => names)).toEqual([[name]]);
    expect(containers[0]?.name).toBe(`vllm-${name.toLowerCase()}-8001`);
    expect(bridge?.models[0]).toMatchObject({ name, model: `hosted_vllm/${name}` });
    const own = clients.filter(({ client }) => client !== "claude-code");
    expect(own.map(({ tiers }) => tiers)).toEqual(own.map(() => ({ model: name })));
    for (const { client, files } of clients)
      expect(files.map((file) => file.text).join(), client).toContain(name);
  });

  it("is a client's model that must be served", () => {
    expect(
      planned({ clients: { codex: { model: name } } }).refused.map(({ name: rule }) => rule),
    ).toEqual(["client-tiers"]);
    expect(planned({ clients: { codex: { model: name } } }, { aliases: [name] }).refused).toEqual(
      [],
    );
  });

  it("is a model of Ollama, counted where its memory is declared", () => {
    const of = (loadedGiB: Block) =>
      planned({ simpleServer: { mode: "host", models: [name], loadedGiB } });
    const line = { name: "Ollama's loaded models", gib: 3, basis: "setting" };
    expect(of({ [name]: 3 }).ledger.lines).toContainEqual(expect.objectContaining(line));
    expect(of({ [name]: 3 }).warnings).not.toContain("simple-server-uncounted");
    expect(of({}).warnings).toContain("simple-server-uncounted");
    expect(
      faults({ simpleServer: { mode: "host", models: [], loadedGiB: { [name]: 3 } } }),
    ).toEqual([
      `machines.dgx.simpleServer.loadedGiB.${name}: \`${name}\` is not one of the simple server's \`models\`.`,
    ]);
  });

  it("is a model of which nothing is known", () => {
    const model = { id: name, family: "qwen3" };
    expect(planned({}, { model }).kv).toEqual({ "vllm-model-8001": null });
    expect(planned({}, { model }).warnings).toContain("kv-unknown");
  });

  it("is no server, client or setting", () => {
    const codex = { clients: { codex: { server: name } } };
    const at = "machines.dgx";
    expect(faults(codex)).toEqual([
      expect.stringMatching(
        `^${at}.clients.codex.server: (No server|Expected a key of|This word is reserved)`,
      ),
    ]);
    expect(faults({ clients: { [name]: {} } })).toEqual([
      expect.stringMatching(`^${at}.clients.${name}: Unknown key \`${name}\`.`),
    ]);
    expect(faults({}, { [name]: 1 })).toEqual([
      expect.stringMatching(`^${at}.inferenceServers.b.${name}: Unknown key \`${name}\`.`),
    ]);
    expect(faults({ harness: { judge: name } })).toHaveLength(1);
  });
});

describe("__proto__", () => {
  const PROTO = "The name `__proto__` is reserved by JavaScript: write another one.";
  const b = "machines.dgx.inferenceServers.b";
  it.each<[string, Block, Block, string]>([
    ["a served name", {}, { servedModelName: "__proto__" }, `${b}.servedModelName`],
    ["an alias", {}, { aliases: ["__proto__"] }, `${b}.aliases.0`],
    [
      "a client's model",
      { clients: { codex: { model: "__proto__" } } },
      {},
      "machines.dgx.clients.codex.model",
    ],
    [
      "a model of Ollama",
      { simpleServer: { mode: "host", models: ["__proto__"] } },
      {},
      "machines.dgx.simpleServer.models.0",
    ],
    ["a setting", {}, JSON.parse('{"__proto__": 1}'), `${b}.__proto__`],
    [
      "a client",
      { clients: JSON.parse('{"__proto__": {}}') },
      {},
      "machines.dgx.clients.__proto__",
    ],
  ])("is refused once, as %s", (_, machine, server, path) => {
    expect(faults(machine, server)).toEqual([expect.stringContaining(`${path}: ${PROTO}`)]);
  });
});

describe("a container of any name", () => {
  it.each(["constructor", "__proto__", "toString"])("is judged like another: %s", (name) => {
    const command = CLEAN_COMMAND.map((word) => (word === "0.45" ? "0.95" : word));
    const said = (of: string) =>
      judge([server({ command }, of), record()])
        .filter(({ verdict }) => verdict !== "pass")
        .map(({ name: rule, message }) => `${rule}: ${message.replaceAll(of, "NAME")}`);
    expect(said(name)).toEqual(said("plain-name"));
    expect(said(name).join()).toContain("NAME 0.95");
  });
});
