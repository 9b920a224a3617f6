import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SYSTEMD_CHECK } from "../../components/host/systemdDropIn";
import { plan } from "../../components/plan/plan";
import { declaredResources } from "../../components/program/machine/declaredResources";
import { stack } from "../fixtures/machine";
import { CHAT_UI } from "../fixtures/services";
import { temporaryFolder } from "../layers/temporaryFolder";

const scratch = temporaryFolder("simple server ");

function planned(simpleServer: Record<string, unknown>, machine: Record<string, unknown> = {}) {
  const { machines, warnings } = plan(stack({ simpleServer, ...machine }), { home: "/home/me" });
  const [only] = machines;
  if (only === undefined) throw new Error("no machine planned");
  return {
    machine: only,
    warnings: warnings.filter((warning) => warning.code.startsWith("simple-server")),
  };
}
const dropIn = (simpleServer: Record<string, unknown>) =>
  planned({ mode: "host", ...simpleServer }).machine.files.find(
    (file) => file.role === "simple-server-dropin",
  );
const environment = (simpleServer: Record<string, unknown>) =>
  [...(dropIn(simpleServer)?.text ?? "").matchAll(/^Environment="(.*)"$/gm)].map(
    (match) => match[1],
  );

describe("the drop-in", () => {
  it("is this text by default", async () => {
    await expect(dropIn({})?.text).toMatchFileSnapshot("golden/loopback.conf");
    expect(environment({})).toEqual([
      "OLLAMA_CONTEXT_LENGTH=32768",
      "OLLAMA_HOST=127.0.0.1:11434",
      "OLLAMA_KEEP_ALIVE=5m",
      "OLLAMA_MAX_LOADED_MODELS=1",
      "OLLAMA_MODELS=/usr/share/ollama/.ollama/models",
      "OLLAMA_NO_CLOUD=1",
    ]);
    expect(dropIn({})).toMatchObject({
      path: "/etc/systemd/system/ollama.service.d/50-local-serving.conf",
      mode: "0644",
    });
  });

  it("is this text on the local network, with a directory of its own and the cloud", async () => {
    const settings = {
      listen: "0.0.0.0",
      modelsDirectory: "/srv/ollama models",
      maxLoadedModels: 2,
      contextLength: 8192,
      keepAlive: "-1",
      cloud: true,
    };
    await expect(dropIn(settings)?.text).toMatchFileSnapshot("golden/lan.conf");
    expect(environment(settings)).toEqual([
      "OLLAMA_CONTEXT_LENGTH=8192",
      "OLLAMA_HOST=0.0.0.0:11434",
      "OLLAMA_KEEP_ALIVE=-1",
      "OLLAMA_MAX_LOADED_MODELS=2",
      "OLLAMA_MODELS=/srv/ollama models",
    ]);
  });

  it("listens on loopback, unless it says otherwise", () => {
    const on = (simple: Record<string, unknown>) =>
      planned({ mode: "host", ...simple }).machine.simpleServer;
    expect(on({ listen: "0.0.0.0" })).toMatchObject({ baseUrl: "http://127.0.0.1:11434" });
    expect(on({})).toMatchObject({ listen: "127.0.0.1" });
    expect(on({ listen: "192.168.1.9", port: 11500 })).toMatchObject({
      baseUrl: "http://192.168.1.9:11500",
    });
  });

  it.runIf(spawnSync("systemd-analyze", ["--version"]).status === 0)(
    "is accepted by systemd",
    () => {
      for (const settings of [{}, { listen: "0.0.0.0", modelsDirectory: '/srv/100% "mine"' }]) {
        const { status, stderr } = spawnSync("sh", ["-c", SYSTEMD_CHECK], {
          input: dropIn(settings)?.text,
          encoding: "utf8",
        });
        expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      }
    },
  );
});

