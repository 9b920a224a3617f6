import { createServer, request as forward } from "node:http";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { parse, stringify } from "yaml";
import { probeNames } from "../../cli/verify/run/catalog";
import { failed, resultOf } from "../cli/verify/environment";
import { freePort } from "../layers/freePort";
import { title } from "./programs";
import { OTHER_ADDRESS, type Verified, WholeMachine } from "./wholeMachine";
import { TINY } from "./wholeStack";

const { litellm, openWebUi, ollama } = inject("programs");
const program = [litellm, openWebUi, ollama].find((each) => "missing" in each) ?? ollama;

/**
 * What a run of all probes may take beside the model's own time: the stand-ins need next to none.
 */
const RUN_SECONDS = 60;

const LOADS = "asking would load the model; `serving verify --record` does it";

/** Probes that a machine without a fault leaves out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  completions: "its model is a chat model, asked by chat completions",
  // The smallest model has no tensor, so it can be neither loaded nor asked.
  "ollama-memory": "no model is loaded: send one a request, then run this again",
  "ollama-context": "no model is loaded: send one a request, then run this again",
  "ollama-chat-tools": LOADS,
  "ollama-messages-tools": LOADS,
  "ollama-responses-tools": LOADS,
  "harness-chat":
    "harness-model looks for its model instead: no model of Ollama is loaded for this",
  "harness-embedding":
    "no model is named (`machines.dgx.harness.embeddingModel`), so the harness embeds nothing",
  ...(OTHER_ADDRESS === undefined
    ? { "ollama-listen": "this machine has no network address" }
    : {}),
};

/**
 * What depends on a probe that failed; and of a provider's two probes one asks, the other looks.
 */
const SKIPPED = /^not run: |^harness-chat asks for its model$/;

/** Everything that needs an answer of the model through the bridge. */
const THROUGH_BRIDGE = [
  ...["bridge-messages", "bridge-routing", "bridge-tools", "bridge-tools-stream", "bridge-system"],
  "bridge-tiers",
];

let machine: WholeMachine;

interface Break {
  readonly make?: () => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
  readonly fails: readonly string[];
  /** The probe whose words these are; without it the first one's. */
  readonly said?: string;
  readonly detail: string | RegExp;
  readonly fix: string;
}

/**
 * Makes a fault and runs every probe: those that are named fail, with these words, and no other
 * does.
 */
async function isSeen({
  make,
  env = {},
  fails,
  said = fails[0] ?? "",
  detail,
  fix,
}: Break): Promise<void> {
  await make?.();
  const { code, probes, printed } = await machine.verify(env);
  expect(failed(probes)).toEqual(fails);
  expect(code).toBe(1);
  for (const { name, status, detail } of probes) {
    if (status === "skip" && LEFT_OUT[name] === undefined) expect(detail).toMatch(SKIPPED);
  }
  expect(resultOf(probes, said).detail).toMatch(detail);
  expect(resultOf(probes, said).fix).toContain(fix);
  for (const secret of [...machine.secrets, ...Object.values(env)])
    expect(printed).not.toContain(secret);
}

