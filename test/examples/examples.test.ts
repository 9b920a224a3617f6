import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { dockerRun } from "../../cli/plan/dockerRun";
import type { PlannedContainer } from "../../components/planned/container";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";

/** Container names and published ports of each example, as `serving plan` has them. */
const EXAMPLES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no-instance-a.yaml": {
    "vllm-qwen3.6-35b-a3b-8001": "127.0.0.1:8001",
    "litellm-8787": "127.0.0.1:8787",
  },
  "two-servers.yaml": {
    "vllm-qwen3.6-35b-a3b-8001": "127.0.0.1:8001",
    "vllm-gpt-oss-20b-8002": "127.0.0.1:8002",
    "litellm-8787": "127.0.0.1:8787",
  },
  "two-sparks.yaml": {
    "vllm-minimax-m2.7-8001": "",
    "litellm-8787": "127.0.0.1:8787",
    "vllm-minimax-m2.7-8001-rank1": "",
  },
  "document-search.yaml": {
    "vllm-qwen3.6-35b-a3b-8001": "127.0.0.1:8001",
    "vllm-qwen3-embedding-8002": "127.0.0.1:8002",
    "vllm-qwen3-reranker-8003": "127.0.0.1:8003",
    "open-webui-8080": "127.0.0.1:8080",
  },
  "lan-with-key.yaml": {
    "vllm-qwen3.6-35b-a3b-8001": "127.0.0.1:8001",
    "litellm-8787": "0.0.0.0:8787",
    "open-webui-8080": "0.0.0.0:8080",
  },
  "only-ollama.yaml": { "open-webui-8080": "127.0.0.1:8080" },
};

interface Planned {
  readonly warnings: readonly { readonly code: string; readonly message: string }[];
  readonly machines: readonly {
    readonly containers: readonly PlannedContainer[];
    readonly endpoints: readonly {
      readonly name: string;
      readonly url: string;
      readonly network?: string;
    }[];
    readonly files: readonly { readonly role: string; readonly text: string }[];
  }[];
  readonly policies: readonly {
    readonly name: string;
    readonly verdict: string;
    readonly resource: string;
  }[];
}

async function planned(example: string): Promise<Planned> {
  const { code, out, err } = await runServing([
    "plan",
    "--file",
    `docs/examples/${example}`,
    "--format",
    "json",
  ]);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out);
}

/** As `docker run`, with the server itself instead of its gate, and one home whoever runs this. */
function ungatedRun(container: PlannedContainer): string {
  const mounts = container.mounts.map((mount) => ({
    ...mount,
    source: mount.source.replace(homedir(), "/home/me"),
  }));
  return dockerRun({ ...container, mounts, entrypoint: ["vllm", "serve"] });
}

const containersOf = ({ machines }: Planned) => machines.flatMap(({ containers }) => containers);

