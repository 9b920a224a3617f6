import { jsonIn, objectOr, objectsIn, textOr } from "@local-serving/base/faults/json";
import { isCutOff } from "../../rules/answers";
import { quotedList } from "../../sees/answer";
import { answeredText, refusalText } from "../../sees/api";
import { INSTANCE_A_KEY, startedWith, toDeclare } from "../../sees/instanceA";
import { processStart } from "../../sees/metrics";
import { fail, pass, passUnless, skip, type Verdict } from "../probe";
import { CHAT } from "../surfaces/chat";
import type { InstanceAClientsTarget, InstanceATarget, ProbesOf } from "../target";
import { TOOL_REQUEST } from "../tools";
import { servedModels } from "./asking";
import { judgeCall } from "./judging";

/** Statuses by which a server asks for a key, or for another one. */
const WANTS_KEY: readonly number[] = [401, 403];

/**
 * Instance A still answers and is the same process as before the probes: nothing of ours touched
 * it.
 */
export const instanceAProbes: ProbesOf<"instance-a"> = [
  {
    name: "instance-a",
    about: "instance A answers and is the same process as before",
    fix: ({ port }) =>
      `It is not ours and nothing here starts it: see who listens on ${port} (\`ss -lntp\`), or declare \`instanceA: none\`.`,
    run: async ({ api, host, port, before }) => {
      const serves = await whatItServes(api);
      const now = await processStart(host, api, port);
      if (before === undefined)
        return pass(
          `${serves}; its process belongs to another user, and it does not say when it started`,
        );
      if (now?.mark === before.mark)
        return pass(`${serves}; same process as before (${now.words})`);
      const fix =
        "Nothing here restarts it: see its own log, and the kernel's for a process killed for memory.";
      return fail(
        "it is not the same process as before the probes: it was restarted meanwhile",
        fix,
      );
    },
  },
];

async function whatItServes(api: InstanceATarget["api"]): Promise<string> {
  if (WANTS_KEY.includes((await api.get("/v1/models")).status)) return "asks for a key";
  const ids = objectsIn((await api.json("/v1/models")).data).map((model) => textOr(model.id));
  return `serves ${quotedList(ids, "no model")}`;
}

/** Enough for one call of a tool by a model that was asked not to think. */
const CALL_TOKENS = 256;

const PARSER =
  "Restart instance A yourself with `--enable-auto-tool-choice --tool-call-parser <parser>` of its model's family, or point the client at another server (`clients.*.server`).";
const KEY = `Declare the variable of your shell that holds it (\`instanceA.keyVariable: ${INSTANCE_A_KEY}\`), then \`serving up\`.`;

const listens = ({ declared: { port } }: InstanceAClientsTarget) =>
  `Nothing here starts instance A: see who listens on ${port} (\`ss -lntp\`).`;

/** Names of its coding clients: `codex, opencode`. */
const namesOf = ({ clients }: InstanceAClientsTarget): string =>
  clients.map(({ client }) => client).join(", ");

/** Why it can't be asked over HTTP. */
const keyless = ({ declared: { keyVariable = "none" }, keyVariables }: InstanceAClientsTarget) =>
  keyVariable === "none" || keyVariables !== undefined
    ? undefined
    : `its key is in the variable ${keyVariable}, which is not set here`;

/** The names that its coding clients ask for; without a client, the declared one. */
const wanted = ({ clients, declared: { servedModelName } }: InstanceAClientsTarget): string[] => [
  ...new Set(
    clients.length === 0
      ? [servedModelName ?? []].flat()
      : clients.flatMap(({ tiers }) => Object.values(tiers)).filter((name) => name !== ""),
  ),
];