describe.skipIf("missing" in program)(
  title("serving verify before the real services", program),
  () => {
    beforeAll(async () => {
      if ("missing" in litellm || "missing" in openWebUi || "missing" in ollama) return;
      const programs = { litellm: litellm.path, openWebUi: openWebUi.path, ollama: ollama.path };
      machine = await WholeMachine.start(programs);
    });
    afterAll(() => machine?.close());

    const isWell = ({ probes }: Verified) =>
      expect(
        Object.fromEntries(
          probes.map(({ name, status, detail }) => [name, status === "pass" ? status : detail]),
        ),
      ).toEqual(Object.fromEntries(probeNames().map((name) => [name, LEFT_OUT[name] ?? "pass"])));

    describe("a machine without a fault", () => {
      it("passes every probe, in less than a minute beside the model's own time", async () => {
        const verified = await machine.verify();
        isWell(verified);
        const { code, probes, seconds, summary, printed } = verified;
        const targets = [...new Set(probes.map(({ target }) => target))];
        const spent = (target: string) =>
          probes
            .filter((each) => each.target === target)
            .reduce((sum, each) => sum + each.seconds, 0);
        console.log(
          `serving verify: ${seconds.toFixed(2)} s in all; ${targets.map((each) => `${each} ${spent(each).toFixed(2)} s`).join(", ")}`,
        );
        expect(code).toBe(0);
        expect(seconds).toBeLessThan(RUN_SECONDS);
        // The stand-in passes the native-path test, and the stack file goes through the bridge. What
        // the memory probe says of this machine's size is about this machine.
        expect(summary.next.filter((each) => !each.startsWith("memory: "))).toEqual([
          "native-messages-path: Write `machines.dgx.clients.claudeCode.via: native` and `machines.dgx.inferenceServers.b.chatTemplate: tolerant` in the stack file, then `serving up`: Claude Code then talks to the server directly.",
        ]);
        expect(resultOf(probes, "chat-ui-models").detail).toBe(
          `qwen3.6-35b-a3b, nvidia/Qwen3.6-35B-A3B-NVFP4, a-model, ${TINY}:latest (its own list)`,
        );
        for (const secret of machine.secrets) expect(printed).not.toContain(secret);
      });

      it("is told to a person without a secret too", async () => {
        const { code, out, err } = await machine.run(["--format", "text"]);
        expect(code).toBe(0);
        expect(out).toMatch(/^\d+ passed, 0 failed, 8 skipped$/m);
        for (const secret of machine.secrets) expect(out + err).not.toContain(secret);
      });

      it("needs no token of the chat UI", async () => {
        const verified = await machine.verify({ LOCAL_SERVING_CHAT_UI_KEY: "" });
        isWell(verified);
        expect(resultOf(verified.probes, "chat-ui-models").detail).toContain(
          "(asked from inside its container;",
        );
      });
    });

    describe("LiteLLM", () => {
      afterAll(() => machine?.startBridge());

      it.each<[string, Break]>([
        [
          "another key than the one that it was started with",
          {
            env: { BRIDGE_KEY: "sk-of-another-bridge-51c0" },
            fails: ["bridge-models"],
            detail: /^it refuses the key in BRIDGE_KEY \(400: No connected db\.\)$/,
            fix: "Export the key that the bridge was started with as BRIDGE_KEY",
          },
        ],
        [
          "a name without a route",
          {
            make: () =>
              machine.startBridge({
                change: (config) =>
                  edited(config, (entries) => entries.filter((each) => each.model_name !== HUB_ID)),
              }),
            fails: ["bridge-models", "bridge-tiers"],
            detail: `not there: ${HUB_ID}`,
            fix: "model_list of bridge-config is not as planned",
          },
        ],
        [
          "the generic prefix, which sends messages to /v1/responses",
          {
            make: () =>
              machine.startBridge({ change: (text) => text.replaceAll("hosted_vllm/", "openai/") }),
            fails: ["bridge-routing"],
            detail: "the answer's id begins with `resp_`: it came by /v1/responses",
            fix: "hosted_vllm/",
          },
        ],
        [
          "an address where no engine is",
          {
            make: async () => {
              const elsewhere = await freePort();
              const change = (text: string) => text.replaceAll(/:\d+\/v1/g, `:${elsewhere}/v1`);
              return machine.startBridge({ change });
            },
            fails: THROUGH_BRIDGE,
            detail: "Cannot connect to host 127.0.0.1:",
            fix: "its api_base is the address as the bridge's container sees it",
          },
        ],
        [
          "no process",
          {
            make: () => machine.stop("bridge"),
            fails: ["bridge-health", "containers"],
            detail: "nothing listens there (connection refused)",
            fix: "docker logs litellm-",
          },
        ],
      ])("%s", (_, fault) => isSeen(fault));

      it("passes messages on as they are, and is as well", async () => {
        const supported_endpoints = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
        await machine.startBridge({
          change: (config) =>
            edited(config, (entries) =>
              entries.map((each) => ({ ...each, model_info: { supported_endpoints } })),
            ),
        });
        isWell(await machine.verify());
      });
    });

    describe("the engine behind it", () => {
      afterAll(() => machine?.startB());

      it("whose tool-call parser is wrong: LiteLLM can't repair it", async () => {
        await isSeen({
          make: () => machine.startB("xml-in-content"),
          fails: ["chat-tools", "chat-several-tools", "chat-tools-thinking", "bridge-tools"],
          detail: "the call is written as XML in `content`",
          fix: "inferenceServers.b.tools.parser: qwen3_xml",
        });
      });
    });

    describe("Ollama", () => {
      afterAll(() => machine?.startOllama());

      it.each<[string, Break]>([
        [
          "with its models elsewhere: what was pulled has vanished",
          {
            make: () =>
              machine.startOllama({
                OLLAMA_MODELS: `${machine.simpleServer.modelsDirectory}-of-a-container`,
              }),
            fails: ["ollama-models", "harness-model"],
            detail: `not there: ${TINY}`,
            fix: `ollama pull ${TINY}`,
          },
        ],
        [
          "of a version that must not run",
          {
            make: () => olderOllama("0.17.0"),
            fails: ["ollama-version"],
            detail:
              "Ollama 0.17.0: releases below 0.17.1 have a vulnerability that is open to anyone who can reach their port (CVE-2026-7482).",
            fix: "Install 0.17.1 or later",
          },
        ],
        [
          "not running",
          {
            make: () => machine.stop("ollama"),
            fails: ["chat-ui-models", "ollama-version", "harness-healthcheck", "harness-model"],
            detail: "can't be reached from inside open-webui-",
            fix: "`listen` of the server",
          },
        ],
      ])("%s", (_, fault) => isSeen(fault));

      it.skipIf(OTHER_ADDRESS === undefined)("on loopback, declared for the network", async () => {
        await isSeen({
          make: () =>
            machine.startOllama({ OLLAMA_HOST: `127.0.0.1:${machine.simpleServer.port}` }),
          // No container reaches it either.
          fails: ["chat-ui-models", "ollama-listen"],
          said: "ollama-listen",
          detail: new RegExp(
            `^it is declared for the network, but does not answer on ${OTHER_ADDRESS}$`,
          ),
          fix: "The listen override was not applied: sudo systemctl daemon-reload && sudo systemctl restart ollama.service",
        });
      });
    });

    describe("Open WebUI", () => {
      afterAll(() => machine?.startA());

      it.each<[string, Break]>([
        [
          "a token that is none",
          {
            env: { LOCAL_SERVING_CHAT_UI_KEY: "eyJ.no.token" },
            fails: ["chat-ui-models"],
            detail: /^it refuses the token in LOCAL_SERVING_CHAT_UI_KEY$/,
            fix: "Settings, Account, JWT Token",
          },
        ],
        [
          "no connection to instance B",
          {
            make: async () => {
              await machine.startChatUi(
                ({ OPENAI_API_BASE_URLS = "", OPENAI_API_KEYS = "", ...env }) => ({
                  ...env,
                  OPENAI_API_BASE_URLS: OPENAI_API_BASE_URLS.split(";").slice(1).join(";"),
                  OPENAI_API_KEYS: OPENAI_API_KEYS.split(";").slice(1).join(";"),
                }),
              );
              expect(await modelsInChatUi()).toEqual(["a-model", `${TINY}:latest`]);
            },
            fails: ["chat-ui-models", "containers"],
            detail:
              /^its container runs without the planned connection http:\/\/vllm-qwen3\.6-35b-a3b-\d+:\d+\/v1$/,
            fix: "serving up",
          },
        ],
        [
          "addresses without /v1",
          {
            make: async () => {
              await machine.startChatUi(({ OPENAI_API_BASE_URLS = "", ...env }) => ({
                ...env,
                OPENAI_API_BASE_URLS: OPENAI_API_BASE_URLS.replaceAll("/v1", ""),
              }));
              expect(await modelsInChatUi()).toEqual([`${TINY}:latest`]);
            },
            fails: ["chat-ui-models", "containers"],
            detail: "runs without the planned connection http://vllm-",
            fix: "serving up",
          },
        ],
        [
          "no process",
          {
            make: () => machine.stop("chat-ui"),
            fails: ["chat-ui-health", "containers"],
            detail: "nothing listens there (connection refused)",
            fix: "a first start takes one to two minutes",
          },
        ],
      ])("%s", { timeout: 400_000 }, (_, fault) => isSeen(fault));

      it("shows a user less than an administrator, and that is said", {
        timeout: 400_000,
      }, async () => {
        await machine.startChatUi();
        const LOCAL_SERVING_CHAT_UI_KEY = await tokenOfUser();
        await isSeen({
          env: { LOCAL_SERVING_CHAT_UI_KEY },
          fails: ["chat-ui-models"],
          detail: "its own list lacks qwen3.6-35b-a3b",
          fix: "take an administrator's token",
        });
      });

      it("does not reach instance A where that is down", async () => {
        await isSeen({
          make: () => machine.stopA(),
          fails: ["chat-ui-models", "instance-a"],
          detail:
            /http:\/\/host\.docker\.internal:\d+\/v1 can't be reached from inside open-webui-/,
          fix: "`listen` of the server",
        });
      });
    });

    it("asked no other host all the while", () => {
      expect(machine.egress.hosts).toEqual([]);
    });
  },
);