describe("the stack files in docs/examples/", () => {
  it("are all named here", () => {
    const files = readdirSync("docs/examples").filter((name) => name.endsWith(".yaml"));
    expect(files.sort()).toEqual(Object.keys(EXAMPLES).sort());
  });

  it.each(Object.entries(EXAMPLES))("%s is planned without a refusal", async (example, ports) => {
    const plan = await planned(example);
    expect(plan.policies.filter(({ verdict }) => verdict === "refused")).toEqual([]);
    const published = containersOf(plan).map((each) => [
      each.name,
      each.ports.map(({ ip, host }) => `${ip}:${host}`).join(),
    ]);
    expect(Object.fromEntries(published)).toEqual(ports);
  });

  /** What a plan of an example says with another share. */
  const withShare = async (example: string, before: string, share: string) => {
    const file = join(temporaryFolder("share-"), example);
    const text = readFileSync(`docs/examples/${example}`, "utf8");
    writeFileSync(
      file,
      text.replaceAll(`gpuMemoryUtilization: ${before}\n`, `gpuMemoryUtilization: ${share}\n`),
    );
    const plan: Planned = JSON.parse(
      (await runServing(["plan", "--file", file, "--format", "json"])).out,
    );
    const may = plan.warnings.flatMap(({ code, message }) =>
      code === "kv-room" ? [message.replace(/ may not start: .*/s, "")] : [],
    );
    const refused = plan.policies.filter(({ verdict }) => verdict === "refused");
    const hangs = plan.warnings.some(({ code }) => code === "aggregate-high");
    return { may, hangs, refused: refused.map(({ name }) => name) };
  };

  it("say why a server may not start in them, by shares that hold", async () => {
    const both = ["embedding:", "rerank:"];
    const isFull = { hangs: false, refused: ["aggregate-utilization", "memory-sum"] };
    const isFine = { hangs: false, refused: [] };
    expect(await withShare("two-servers.yaml", "0.3", "0.3")).toEqual({
      may: ["small:"],
      ...isFine,
    });
    const beyond = { may: [], hangs: true, refused: [] };
    expect(await withShare("two-servers.yaml", "0.3", "0.4")).toEqual(beyond);
    expect(await withShare("document-search.yaml", "0.1", "0.1")).toEqual({ may: both, ...isFine });
    expect(await withShare("document-search.yaml", "0.1", "0.28")).toEqual({
      may: both,
      ...isFull,
    });
    expect(await withShare("document-search.yaml", "0.1", "0.29")).toEqual({ may: [], ...isFull });
  });

  it("two-servers.yaml sends each client to the server that it names", async () => {
    const files = (await planned("two-servers.yaml")).machines.flatMap((machine) => machine.files);
    const text = (role: string) => files.find((file) => file.role === role)?.text ?? "";
    expect(text("codex-config")).toContain("http://127.0.0.1:8001/v1");
    expect(text("codex-config")).toContain('"qwen3.6-35b-a3b"');
    expect(text("client-env")).toContain("http://127.0.0.1:8002/v1");
    expect(text("client-env")).toContain("gpt-oss-20b");
  });

  it("two-sparks.yaml runs one rank on each machine, whose gates know each other", async () => {
    const plan = await planned("two-sparks.yaml");
    const ranks = containersOf(plan).filter(({ role }) => role === "inference-server");
    const gates = plan.machines
      .flatMap(({ files }) => files)
      .filter(({ role }) => role === "start-gate");
    const shown = [...ranks.map((each) => ungatedRun(each)), ...gates.map(({ text }) => text)].join(
      "\n\n",
    );
    await expect(`${shown.trimEnd()}\n`).toMatchFileSnapshot("../golden/two-sparks.txt");
    expect(
      plan.machines.map(({ endpoints }) => endpoints.map(({ url, network }) => [url, network])),
    ).toEqual([
      [
        ["http://192.168.100.11:8001/v1", undefined],
        ["http://127.0.0.1:8787", undefined],
      ],
      [],
    ]);
    expect(plan.warnings.map(({ code }) => code)).not.toContain("link-by-sockets");
  });

  it("lan-with-key.yaml serves the network by what checks who comes, and warns of nothing else", async () => {
    const plan = await planned("lan-with-key.yaml");
    expect(plan.warnings.map(({ code }) => code)).not.toContain("client-host");
    expect(plan.machines.flatMap((machine) => machine.endpoints)).toEqual(
      expect.arrayContaining([
        { key: "b", name: "vllm-qwen3.6-35b-a3b-8001", url: "http://127.0.0.1:8001/v1" },
        {
          key: "bridge",
          name: "litellm-8787",
          url: "http://127.0.0.1:8787",
          network: "http://dgx.local:8787",
        },
        {
          key: "chat-ui",
          name: "open-webui-8080",
          url: "http://127.0.0.1:8080",
          network: "http://dgx.local:8080",
        },
      ]),
    );
    const launchers = plan.machines
      .flatMap(({ files }) => files)
      .filter(({ role }) => role.startsWith("launcher-"));
    expect(launchers.map(({ role }) => role)).toEqual([
      "launcher-claude-code",
      "launcher-codex",
      "launcher-client-env",
    ]);
    for (const { text } of launchers) {
      expect(text).toContain("http://dgx.local:8787/v1/models");
      expect(text).not.toContain(":8001");
    }
    const bridge = containersOf(plan).find(({ role }) => role === "bridge");
    expect(bridge?.secretEnv).toEqual(["LOCAL_SERVING_BRIDGE_KEY"]);
    expect(plan.policies.filter(({ name }) => name === "lan-exposure")).toMatchObject([
      { verdict: "pass" },
    ]);
  });
});
