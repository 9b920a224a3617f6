import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { writeBundle } from "../../cli/clients/bundle";
import { serverInput } from "../fixtures/machine";
import { machine } from "../fixtures/onDemand";
import { ALL_CLIENTS, BRIDGE } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";
import { runServing } from "./runServing";

const folder = temporaryFolder("clients-");
let count = 0;

const ON_NETWORK = { ...BRIDGE, listen: "0.0.0.0", keyVariable: "BRIDGE_KEY" };
const BRIDGED = Object.fromEntries(Object.keys(ALL_CLIENTS).map((key) => [key, { via: "bridge" }]));

/** A stack file of one machine, and where its bundle goes. */
function stackOf(machine: Record<string, unknown>): { file: string; bundle: string } {
  const own = join(folder, String(count++));
  mkdirSync(own);
  const dgx = {
    totalGiB: 121.63,
    instanceA: "none",
    inferenceServers: { b: serverInput() },
    ...machine,
  };
  const file = join(own, "Pulumi.test.yaml");
  writeFileSync(file, stringify({ config: { "local-serving:machines": { dgx } } }));
  return { file, bundle: join(own, "laptop") };
}

const exported = (machine: Record<string, unknown>) => {
  const { file, bundle } = stackOf(machine);
  return {
    file,
    bundle,
    run: (...more: string[]) => runServing(["clients", "export", bundle, "--file", file, ...more]),
  };
};
const filesIn = (bundle: string) =>
  readdirSync(bundle, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(bundle, path)).isFile())
    .sort();
const textOf = (bundle: string) =>
  filesIn(bundle)
    .map((path) => readFileSync(join(bundle, path), "utf8"))
    .join("\n");

const FILES = [
  "README.md",
  "home/.codex/local-serving.config.toml",
  "home/.local/bin/local-claude",
  "home/.local/bin/local-codex",
  "home/.local/bin/local-crush",
  "home/.local/bin/local-env",
  "home/.local/bin/local-opencode",
  "home/.local/bin/local-pi",
  "home/.local/bin/local-qwen",
  "home/.local/share/local-serving/clients/claude-code.settings.json",
  "home/.local/share/local-serving/clients/client.env",
  "home/.local/share/local-serving/clients/crush/crush.json",
  "home/.local/share/local-serving/clients/opencode.json",
  "home/.local/share/local-serving/clients/pi/models.json",
  "home/.local/share/local-serving/clients/qwen-code.settings.json",
];

