import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ClientKind } from "../../components/clients/kind";
import { CLIENTS } from "../../components/clients/registry";
import { keyFault } from "../../components/planned/networkKey";
import { PLACEHOLDER_KEY } from "../../components/planned/reach";
import { BRIDGE, fileOf, planned } from "../fixtures/services";
import { httpServer } from "../layers/httpServer";
import { temporaryFolder } from "../layers/temporaryFolder";

/**
 * Within this a launcher says that a server is not well, on a busy machine too; clients wait a
 * minute and longer.
 */
const PATIENCE_MS = 20_000;

const folder = temporaryFolder("launchers-");

const program = (path: string, text: string) => {
  writeFileSync(path, text);
  chmodSync(path, 0o755);
};

/** Prints each argument and the variables that tests look at, then ends with 7. */
const FAKE_CLIENT = `#!/bin/sh
printf 'argument [%s]\\n' "$@"
env | grep -E '^(ANTHROPIC|OPENAI|LOCAL_SERVING|BRIDGE_KEY|CODEX_HOME|OPENCODE|PI_|QWEN)' | sort
exit 7
`;
const programOf = ({ program, name }: ClientKind) => program?.name ?? name;
const bin = join(folder, "bin");
beforeAll(() => {
  mkdirSync(bin);
  for (const name of ["studio", ...CLIENTS.map(programOf)]) program(join(bin, name), FAKE_CLIENT);
});

function pathOf(name: string, tools: readonly string[]): string {
  const path = join(folder, name);
  mkdirSync(path);
  for (const tool of tools) symlinkSync(`/usr/bin/${tool}`, join(path, tool));
  return `${bin}:${path}`;
}