describe("without the right to be root", () => {
  it("the plan prints commands that write exactly the drop-in and restart the unit", () => {
    const systemdDirectory = join(scratch, "etc/systemd system");
    const bin = join(scratch, "bin");
    mkdirSync(bin);
    // Stands for sudo and for systemctl: the one runs what follows, the other writes down how it
    // was called.
    writeFileSync(join(bin, "sudo"), '#!/bin/sh\nexec "$@"\n');
    writeFileSync(join(bin, "systemctl"), `#!/bin/sh\necho "$@" >>'${scratch}/systemctl.log'\n`);
    for (const name of ["sudo", "systemctl"]) chmodSync(join(bin, name), 0o755);
    const { machine } = planned({
      mode: "host",
      systemdDirectory,
      modelsDirectory: '/srv/it\'s 100% "mine"',
    });
    for (const command of machine.commands) {
      const { status, stderr } = spawnSync("sh", ["-c", command], {
        encoding: "utf8",
        env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
      });
      expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: "" });
    }
    const file = machine.files.find((each) => each.role === "simple-server-dropin");
    expect(readFileSync(file?.path ?? "", "utf8")).toBe(file?.text);
    expect(statSync(file?.path ?? "").mode & 0o777).toBe(0o644);
    expect(readFileSync(join(scratch, "systemctl.log"), "utf8")).toBe(
      "daemon-reload\nrestart ollama.service\n",
    );
  });

  it("the plan says that the drop-in is left to the operator", () => {
    expect(planned({ mode: "host" }).warnings.map((warning) => warning.code)).toEqual([
      "simple-server-by-hand",
    ]);
  });
});

describe("with the right to be root", () => {
  it("there is nothing to be done by hand", () => {
    const { machine, warnings } = planned({ mode: "host" }, { elevate: ["sudo", "-n"] });
    expect(machine.commands).toEqual([]);
    expect(warnings).toEqual([]);
    expect(machine.elevate).toEqual(["sudo", "-n"]);
  });
});