describe("serving clients export", () => {
  it("writes every client's file and launcher, by the machine's name, without a path of it", async () => {
    const { bundle, run } = exported({
      home: "/srv/operator",
      stateDirectory: "/srv/state",
      bridge: ON_NETWORK,
      clients: {
        ...BRIDGED,
        ...{ host: "dgx.local", folder: "/srv/clients", launcherFolder: "/srv/bin" },
        codex: { via: "bridge", home: "/srv/codex" },
      },
    });
    expect(await run()).toMatchObject({ code: 0, err: "" });
    expect(filesIn(bundle)).toEqual(FILES);
    expect(textOf(bundle)).not.toMatch(/\/srv|\/home\/|\/root|127\.0\.0\.1|localhost/);
    const modes = FILES.map((path) => statSync(join(bundle, path)).mode & 0o777);
    expect(modes.map((mode) => mode === 0o755)).toEqual(
      FILES.map((path) => path.startsWith("home/.local/bin/")),
    );
    const at = (path: string) => readFileSync(join(bundle, "home", path), "utf8");
    expect(at(".codex/local-serving.config.toml")).toContain(
      'base_url = "http://dgx.local:8787/v1"',
    );
    expect(at(".codex/local-serving.config.toml")).toContain('env_key = "BRIDGE_KEY"');
    expect(at(".local/bin/local-codex")).toContain(`CODEX_HOME="$HOME"/'.codex'\n`);
    expect(at(".local/bin/local-claude")).toContain(
      `exec claude --settings "$HOME"/'.local/share/local-serving/clients/claude-code.settings.json' "$@"\n`,
    );
    expect(at(".local/bin/local-crush")).toContain(
      `CRUSH_GLOBAL_DATA="$HOME"/'.local/share/local-serving/clients/crush/data'\n`,
    );
  });

  it("says in a note what goes where, which variable holds the key, and how to check", async () => {
    const { bundle, run } = exported({
      bridge: ON_NETWORK,
      clients: { host: "dgx.local", codex: { via: "bridge" }, clientEnv: { via: "bridge" } },
    });
    await run();
    expect(readFileSync(join(bundle, "README.md"), "utf8")).toBe(`# Clients of dgx

With these files, programs on a laptop (macOS, Linux, WSL) use the models of dgx. They hold no key. The next
\`serving clients export\` replaces them.

## Install

    cp -R home/. ~/

copies them beside your own configuration of these programs, which stays as it is. \`~/.local/bin\` must be on PATH.

| file | goes to |
| --- | --- |
| \`home/.codex/local-serving.config.toml\` | \`~/.codex/local-serving.config.toml\` |
| \`home/.local/bin/local-codex\` | \`~/.local/bin/local-codex\` |
| \`home/.local/share/local-serving/clients/client.env\` | \`~/.local/share/local-serving/clients/client.env\` |
| \`home/.local/bin/local-env\` | \`~/.local/bin/local-env\` |

## Key

Set before you start a launcher, for example in \`~/.profile\`. Ask whoever runs dgx for the value:

    export BRIDGE_KEY=...

## Check

This lists the models, or says why not:

    printf 'Authorization: Bearer %s\\n' "$BRIDGE_KEY" | curl -fsS -H @- http://dgx.local:8787/v1/models

Then start a client by its launcher, such as \`local-codex\`, which says what is missing.
`);
  });

  it("names a machine over ssh as ssh does, asks a server on the network itself, and says all of it as JSON", async () => {
    const { bundle, run } = exported({
      dockerHost: "ssh://me@spark.local",
      inferenceServers: { b: serverInput({ listen: "0.0.0.0" }) },
      clients: { codex: {} },
    });
    const { code, out } = await run("--format", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      version: 1,
      machine: "dgx",
      folder: bundle,
      files: [
        { path: "home/.codex/local-serving.config.toml", mode: "0644" },
        { path: "home/.local/bin/local-codex", mode: "0755" },
        { path: "README.md", mode: "0644" },
      ],
      variables: [],
      checks: ["curl -fsS http://spark.local:8001/v1/models"],
    });
    expect(textOf(bundle)).not.toContain("/home/me");
  });

  it("refuses all that a laptop can't reach, at once, and takes what it says to write", async () => {
    const claudeCode = { environment: { ANTHROPIC_BASE_URL: "http://localhost:9" } };
    const { file, bundle, run } = exported({
      bridge: BRIDGE,
      clients: { claudeCode, codex: {}, clientEnv: {} },
    });
    const { code, out, err } = await run();
    const only = "listens only on 127.0.0.1: no other computer can reach it. Write";
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err.split("\n").map((line) => line.replace(/^ .*?machines\.dgx\./, ""))).toEqual([
      `${file}: 5 faults`,
      `clients.codex.via: codex talks to \`b\` directly, which ${only} \`clients.codex.via: bridge\`.`,
      `clients.clientEnv.via: client-env talks to \`b\` directly, which ${only} \`clients.clientEnv.via: bridge\`.`,
      "clients.claudeCode.environment.ANTHROPIC_BASE_URL: At http://localhost:9, other computers would ask themselves. Delete `clients.claudeCode.environment.ANTHROPIC_BASE_URL`: the right address is filled in.",
      `bridge.listen: The bridge ${only} \`bridge.listen: 0.0.0.0\`, and \`bridge.keyVariable: LOCAL_SERVING_BRIDGE_KEY\`, the NAME of the variable of your shell with its key.`,
      "clients.host: Other computers need a name or address to reach the machine. Write one, such as `clients.host: dgx.local`.",
      "Reference: docs/reference/stack-file.md",
      "",
    ]);
    expect(err).toMatch(/Pulumi\.test\.yaml:\d+:\d+ machines\.dgx\.clients\.codex\.via: /);
    expect(existsSync(bundle)).toBe(false);
    const advised = exported({
      bridge: { ...BRIDGE, listen: "0.0.0.0", keyVariable: "LOCAL_SERVING_BRIDGE_KEY" },
      clients: {
        host: "dgx.local",
        claudeCode: {},
        codex: { via: "bridge" },
        clientEnv: { via: "bridge" },
      },
    });
    expect(await advised.run()).toMatchObject({ code: 0, err: "" });
    expect(await runServing(["plan", "--file", advised.file])).toMatchObject({ code: 0 });
  });

  it("as JSON prints the faults, too", async () => {
    const { file, run } = exported({ clients: { codex: {} } });
    const { code, out, err } = await run("--format", "json");
    expect(code).toBe(1);
    expect(err).toContain(`${file}: `);
    const { version, ...printed } = JSON.parse(out);
    expect([version, Object.keys(printed)]).toEqual([1, ["faults"]]);
    expect(printed.faults.map(({ path }: { path: string }) => path)).toEqual([
      "machines.dgx.clients.codex.via",
      "machines.dgx.clients.host",
    ]);
  });

  it("refuses a bridge on the network that has no key", async () => {
    const bridge = { ...BRIDGE, listen: "0.0.0.0" };
    const { code, err } = await exported({
      bridge,
      clients: { host: "dgx.local", claudeCode: {} },
    }).run();
    expect(code).toBe(1);
    expect(err).toContain("machines.dgx.bridge.keyVariable: The bridge is published on 0.0.0.0");
  });

  it("refuses a stack file without a client", async () => {
    const { code, err } = await exported({}).run();
    expect(code).toBe(1);
    expect(err).toContain(
      "machines.dgx.clients: No client is declared. Write one, such as `clients.codex: {}`.",
    );
  });
});