/** What coding clients need of instance A. All of it together is one short request of the model. */
export const instanceAClientProbes: ProbesOf<"instance-a-clients"> = [
  {
    name: "instance-a-start",
    about: "instance A was started with what its coding clients need",
    fix: listens,
    run: async (target) => {
      const { host, declared, clients } = target;
      const running = await startedWith(host, declared.port);
      if ("unread" in running) return skip(`how it was started can't be read: ${running.unread}`);
      const { toolParser, holdsKey } = running;
      const open = toDeclare(declared, running).map(([name, value]) => `\`${name}: ${value}\``);
      const fix =
        open.length === 0
          ? ""
          : `Declare ${open.join(", ")} below \`instanceA\`: \`serving status --versions\` prints the change.`;
      if (toolParser === "none" && clients.length > 0)
        return fail(
          `it makes no structured tool calls, which ${namesOf(target)} can't work without: it runs without \`--enable-auto-tool-choice --tool-call-parser\``,
          PARSER,
        );
      const key = declared.keyVariable ?? "none";
      if (holdsKey && key === "none" && clients.length > 0)
        return fail(
          `it asks for a key (\`--api-key\`), and its clients (${namesOf(target)}) have none`,
          KEY,
        );
      const calls =
        toolParser === "none"
          ? "makes no structured tool calls, so no coding client can use it"
          : `makes structured tool calls (\`${toolParser}\`)`;
      return pass(`${calls}; ${holdsKey ? "asks for a key" : "no key in its arguments"}`, fix);
    },
  },
  {
    name: "instance-a-models",
    about: "GET /v1/models of instance A: it takes the key, and serves what its clients ask for",
    skip: keyless,
    fix: listens,
    run: async (target) => {
      const { api, declared } = target;
      const answer = await api.get("/v1/models");
      if (WANTS_KEY.includes(answer.status)) return refusedKey(target, answer.status);
      const ids = (await servedModels(api)).map(({ id }) => textOr(id));
      const names = wanted(target);
      const short = ids.find((id) => !id.includes("/"));
      const faults = [
        ...names
          .filter((name) => !ids.includes(name))
          .map((name) => `\`${name}\` is not served; it serves ${quotedList(ids)}`),
        ...names
          .filter((name) => name.includes("/"))
          .map((name) => `\`${name}\` has a slash, so a coding client can't address it`),
      ];
      const fix =
        short === undefined
          ? "Restart instance A yourself with a name without a slash first in `--served-model-name`, and declare that name (`instanceA.servedModelName`)."
          : `\`instanceA.servedModelName: ${short}\`, then \`serving up\`.`;
      if (faults.length > 0) return passUnless(faults, "", fix);
      const note =
        declared.keyVariable === undefined
          ? "`instanceA.keyVariable: none` declares that it asks for no key."
          : "";
      return pass(quotedList(ids), note);
    },
  },
  {
    name: "instance-a-tools",
    about: "POST /v1/chat/completions of instance A with a tool: the call is structured",
    skip: keyless,
    fix: () => PARSER,
    run: async (target) => {
      const { api } = target;
      const model = wanted(target)[0] ?? textOr((await servedModels(api))[0]?.id);
      const { tools, path } = CHAT;
      const question = { model, tools, turns: TOOL_REQUEST, maxTokens: CALL_TOKENS };
      const answer = await api.post(path, CHAT.ask({ ...question, thinking: false }));
      // vLLM says so itself where it has no parser.
      if (answer.status === 400) return fail(`it refuses tools: ${refusalText(answer)}`);
      if (answer.status !== 200) return fail(answeredText(path, answer));
      const read = CHAT.read(objectOr(jsonIn(answer.text)));
      if (isCutOff(read.stop))
        return skip(`not known: its answer was cut off after ${CALL_TOKENS} tokens`);
      const { status, detail } = judgeCall(CHAT, tools, read, { setting: (key) => key });
      return status === "pass" ? pass(detail) : fail(detail);
    },
  },
];

function refusedKey(target: InstanceAClientsTarget, status: number): Verdict {
  const { keyVariable = "none" } = target.declared;
  const closes = "instance A refuses the key";
  return keyVariable === "none"
    ? { ...fail(`it asks for a key (status ${status}), and no variable is declared`, KEY), closes }
    : {
        ...fail(
          `it refuses the key in ${keyVariable} (status ${status})`,
          `Set ${keyVariable} to the key that instance A was started with.`,
        ),
        closes,
      };
}