interface Served {
  readonly port: number;
  readonly authorizations: (string | undefined)[];
}
async function serve(answer: RequestListener): Promise<Served> {
  const authorizations: (string | undefined)[] = [];
  const { port } = await httpServer((request, response) => {
    authorizations.push(request.headers.authorization);
    answer(request, response);
  });
  return { port, authorizations };
}
const lists =
  (...ids: string[]): RequestListener =>
  (_request, response) => {
    const permission = [{ id: "modelperm-1", object: "model_permission" }];
    response.end(
      JSON.stringify({ object: "list", data: ids.map((id) => ({ id, permission })) }, null, 1),
    );
  };

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}
let count = 0;
/** Writes the launcher of a plan into the folder and runs it as a user would. */
function run(
  text: string,
  options: { args?: string[]; env?: Record<string, string>; shell?: string; path?: string } = {},
): Promise<Ran> {
  const file = join(folder, `launcher-${count++}`);
  program(file, text);
  const started = Date.now();
  return new Promise((resolve) => {
    const child = spawn(options.shell ?? "dash", [file, ...(options.args ?? [])], {
      env: { PATH: options.path ?? `${bin}:/usr/bin:/bin`, HOME: folder, ...options.env },
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => {
      out += String(chunk);
    });
    child.stderr.on("data", (chunk) => {
      err += String(chunk);
    });
    child.on("close", (code) => resolve({ code, out, err, ms: Date.now() - started }));
  });
}
const launcher = (
  client: string,
  port: number,
  clients: Record<string, unknown>,
  machine: Record<string, unknown> = {},
) =>
  fileOf(
    planned({ clients: { folder: join(folder, "files"), ...clients }, ...machine }, { port }),
    `launcher-${client}`,
  ).text;
const codex = (port: number) => launcher("codex", port, { codex: {} });

/** Keys that are none, with the word for each. */
const BAD_KEYS: readonly (readonly [string, string])[] = [
  ["", "is not set"],
  [" ".repeat(30), "holds a blank or a line break"],
  ["0123456789012345\n0123456789", "holds a blank or a line break"],
  ["<the key of the bridge>", "holds a blank or a line break"],
  ["<the-key-of-the-bridge>", "is a placeholder"],
  ["$LOCAL_SERVING_BRIDGE_KEY", "is a placeholder"],
  ["local-serving-PlaceHolder", "is a placeholder"],
  ["0123456789012345678", "has fewer than 20 characters"],
];

const CLOSED_PORT = 9;

describe("the launchers", () => {
  it("are this text for Codex; the test of each other client says how its launcher differs", async () => {
    const text = fileOf(planned(), "launcher-codex").text;
    await expect(text).toMatchFileSnapshot("../golden/launcher-codex.sh");
  });

  it("lie where people keep programs, executable, under names of their own", () => {
    const launchers = planned().files.filter(({ role }) => role.startsWith("launcher-"));
    expect(launchers.map(({ path }) => path)).toEqual(
      planned().clients.map(({ command }) => command),
    );
    for (const { path, mode } of launchers)
      expect([path, mode]).toEqual([
        expect.stringMatching(/^\/home\/me\/\.local\/bin\/local-\w+$/),
        "0755",
      ]);
    expect(new Set(launchers.map(({ path }) => path)).size).toBe(CLIENTS.length);
  });
});

describe("a launcher before a server that is well", () => {
  it.each(["dash", "bash"])(
    "becomes the client, with every argument as it was (%s)",
    async (shell) => {
      const { port } = await serve(lists("other", "model"));
      const args = ["exec", "two words", "", "it's", '$HOME "x"', "--flag=`id`"];
      const text = codex(port);
      const ran = await run(text, { args, shell });
      expect(ran.err).toBe("");
      expect(ran.out.split("\n").filter((line) => line.startsWith("argument"))).toEqual(
        ["--profile", "local-serving", ...args].map((word) => `argument [${word}]`),
      );
      expect(ran.code).toBe(7);
    },
  );

  it("sets the placeholder only where no key is set", async () => {
    const { port, authorizations } = await serve(lists("model"));
    expect((await run(codex(port))).out).toContain(
      "LOCAL_SERVING_API_KEY=local-serving-placeholder",
    );
    const mine = await run(codex(port), { env: { LOCAL_SERVING_API_KEY: "mine" } });
    expect(mine.out).toContain("LOCAL_SERVING_API_KEY=mine");
    expect(authorizations).toEqual(["Bearer local-serving-placeholder", "Bearer mine"]);
  });

  it("does not ask a proxy for its own machine", async () => {
    const { port } = await serve(lists("model"));
    const env = {
      http_proxy: `http://127.0.0.1:${CLOSED_PORT}`,
      HTTP_PROXY: `http://127.0.0.1:${CLOSED_PORT}`,
    };
    expect((await run(codex(port), { env })).code).toBe(7);
  });

  it("starts Claude Code with our settings file, and with no key of somebody else's server", async () => {
    const { port } = await serve(lists("model"));
    const text = launcher("claude-code", port, { claudeCode: { via: "native" } });
    const ran = await run(text, { args: ["-p", "hi"], env: { ANTHROPIC_API_KEY: "theirs" } });
    expect(ran.out).toContain("argument [--settings]\n");
    expect(ran.out).toContain(
      `argument [${folder}/files/claude-code.settings.json]\nargument [-p]\nargument [hi]\n`,
    );
    expect(ran.out).not.toContain("theirs");
  });

  it.each([
    [
      "opencode",
      { opencode: {} },
      ["OPENCODE_CONFIG=FOLDER/opencode.json", "OPENCODE_DISABLE_MODELS_FETCH=1"],
    ],
    ["pi", { pi: {} }, ["PI_CODING_AGENT_DIR=FOLDER/pi", "PI_OFFLINE=1"]],
    [
      "qwen-code",
      { qwenCode: {} },
      ["QWEN_CODE_SYSTEM_SETTINGS_PATH=FOLDER/qwen-code.settings.json"],
    ],
  ])("points %s at its own file", async (client, clients, variables) => {
    const { port } = await serve(lists("model"));
    const { out } = await run(launcher(client, port, clients));
    for (const variable of variables)
      expect(out.split("\n")).toContain(variable.replace("FOLDER", join(folder, "files")));
    if (client === "pi")
      expect(out).toContain("argument [--model]\nargument [local-serving/model]\n");
  });

  it("starts any program with the variables of chat completions", async () => {
    const { port } = await serve(lists("model"));
    const machine = planned(
      { clients: { folder: join(folder, "files"), clientEnv: {} } },
      { port },
    );
    mkdirSync(join(folder, "files"), { recursive: true });
    writeFileSync(fileOf(machine, "client-env").path, fileOf(machine, "client-env").text);
    const text = fileOf(machine, "launcher-client-env").text;
    const ran = await run(text, { args: ["studio", "a b"], env: { OPENAI_API_KEY: "theirs" } });
    expect(ran.code).toBe(7);
    expect(ran.out).toContain("argument [a b]\n");
    expect(ran.out).toContain(`OPENAI_BASE_URL=http://127.0.0.1:${port}/v1\n`);
    expect(ran.out).toContain("OPENAI_API_KEY=local-serving-placeholder\n");
    expect(ran.out).not.toContain("theirs");
    const bare = await run(text);
    expect([bare.code, bare.err]).toEqual([
      64,
      expect.stringContaining("local-env PROGRAM ARGUMENTS"),
    ]);
  });
});

describe("a launcher before a server that is not well", () => {
  it("says that it does not answer, and how to look", async () => {
    const ran = await run(codex(CLOSED_PORT));
    expect(ran.code).toBe(69);
    expect(ran.out).toBe("");
    expect(ran.err).toContain(
      `the inference server does not answer (http://127.0.0.1:${CLOSED_PORT}/v1/models).`,
    );
    expect(ran.err).toContain(`docker logs --tail 20 vllm-model-${CLOSED_PORT}`);
    expect(ran.err).toContain("A first boot compiles for 10 to 15 minutes: let it.");
    expect(ran.ms).toBeLessThan(PATIENCE_MS);
  });

  it("does not wait for one that hangs, before its answer or within it", async () => {
    const silent = await serve(() => undefined);
    const stuck = await serve((_request, response) => {
      response.write('{"data":[');
    });
    for (const { port } of [silent, stuck]) {
      const ran = await run(codex(port));
      expect(ran.code).toBe(69);
      expect(ran.err).toContain("the inference server took longer than 2 s to answer");
      expect(ran.ms).toBeLessThan(PATIENCE_MS);
    }
  });

  it("names the models that are served instead", async () => {
    const { port } = await serve(lists("model-2", "org/other"));
    const ran = await run(codex(port));
    expect(ran.code).toBe(69);
    expect(ran.err.split("\n").slice(0, 3)).toEqual([
      expect.stringContaining(
        "the inference server answers, but serves no model 'model'. It serves:",
      ),
      "  model-2",
      "  org/other",
    ]);
  });

  it("passes on a status other than success", async () => {
    const { port } = await serve((_request, response) => {
      response.statusCode = 503;
      response.end("loading");
    });
    const ran = await run(codex(port));
    expect([ran.code, ran.err]).toEqual([69, expect.stringContaining("answered with status 503")]);
  });

  it("says when the client itself is missing", async () => {
    const { port } = await serve(lists("model"));
    const ran = await run(codex(port), { path: "/usr/bin:/bin" });
    expect([ran.code, ran.err]).toEqual([
      127,
      expect.stringContaining("codex is not installed (npm install -g @openai/codex)"),
    ]);
  });
});

describe("a launcher through the bridge", () => {
  const bridged = (port: number, bridgePort: number, bridge: Record<string, unknown> = {}) =>
    launcher(
      "claude-code",
      port,
      { claudeCode: {} },
      { bridge: { ...BRIDGE, port: bridgePort, ...bridge } },
    );
  const KEYED = { listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
  const KEY = "s3cret-of-27-characters-xyz";

  it("sees that both answer", async () => {
    const server = await serve(lists("model"));
    const bridge = await serve(lists("model", "claude-*"));
    expect((await run(bridged(server.port, bridge.port))).code).toBe(7);
    expect([server.authorizations.length, bridge.authorizations.length]).toEqual([1, 1]);
    const behind = await run(bridged(CLOSED_PORT, bridge.port));
    expect(behind.err).toContain("the inference server does not answer");
    const before = await run(bridged(server.port, CLOSED_PORT));
    expect(before.err).toContain("the bridge does not answer");
    expect(before.err).toContain(`docker logs --tail 20 litellm-${CLOSED_PORT}`);
    expect(before.err).not.toContain("compiles");
  });

  it("takes no more time for two checks than for one", async () => {
    const hanging = await serve(() => undefined);
    const ran = await run(bridged(hanging.port, hanging.port));
    expect(ran.code).toBe(69);
    expect(ran.ms).toBeLessThan(PATIENCE_MS);
  });

  it("takes a real key from the shell alone, and says when it is not set", async () => {
    const server = await serve(lists("model"));
    const bridge = await serve(lists("model"));
    const text = bridged(server.port, bridge.port, KEYED);
    expect(text).not.toContain(PLACEHOLDER_KEY);
    const unset = await run(text);
    expect([unset.code, unset.err]).toEqual([
      78,
      expect.stringContaining(
        "BRIDGE_KEY is not set. Set it to the bridge's key, then start again.\n",
      ),
    ]);
    expect(unset.err).toContain("  export BRIDGE_KEY=$(openssl rand -hex 32)\n");
    const ran = await run(text, { env: { BRIDGE_KEY: KEY } });
    expect(ran.out).toContain(`ANTHROPIC_AUTH_TOKEN=${KEY}\n`);
    expect(bridge.authorizations).toEqual([`Bearer ${KEY}`]);
    expect(server.authorizations).not.toContain(`Bearer ${KEY}`);
  });

  it("takes the key of instance A from the shell alone, however short, and sends it to nobody else", async () => {
    const server = await serve(lists("old"));
    const instanceA = { gpuMemoryUtilization: 0.45, servedModelName: "old", port: server.port };
    const toA = { server: "instance-a", via: "native" };
    const text = (client: string, key: string) =>
      launcher(client, 1, { [key]: toA }, { instanceA: { ...instanceA, keyVariable: "A_KEY" } });
    expect(text("codex", "codex")).not.toContain(PLACEHOLDER_KEY);
    for (const value of ["", "two words"]) {
      const ran = await run(text("codex", "codex"), { env: { A_KEY: value } });
      expect([ran.code, ran.err]).toEqual([
        78,
        expect.stringMatching(
          /^launcher-\d+: A_KEY is not set, or holds a blank\. Set it to the server's key, then start again\.\n$/,
        ),
      ]);
    }
    expect(server.authorizations).toEqual([]);
    expect((await run(text("codex", "codex"), { env: { A_KEY: "abc" } })).code).toBe(7);
    const claude = await run(text("claude-code", "claudeCode"), { env: { A_KEY: "abc" } });
    expect(claude.out).toContain("ANTHROPIC_AUTH_TOKEN=abc\n");
    expect(server.authorizations).toEqual(["Bearer abc", "Bearer abc"]);
    const none = { ...instanceA, keyVariable: "none" };
    const open = launcher("codex", 1, { codex: toA }, { instanceA: none });
    expect(open).toBe(launcher("codex", 1, { codex: toA }, { instanceA }));
    expect(open).toContain(PLACEHOLDER_KEY);
  });

  it.each(BAD_KEYS)("refuses a key for which %j stands, and asks nobody", async (key, wrong) => {
    for (const shell of ["dash", "bash"]) {
      const ran = await run(bridged(CLOSED_PORT, CLOSED_PORT, KEYED), {
        env: { BRIDGE_KEY: key },
        shell,
      });
      expect([ran.code, ran.err]).toEqual([78, expect.stringContaining(`: BRIDGE_KEY ${wrong}. `)]);
      if (key.trim() !== "") expect(ran.err).not.toContain(key.trim());
    }
    expect(keyFault(key)).toBe(wrong);
  });

  describe("on the network, where it can ask the bridge alone", () => {
    /** What LiteLLM 1.103.0 says of a server that it tried, shortened. */
    const HEALTH =
      '{"healthy_endpoints":[],"unhealthy_endpoints":[{"error":"litellm.InternalServerError:';
    const DOWN = `${HEALTH} Hosted_vllmException - Cannot connect to host vllm-model-9:9"}],"unhealthy_count":1}`;
    const starts: Partial<Ran> = { code: 7, err: "" };

    it.each<[string, RequestListener, Partial<Ran>]>([
      ["answers: starts", (_, response) => response.end('{"healthy_count":1}'), starts],
      [
        "is down: says so",
        (_, response) => response.writeHead(503).end(DOWN),
        {
          code: 69,
          err: expect.stringMatching(
            /^launcher-\d+: the bridge answers, the server behind it does not\.\n {2}docker logs --tail 20 vllm-model-9 {3}what does it say, on its machine\?\n$/,
          ),
        },
      ],
      ["is too busy to answer: starts", () => {}, starts],
      [
        "refuses the trial: starts",
        (_, response) => response.writeHead(503).end(`${HEALTH} 400"}]}`),
        starts,
      ],
      [
        "is unknown to another bridge: starts",
        (_, response) => response.writeHead(404).end(),
        starts,
      ],
    ])("and the server behind it %s", async (_, health, expected) => {
      const asked: (string | undefined)[] = [];
      const { port, authorizations } = await serve((request, response) => {
        asked.push(request.url);
        (request.url === "/v1/models" ? lists("org/model") : health)(request, response);
      });
      const clients = { host: "localhost", claudeCode: { model: "org/model" } };
      const bridge = { ...BRIDGE, ...KEYED, port };
      const text = launcher("claude-code", CLOSED_PORT, clients, { bridge });
      expect(await run(text, { env: { BRIDGE_KEY: KEY } })).toMatchObject(expected);
      expect(asked).toEqual(["/v1/models", "/health?model=org%2Fmodel"]);
      expect(authorizations).toEqual([`Bearer ${KEY}`, `Bearer ${KEY}`]);
    });
  });

  it("says that the bridge refuses the key, without showing it", async () => {
    const server = await serve(lists("model"));
    const bridge = await serve((_request, response) => {
      response.statusCode = 401;
      response.end("{}");
    });
    const ran = await run(bridged(server.port, bridge.port, KEYED), { env: { BRIDGE_KEY: KEY } });
    expect(ran.code).toBe(69);
    expect(ran.err).toContain("the bridge refuses the key in BRIDGE_KEY (status 401");
    expect(ran.err).not.toContain(KEY);
  });
});

/** Servers that would lead a launcher astray. */
const HOSTILE: readonly (readonly [string, RequestListener, string])[] = [
  [
    "a redirect, which it does not follow",
    (request, response) => {
      if (request.url === "/elsewhere") lists("model")(request, response);
      else response.writeHead(302, { location: "/elsewhere" }).end();
    },
    "answered with status 302",
  ],
  [
    "more than it reads",
    (_, response) => void response.end(`${"7".repeat(2_000_000)}\n200`),
    "sent more than 1048576 bytes",
  ],
  [
    "control codes in names",
    (_, response) => void response.end('{"data":[{"id":"\u001b[2Jother\u0007\u009b"}]}'),
    "  [2Jother\n",
  ],
];

describe("a launcher before a server that sends", () => {
  it.each(HOSTILE)("%s", async (_, answer, said) => {
    const { port, authorizations } = await serve(answer);
    const ran = await run(codex(port));
    expect([ran.code, ran.err]).toEqual([69, expect.stringContaining(said)]);
    expect(authorizations).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(ran.err).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

describe("a launcher without curl", () => {
  const python = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], {
    encoding: "utf8",
  }).trim();
  const TOOLS = ["tr", "sed", "head", "tail", "env", "grep", "sort", "sh", "dash"];

  it("asks with python3, within the same time", async () => {
    const path = pathOf("with-python", [...TOOLS, "timeout"]);
    symlinkSync(python, join(folder, "with-python", "python3"));
    const well = await serve(lists("model"));
    const ran = await run(codex(well.port), { path, shell: "/usr/bin/dash" });
    expect([ran.code, ran.err]).toEqual([7, ""]);
    const hanging = await serve(() => undefined);
    const stopped = await run(codex(hanging.port), { path, shell: "/usr/bin/dash" });
    expect(stopped.code).toBe(69);
    expect(stopped.err).toContain("took longer than 2 s");
    expect(stopped.ms).toBeLessThan(PATIENCE_MS);
    const refused = await serve((_request, response) => {
      response.statusCode = 401;
      response.end("{}");
    });
    expect((await run(codex(refused.port), { path, shell: "/usr/bin/dash" })).err).toContain(
      "status 401",
    );
    expect((await run(codex(CLOSED_PORT), { path, shell: "/usr/bin/dash" })).err).toContain(
      "does not answer",
    );
    for (const [, answer, said] of HOSTILE) {
      const { port, authorizations } = await serve(answer);
      expect((await run(codex(port), { path, shell: "/usr/bin/dash" })).err).toContain(said);
      expect(authorizations).toHaveLength(1);
    }
  });

  it("starts the client unchecked where nothing can ask, and says so", async () => {
    const path = pathOf("bare", TOOLS);
    const ran = await run(codex(CLOSED_PORT), { path, shell: "/usr/bin/dash" });
    expect(ran.code).toBe(7);
    expect(ran.err).toContain("neither curl nor python3 is here: starting without having checked");
  });
});