describe("the plan of a simple server", () => {
  const lines = (simpleServer: Record<string, unknown>) =>
    planned(simpleServer).machine.ledger.lines.filter(
      (line) => line.name === "Ollama's loaded models",
    );

  it("has its endpoint", () => {
    expect(planned({ mode: "host" }).machine.endpoints).toContainEqual({
      key: "simple-server",
      name: "simple server (Ollama)",
      url: "http://127.0.0.1:11434",
    });
  });

  it("has no line in the ledger without models", () => {
    expect(lines({ mode: "host", maxLoadedModels: 3 })).toEqual([]);
    expect(lines({ mode: "none" })).toEqual([]);
  });

  it("counts the largest declared model as often as models are loaded at once, with its context", () => {
    const models = ["qwen3:8b", "gpt-oss:20b", "nomic-embed-text"];
    const loadedGiB = { "qwen3:8b": 9.6, "gpt-oss:20b": 15.4 };
    const settings = { mode: "host", models, loadedGiB, maxLoadedModels: 2, contextLength: 65536 };
    expect(lines(settings)).toEqual([
      {
        name: "Ollama's loaded models",
        gib: 30.8,
        basis: "setting",
        source: "gpt-oss:20b: 15.4 GiB with 65536 tokens of context x 2 loaded at once",
      },
    ]);
    expect(lines({ mode: "integrated", models, loadedGiB })).toMatchObject([
      {
        gib: 15.4,
        source: "gpt-oss:20b: 15.4 GiB with 32768 tokens of context x 1 loaded at once",
      },
    ]);
  });

  it("counts what is declared for all of them, where it is", () => {
    for (const mode of ["host", "integrated"]) {
      expect(lines({ mode, models: ["m"], loadedGiB: { m: 1 }, residentModelsGiB: 5.2 })).toEqual([
        { name: "Ollama's loaded models", gib: 5.2, basis: "setting", source: "residentModelsGiB" },
      ]);
    }
  });

  it("counts loaded models in the sum and in what is left for others", () => {
    const without = planned({ mode: "host" }).machine.ledger;
    const { sumGiB } = planned({ mode: "host", residentModelsGiB: 5 }).machine.ledger;
    expect(sumGiB).toBeCloseTo(without.sumGiB + 5, 2);
  });

  it("says that containers don't reach it on loopback, and what would give it to them", () => {
    const said = (simpleServer: Record<string, unknown>, more: Record<string, unknown> = {}) =>
      planned(simpleServer, {
        elevate: ["sudo", "-n"],
        chatUi: { ...CHAT_UI, ...more },
      }).warnings.map(({ code, message, note }) => [code, message, note]);
    expect(said({ mode: "host" })).toEqual([
      [
        "simple-server-on-loopback",
        "No container can reach Ollama on 127.0.0.1, also not the chat UI. Write `listen: 172.17.0.1`, the address of Docker's own bridge (`ip -4 address show docker0`), to open it to containers but not to the local network. Until then the chat UI and the bridge can't use its models.",
        true,
      ],
    ]);
    // What it advises is planned, brings no warning, and gives the chat UI its models.
    const advised = { mode: "host", listen: "172.17.0.1" };
    expect(said(advised)).toEqual([]);
    const { machine } = planned(advised, { elevate: ["sudo", "-n"], chatUi: CHAT_UI });
    const ui = machine.containers.find(({ role }) => role === "chat-ui");
    expect(ui?.env.OLLAMA_BASE_URLS ?? ui?.env.OLLAMA_BASE_URL).toContain("172.17.0.1:11434");
    // A chat UI that was never to have it lacks nothing.
    expect(said({ mode: "host" }, { connections: ["a"] })).toEqual([]);
  });

  it("warns of the local network and of models that stay uncounted", () => {
    const said = (simpleServer: Record<string, unknown>) =>
      planned(simpleServer, { elevate: ["sudo", "-n"] }).warnings.map(
        ({ code, message }) => `${code}: ${message}`,
      );
    const codes = (simpleServer: Record<string, unknown>) =>
      said(simpleServer).map((each) => each.split(":")[0]);
    expect(codes({ mode: "host", listen: "0.0.0.0" })).toEqual(["simple-server-on-lan"]);
    expect(said({ mode: "host", models: ["a", "b", "c"], loadedGiB: { b: 4 } })).toEqual([
      "simple-server-uncounted: Memory of 2 models of Ollama isn't counted. Declare in `loadedGiB` how much each takes once loaded (`ollama ps`): a, c.",
    ]);
    expect(codes({ mode: "host", models: ["a"], loadedGiB: { a: 4 } })).toEqual([]);
    expect(codes({ mode: "host", models: ["a"], residentModelsGiB: 4 })).toEqual([]);
    expect(codes({ mode: "host", keepAlive: "-1" })).toEqual(["simple-server-uncounted"]);
    expect(codes({ mode: "host", keepAlive: "-1", residentModelsGiB: 5 })).toEqual([]);
    expect(codes({ mode: "host", keepAlive: "-1", models: ["a"], loadedGiB: { a: 4 } })).toEqual(
      [],
    );
  });

  it.each([
    [{ mode: "none" }, { mode: "none" }],
    [
      { mode: "integrated", models: ["qwen3:8b"], loadedGiB: { "qwen3:8b": 9.6 } },
      { mode: "integrated", models: ["qwen3:8b"] },
    ],
  ])("has no drop-in, no endpoint and no command in the mode %j", (settings, expected) => {
    const { machine, warnings } = planned(settings);
    expect(machine.simpleServer).toEqual(expected);
    expect(machine.files.map((file) => file.role)).toEqual(["start-gate", "applied-plan"]);
    expect(machine.endpoints.map((endpoint) => endpoint.name).join()).not.toContain("Ollama");
    expect([machine.commands, warnings]).toEqual([[], []]);
  });

  it("is told to the policies as an input of the machine", () => {
    const facts = (simpleServer: Record<string, unknown>) =>
      declaredResources(plan(stack({ simpleServer }), { home: "/home/me" })).find((each) =>
        each.type.endsWith(":Machine"),
      )?.props.simpleServer;
    expect(facts({ mode: "none" })).toEqual({ mode: "none" });
    expect(facts({ mode: "integrated" })).toEqual({ mode: "integrated" });
    expect(facts({ mode: "host", models: ["a"] })).toEqual({
      mode: "host",
      listen: "127.0.0.1",
      port: 11434,
    });
  });
});