const HUB_ID = "nvidia/Qwen3.6-35B-A3B-NVFP4";

interface Entry {
  readonly model_name: string;
}

function edited(config: string, change: (entries: readonly Entry[]) => readonly Entry[]): string {
  const { model_list, ...rest } = parse(config) as { readonly model_list: readonly Entry[] };
  return stringify({ ...rest, model_list: change(model_list) });
}

/** The real Ollama behind a door that says another version. */
async function olderOllama(version: string): Promise<void> {
  const behind = await freePort();
  const { port, baseUrl } = machine.simpleServer;
  await machine.startOllama(
    { OLLAMA_HOST: `127.0.0.1:${behind}` },
    baseUrl.replace(String(port), String(behind)),
  );
  const door = createServer((request, response) => {
    if (request.url === "/api/version") return void response.end(JSON.stringify({ version }));
    const { url: path, method, headers } = request;
    const asked = forward({ port: behind, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(asked);
  });
  await new Promise<void>((resolve) => door.listen(port, "0.0.0.0", resolve));
  onTestFinished(() => {
    door.closeAllConnections();
    door.close();
  });
}

async function modelsInChatUi(): Promise<string[]> {
  const headers = { authorization: `Bearer ${machine.administrator}` };
  const answer = await fetch(`${machine.chatUiUrl}/api/models`, { headers });
  const { data } = (await answer.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).filter((id) => !id.includes("arena"));
}

/** Adds a user to the chat UI who is no administrator. */
async function tokenOfUser(): Promise<string> {
  const answer = await fetch(`${machine.chatUiUrl}/api/v1/auths/add`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${machine.administrator}`,
    },
    body: JSON.stringify({
      name: "You",
      email: "you@example.org",
      password: "Correct-horse-9",
      role: "user",
    }),
  });
  return ((await answer.json()) as { token: string }).token;
}