describe("the folder of a bundle", () => {
  const codex = (more: Record<string, unknown> = {}) =>
    exported({
      bridge: ON_NETWORK,
      clients: { host: "dgx.local", codex: { via: "bridge" }, ...more },
    });

  it("may be empty, or from an earlier export, of which nothing stays", async () => {
    const { file, bundle, run } = codex({ pi: { via: "bridge" } });
    mkdirSync(bundle);
    expect((await run()).code).toBe(0);
    writeFileSync(file, readFileSync(file, "utf8").replace(/ +pi:\n +via: bridge\n/, ""));
    expect((await run()).code).toBe(0);
    expect(filesIn(bundle)).toEqual(FILES.filter((path) => /README|codex/.test(path)));
    expect(readdirSync(join(bundle, ".."))).toEqual(["Pulumi.test.yaml", "laptop"]);
  });

  it.each(["mine", "home/.codex/config.toml", "README.md"])(
    "is refused while it holds %s of somebody",
    async (path) => {
      const { bundle, run } = codex();
      if (path.startsWith("home")) await run();
      mkdirSync(join(bundle, path, ".."), { recursive: true });
      writeFileSync(join(bundle, path), "mine");
      const { code, err } = await run();
      expect(code).toBe(2);
      expect(err).toBe(
        `${join(bundle, path)} is not from an earlier export. An export replaces its whole folder: name an empty one.\n`,
      );
      expect(readFileSync(join(bundle, path), "utf8")).toBe("mine");
    },
  );

  it("may not be a file", async () => {
    const { bundle, run } = codex();
    writeFileSync(bundle, "mine");
    expect(await run()).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${bundle} can't be written: ENOTDIR`),
    });
  });

  it("stays as it was where a file can't be written", async () => {
    const { bundle, run } = codex();
    await run();
    const before = textOf(bundle);
    const file = (path: string) => ({ path, mode: "0644", text: "" });
    expect(() => writeBundle(bundle, [file("a"), file("a/b")])).toThrow(WrongUse);
    expect(textOf(bundle)).toBe(before);
    expect(readdirSync(join(bundle, ".."))).toEqual(["Pulumi.test.yaml", "laptop"]);
  });

  it("is whole where somebody interrupts in the middle", async () => {
    const { file, bundle } = codex();
    const child = spawn("node", [
      "bundle/serving.cjs",
      "clients",
      "export",
      bundle,
      "--file",
      file,
    ]);
    const ended = once(child, "close");
    const until = Date.now() + 30_000;
    while (
      readdirSync(join(bundle, "..")).length < 2 &&
      child.exitCode === null &&
      Date.now() < until
    )
      await new Promise((resolve) => setImmediate(resolve));
    child.kill("SIGINT");
    await ended;
    expect(filesIn(bundle)).toEqual(FILES.filter((path) => /README|codex/.test(path)));
    expect(readdirSync(join(bundle, ".."))).toEqual(["Pulumi.test.yaml", "laptop"]);
  });
});

describe("serving clients export of a server that llama-swap starts", () => {
  const codex = (via: "native" | "bridge") => ({
    ...machine(),
    bridge: ON_NETWORK,
    clients: { host: "dgx.local", codex: { server: "c", via } },
  });

  it("sends other computers to the bridge, as llama-swap is reached from the machine alone", async () => {
    const refused = await exported(codex("native")).run();
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining(
        "machines.dgx.clients.codex.via: codex talks to `c` directly, which listens only on 172.31.241.1: no other computer can reach it. Write `clients.codex.via: bridge`.",
      ),
    ]);
    const advised = exported(codex("bridge"));
    expect((await advised.run()).code).toBe(0);
    const text = textOf(advised.bundle);
    expect(text).toContain('base_url = "http://dgx.local:8787/v1"');
    expect(text).not.toMatch(/8010|172\.31\.|LOCAL_SERVING_ON_DEMAND_KEY/);
  });
});
