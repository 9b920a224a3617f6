import { describe, expect, it } from "vitest";
import { declaredResources } from "../../../components/machine/declaredResources";
import { plan } from "../../../components/plan/plan";
import { TYPE } from "../../../components/planned/type";
import { judge } from "../../../policies/judge";
import { stack } from "../../fixtures/machine";
import { KEY_VARIABLE, machine } from "../../fixtures/onDemand";
import { BRIDGE, CHAT_UI, HOME } from "../../fixtures/services";

type Declared = ReturnType<typeof declaredResources>[number];
type Props = Record<string, unknown>;

const resources = (more: Props = {}): Declared[] =>
  declaredResources(
    plan(stack(machine({ bridge: BRIDGE, chatUi: CHAT_UI, ...more })), { home: HOME }),
  );

/** What a rule refuses after a resource was changed. */
function refused(
  change: (props: Props, resource: Declared) => Props,
  of: (resource: Declared) => boolean = ({ type }) => type === TYPE.onDemand,
  rule = "on-demand",
) {
  const changed = resources().map((each) =>
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

  it.each(["0.0.0.0", "192.168.1.5", "172.31.241.2"])("refuses to listen on %s", (address) => {
    expect(refused(() => ({ address }))).toEqual([
      [
        `llama-swap listens on ${address}, where other computers could use it to start and stop servers. It may listen on 127.0.0.1 or on the gateway of its own Docker network. The local network uses the bridge and its key.`,
        undefined,
        undefined,
      ],
    ]);
  });

  it("refuses one without a key on a network", () => {
    const says = expect.stringMatching(
      /^llama-swap listens on 172\.31\.241\.1 and asks for no key: every container on its network could start and stop servers\. Name the variable/,
    );
    const expected = [[says, `${SETTING}.keyVariable`, KEY_VARIABLE]];
    expect(refused(config({ apiKeys: [] }))).toEqual(expected);
    expect(refused(config({ apiKeys: undefined }))).toEqual(expected);
    expect(refused(() => ({ keyVariable: undefined }))).toEqual(expected);
  });

  it("refuses a key in clear, and doesn't show it", () => {
    expect(refused(config({ apiKeys: ["sk-1234567890abcdef"] }))).toEqual([
      [
        "llama-swap's configuration holds a key in plain text. Name a variable instead.",
        undefined,
        undefined,
      ],
    ]);
  });

  it("refuses a loading state and kept prompts", () => {
    const loading = [
      "llama-swap's configuration has `sendLoadingState`: a start that fails then looks like an empty answer. It must be false.",
      undefined,
      undefined,
    ];
    expect(refused(config({ sendLoadingState: true }))).toEqual([loading]);
    expect(refused(config({ models: { coder: { sendLoadingState: true } } }))).toEqual([loading]);
    const kept = [
      "llama-swap's configuration keeps prompts and answers for its pages. `captureBuffer` must be 0.",
      undefined,
      undefined,
    ];
    expect(refused(config({ captureBuffer: 10 }))).toEqual([kept]);
    expect(refused(config({ captureBuffer: undefined }))).toEqual([kept]);
  });

  it("refuses a program without its SHA-256", () => {
    expect(refused(() => ({ program: { version: "v250" } }))).toEqual([
      [
        expect.stringMatching(
          /^llama-swap v250 is not pinned, and its releases are not signed\. Run `serving pin llama-swap --write`, which records the SHA-256 of its archive\./,
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
          /^vllm-coder-8002 is started by llama-swap, but something else may also start it beside servers that leave it no room: it needs restart policy `no`, `start: false`, `mustRun: false` and its label\./,
        ),
        "labels" in change ? undefined : "machines.dgx.inferenceServers.c.start",
        "labels" in change ? undefined : "onRequest",
      ],
    ]);
  });

  it("refuses a server that can be asked without it", () => {
    const ports = [{ ip: "0.0.0.0", internal: 8002, external: 8002, protocol: "tcp" }];
    expect(refused(() => ({ ports }), isCoder)).toEqual([
      [
        expect.stringMatching(
          /^vllm-coder-8002 is started by llama-swap but can be reached without it\. llama-swap doesn't see such requests and could stop the server during one: publish its port on 127\.0\.0\.1 only\./,
        ),
        "machines.dgx.inferenceServers.c.listen",
        "127.0.0.1",
      ],
    ]);
  });

  it("refuses a server that nobody declares", () => {
    const servers = [{ key: "x", container: "vllm-x", model: "x", names: [] }];
    expect(refused(() => ({ servers }))).toEqual([
      ["llama-swap starts vllm-x, which is not declared on its machine.", undefined, undefined],
    ]);
  });

  it("refuses servers together that are in no set", () => {
    const matrix = { sets: { s1: "c & d" } };
    const routing = { router: { use: "matrix", settings: { matrix } } };
    expect(refused(config({ routing }))).toEqual([
      [
        "llama-swap's configuration lets vllm-coder-8002 and vllm-other-8003 run together, but no set in the machine's memory ledger does.",
        undefined,
        undefined,
      ],
    ]);
  });

  it("refuses a name that the bridge sends to several servers", () => {
    const models = [{ name: "coder" }, { name: "coder" }];
    const isMachine = ({ type }: Declared) => type === TYPE.machine;
    expect(refused(() => ({ bridge: { models } }), isMachine)).toEqual([
      [
        "The bridge sends `coder` to several servers, one of which llama-swap starts: requests and checks meant for another server would start it. Give vllm-coder-8002 a name of its own (`servedModelName`).",
        undefined,
        undefined,
      ],
    ]);
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
        "dgx-on-demand takes host port 8003/tcp on 127.0.0.1, which vllm-other-8003 takes on 127.0.0.1. Give one of them another port, such as 8004.",
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
        "dgx-on-demand takes host port 8010/tcp on 172.31.241.1, which litellm-8010 takes on 0.0.0.0. Give one of them another port, such as 8004.",
        `${SETTING}.port`,
        8004,
      ],
    ]);
  });
});
