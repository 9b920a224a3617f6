import { UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { describe, expect, it } from "vitest";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { declaredResources } from "../../../components/program/machine/declaredResources";
import { judge } from "../../../policies/judge";
import { stack } from "../../fixtures/machine";
import { KEY_VARIABLE, machine, SHA256 } from "../../fixtures/onDemand";
import { BRIDGE, CHAT_UI, HOME } from "../../fixtures/services";

type Declared = ReturnType<typeof declaredResources>[number];
type Props = Record<string, unknown>;

const resources = (more: Props = {}): Declared[] =>
  declaredResources(
    plan(stack(machine({ bridge: BRIDGE, chatUi: CHAT_UI, ...more })), { home: HOME }),
  );

const planned = resources();

/** What a rule refuses after a resource was changed. */
function refused(
  change: (props: Props, resource: Declared) => Props,
  of: (resource: Declared) => boolean = ({ type }) => type === TYPE.onDemand,
  rule = "on-demand",
) {
  const changed = planned.map((each) =>
    of(each) ? { ...each, props: { ...each.props, ...change({ ...each.props }, each) } } : each,
  );
  return judge(changed)
    .filter(({ name, verdict }) => name === rule && verdict === "refused")
    .map(({ message, path, value }) => [message, path, value]);
}

const config = (more: Props) => (props: Props) => ({
  config: { ...(props.config as Props), ...more },
});
const isCoder = ({ type, name }: Declared) => type === TYPE.container && name === "dgx-c";
const isMachine = ({ type }: Declared) => type === TYPE.machine;
const isEither = (each: Declared) => isMachine(each) || each.type === TYPE.onDemand;
const SETTING = "machines.dgx.onDemand";

describe("on-demand", () => {
  it("passes what the plan declares, with and without containers that ask", () => {
    const verdicts = (more: Props) =>
      judge(resources(more))
        .filter(({ name }) => ["on-demand", "host-ports"].includes(name))
        .map(({ verdict }) => verdict);
    expect(verdicts({})).toEqual(["pass", "pass"]);
    expect(verdicts({ bridge: undefined, chatUi: undefined })).toEqual(["pass", "pass"]);
  });

  it("says nothing where no machine has it", () => {
    const judged = (declared: Declared[]) =>
      judge(declared).filter(({ name }) => name === "on-demand");
    expect(judged(planned)).toHaveLength(1);
    expect(judged(planned.filter(({ type }) => type !== TYPE.onDemand))).toEqual([]);
  });

  it.each([
    ["0.0.0.0", "0.0.0.0"],
    ["192.168.1.5", "192.168.1.5"],
    ["172.31.241.2", "172.31.241.2"],
    ["an address that is not known yet", UNKNOWN],
  ])("refuses to listen on %s", (named, address) => {
    expect(refused(() => ({ address }))).toEqual([
      [
        `llama-swap listens on ${named}, where other computers reach it. They could start and stop servers. It may listen on 127.0.0.1 or on the gateway of its own Docker network. The local network uses the bridge and its key.`,
        undefined,
        undefined,
      ],
    ]);
  });

  it("refuses one without a key on a network", () => {
    const says = expect.stringMatching(
      /^llama-swap listens on 172\.31\.241\.1 and asks for no key\. Name the variable/,
    );
    const expected = [[says, `${SETTING}.keyVariable`, KEY_VARIABLE]];
    expect(refused(config({ apiKeys: [] }))).toEqual(expected);
    expect(refused(config({ apiKeys: undefined }))).toEqual(expected);
    expect(refused(config({ apiKeys: UNKNOWN }))).toEqual(expected);
    expect(refused(() => ({ keyVariable: undefined }))).toEqual(expected);
  });

  it.each([
    [["sk-1234567890abcdef"]],
    [[`\${env.KEY}`, "sk-1234567890abcdef"]],
    [[`sk-\${env.KEY}`]],
    [[`\${env.KEY}-1234567890abcdef`]],
    [[UNKNOWN]],
  ])("refuses a key in clear, and doesn't show it (%#)", (apiKeys) => {
    expect(refused(config({ apiKeys }))).toEqual([
      [
        "llama-swap's configuration holds a key in plain text. Name a variable instead.",
        undefined,
        undefined,
      ],
    ]);
  });

  it("refuses a loading state and kept prompts", () => {
    const loading = [
      "llama-swap's configuration has `sendLoadingState`. It must be false: a start that fails then looks like an empty answer.",
      undefined,
      undefined,
    ];
    expect(refused(config({ sendLoadingState: true }))).toEqual([loading]);
    expect(refused(config({ models: { coder: { sendLoadingState: true } } }))).toEqual([loading]);
    const kept = [
      "llama-swap's configuration keeps prompts and answers. `captureBuffer` must be 0.",
      undefined,
      undefined,
    ];
    expect(refused(config({ captureBuffer: 10 }))).toEqual([kept]);
    expect(refused(config({ captureBuffer: undefined }))).toEqual([kept]);
  });

  it.each([
    ["llama-swap v250", { version: "v250" }],
    ["llama-swap", { version: UNKNOWN, sha256: UNKNOWN }],
    ["llama-swap", { sha256: `${SHA256}0` }],
    ["llama-swap", { sha256: `0${SHA256}` }],
  ])("refuses a program without its SHA-256: %s, %o", (named, program) => {
    expect(refused(() => ({ program }))).toEqual([
      [
        expect.stringMatching(
          new RegExp(
            `^${named} is not pinned, and its releases are not signed\\. Run \`serving pin llama-swap --write\`, which records the SHA-256 of its archive\\.`,
          ),
        ),
        `${SETTING}.program.sha256`,
        undefined,
      ],
    ]);
  });

  it.each([
    [{ restart: "unless-stopped" }],
    [{ mustRun: true }],
    [{ start: true }],
    [{ labels: [] }],
  ])("refuses a server that something else may start: %o", (change) => {
    expect(refused(() => change, isCoder)).toEqual([
      [
        expect.stringMatching(
          new RegExp(
            `^${"labels" in change ? "vllm-coder-8002" : "c"} may be started by something else than llama-swap\\. .* \`start: false\``,
          ),
        ),
        "labels" in change ? undefined : "machines.dgx.inferenceServers.c.start",
        "labels" in change ? undefined : "onRequest",
      ],
    ]);
  });

  const port = (ip: unknown) => ({ ip, internal: 8002, external: 8002, protocol: "tcp" });
  it.each<[string, unknown]>([
    ["everywhere", [port("0.0.0.0")]],
    ["on one port of two", [port("127.0.0.1"), port("0.0.0.0")]],
    ["on an address that is not known", [port(UNKNOWN)]],
    ["on ports that are not known", UNKNOWN],
  ])("refuses a server that can be asked without it: %s", (_, ports) => {
    expect(refused(() => ({ ports }), isCoder)).toEqual([
      [
        expect.stringMatching(
          /^c can be reached without llama-swap, which starts it\. Publish its port on 127\.0\.0\.1 only:/,
        ),
        "machines.dgx.inferenceServers.c.listen",
        "127.0.0.1",
      ],
    ]);
  });

  it.each([
    ["vllm-x", "vllm-x"],
    ["a container", UNKNOWN],
  ])("refuses a server that nobody declares: %s", (named, declared) => {
    const servers = [{ key: "x", container: declared, model: "x", names: [] }];
    expect(refused(() => ({ servers }))).toEqual([
      [`llama-swap starts ${named}, which is not declared on its machine.`, undefined, undefined],
    ]);
  });

  const routed = (sets: Props) =>
    refused(config({ routing: { router: { use: "matrix", settings: { matrix: { sets } } } } }));

  it.each([
    ["c & d", "vllm-coder-8002 and vllm-other-8003"],
    ["c & x", "vllm-coder-8002 and x"],
  ])("refuses servers together that are in no set: %s", (set, names) => {
    expect(routed({ s1: set })).toEqual([
      [
        `llama-swap lets ${names} run together, which don't fit. No set in the machine's memory ledger has all of them.`,
        undefined,
        undefined,
      ],
    ]);
  });

  it("passes servers together that are in one set of several", () => {
    const names = ["vllm-coder-8002", "vllm-other-8003"];
    const settings = { matrix: { sets: { s1: "c & d" } } };
    const found = refused(
      (props, { type }) =>
        type === TYPE.onDemand
          ? config({ routing: { router: { use: "matrix", settings } } })(props)
          : { memory: { together: { sets: [names.slice(1), names] } } },
      isEither,
    );
    expect(found).toEqual([]);
  });

  it("passes one server of a set that the ledger lacks, and a set that is not known", () => {
    expect(routed({ s1: "x", s2: UNKNOWN })).toEqual([]);
  });

  const sent = (twice: string, of: string) => [
    `The bridge sends \`${twice}\` to several servers, also one on request. Give ${of} a name of its own (\`servedModelName\`): requests and checks meant for another server would start it by llama-swap.`,
    undefined,
    undefined,
  ];

  it("refuses a name that the bridge sends to several servers", () => {
    const models = [{ name: "coder" }, { name: "coder" }];
    expect(refused(() => ({ bridge: { models } }), isMachine)).toEqual([
      sent("coder", "vllm-coder-8002"),
    ]);
  });

  it.each([
    [{ model: "m", names: ["coder"] }, [sent("coder", "vllm-coder-8002")]],
    [{ model: "coder", names: UNKNOWN }, [sent("coder", "vllm-coder-8002")]],
    [{ model: UNKNOWN, names: [UNKNOWN] }, []],
  ])("counts each of a server's names: %o", (names, expected) => {
    const models = [{ name: "coder" }, { name: "coder" }, { name: UNKNOWN }, { name: UNKNOWN }];
    const servers = [{ key: "c", container: "vllm-coder-8002", ...names }];
    expect(
      refused(
        (_, { type }) => (type === TYPE.machine ? { bridge: { models } } : { servers }),
        isEither,
      ),
    ).toEqual(expected);
  });

  it("says which server has no name of its own where its container is not known", () => {
    const models = [{ name: "coder" }, { name: "coder" }];
    const servers = [{ key: "c", container: UNKNOWN, model: "coder", names: [] }];
    const found = refused(
      (_, { type }) => (type === TYPE.machine ? { bridge: { models } } : { servers }),
      isEither,
    );
    expect(found).toContainEqual(sent("coder", "it"));
  });
});

describe("host-ports, of llama-swap", () => {
  const port = (more: Props) =>
    judge(resources({ bridge: undefined, chatUi: undefined, ...more }))
      .filter(({ name, verdict }) => name === "host-ports" && verdict === "refused")
      .map(({ path, value, message }) => [
        message.replace(/ In the stack file.*/s, ""),
        path,
        value,
      ]);
  const onPort = (number: number) => ({ onDemand: { ...machine().onDemand, port: number } });

  it("refuses a server's port, and the port that it names is free", () => {
    expect(port(onPort(8003))).toEqual([
      [
        "onDemand and d both take host port 8003/tcp. Give one of them another port, such as 8004. They listen on 127.0.0.1 and 127.0.0.1.",
        `${SETTING}.port`,
        8004,
      ],
    ]);
    expect(port(onPort(8004))).toEqual([]);
  });

  it("leaves a port on loopback to others where it listens on a gateway", () => {
    expect(port({ bridge: { ...BRIDGE, port: 8010 } })).toEqual([]);
    expect(
      port({ bridge: { ...BRIDGE, port: 8010, listen: "0.0.0.0", keyVariable: "K" } }),
    ).toEqual([
      [
        "onDemand and bridge both take host port 8010/tcp. Give one of them another port, such as 8004. They listen on 172.31.241.1 and 0.0.0.0.",
        `${SETTING}.port`,
        8004,
      ],
    ]);
  });
});
