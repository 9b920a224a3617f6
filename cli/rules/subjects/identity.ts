import { quote } from "../../sees/answer";
import { CHAT_PATH, isCutOff } from "../answers";
import type { OfServer } from "../rule";
import {
  asksForKey,
  type Exchange,
  failedWith,
  followUps,
  isVllm,
  otherModel,
  type ServerSeen,
  severalAt,
} from "../serverSeen";
import { APPLY_STACK_FILE, alreadyDeclared, optionOtherwise, serverSetting } from "./asPlanned";

const WAYS_TO_A_CHAT = /^\/v1\/(?:chat\/completions|responses|messages|completions)/;

/** A path that vLLM's own web server doesn't have; a model that isn't served has other words. */
const isMissing = ({ status, refusal = "" }: Exchange): boolean =>
  status === 404 && /"detail": ?"Not Found"/.test(refusal);

const NAME_PROBES = ["models", "alias", "unknown-tier"];

export const windowText = (window: number, declared: number): string =>
  `The server runs with a window of ${window} tokens, but the stack file says ${declared}.`;

/** The program that says that it asks for the key. */
function by({ exchanges }: ServerSeen): string {
  const name = exchanges.find((each) => asksForKey(each))?.foreign?.by;
  return name === undefined ? "" : ` (it says \`${name}\`)`;
}

const brokeOff = ({ noAnswer, status = 0 }: Exchange): boolean =>
  status >= 500 || noAnswer === "closed" || noAnswer === "refused";

const logOf = ({ declared: { name, ours } }: ServerSeen): string =>
  ours ? `docker logs ${name}` : "its log";

const SLOW = {
  cause: "The server answers, but later than verify waits.",
  advice:
    "It is slow or busy: see its requests in serving status, and give answers more time with --timeout.",
  command: "serving status",
};

const hung = (seen: ServerSeen) => ({
  cause:
    "What asks the model gets no answer, not even of one token: the engine hangs or is stopped, or something before vLLM holds such requests back.",
  advice: `Ask vLLM itself (--base-url) where a proxy stands before it. See what it did last in ${logOf(seen)}, then run serving doctor. docker restart ${seen.declared.name} frees it. If a first answer takes that long here, set a longer --timeout.`,
  command: "serving doctor",
});

export const identity: readonly OfServer[] = [
  /** Several servers behind one address, which differ: each request may meet another one. */
  {
    id: "several-servers",
    find(seen) {
      const { running, failed, declared } = seen;
      const several = severalAt(running);
      if (several.length === 0) return undefined;
      return {
        cause: `Servers that differ answer in turns at ${running.url ?? declared.name}: ${several.map((each) => quote(each)).join("; then ")}.`,
        advice:
          "A balancer (a proxy's list of upstreams, replicas of one service) stands before them, so each request may meet another one. Let it ask servers of one model, release and window alone, or give each its own address. Ask one of them itself with --base-url.",
        command: `for i in 1 2 3 4; do curl -s ${running.url ?? ""}/v1/models; curl -s ${running.url ?? ""}/version; done`,
        probes: failed,
      };
    },
  },
  /** Another model behind the same names: whatever fails may be its own way. */
  {
    id: "other-model",
    find(seen) {
      const { declared, running, failed } = seen;
      const root = otherModel(declared.model, running.models ?? []);
      if (root === undefined) return undefined;
      return {
        cause: `Another model is served: ${root}, but the stack file says ${declared.model}.`,
        advice: `${APPLY_STACK_FILE} If you meant ${root}, set ${serverSetting(seen, "model.id")} to it.`,
        probes: failed,
      };
    },
  },
  /** Other names than the declared ones. */
  {
    id: "other-names",
    find(seen) {
      const { declared, running, failed } = seen;
      const ids = (running.models ?? []).map(({ id }) => id);
      const [first] = ids;
      const missing = declared.names.filter((name) => !ids.includes(name));
      if (first === undefined || (first === declared.names[0] && missing.length === 0))
        return undefined;
      const served = ids.map((id) => `\`${id}\``).join(", ");
      const aliases = declared.names.slice(1).join(", ") || "none";
      const otherwise = optionOtherwise(seen, "served-model-name");
      return {
        cause: `The server runs with other names (${served}) than the stack file has (${serverSetting(seen, "servedModelName")}: ${declared.names[0]}, ${serverSetting(seen, "aliases")}: ${aliases}).`,
        advice: [otherwise, APPLY_STACK_FILE].filter(Boolean).join(" "),
        probes: failed.filter((name) => NAME_PROBES.includes(name)),
      };
    },
  },
  /** A container that was started otherwise: what fails still may be mended in the stack file. */
  {
    id: "started-otherwise",
    find(seen) {
      const { declared, running, failed } = seen;
      const differs = running.differs ?? [];
      if (differs.length === 0) return undefined;
      return {
        cause: `The server doesn't run as the stack file says: ${declared.name} ${differs.join(", ")}.`,
        advice: `${APPLY_STACK_FILE} Then run serving verify again.`,
        probes: failed,
      };
    },
  },
  /** Answers under a name that nobody served or declared. */
  {
    id: "answers-as-other",
    find(seen) {
      const { declared, running, exchanges } = seen;
      const known = [...declared.names, ...(running.models ?? []).map(({ id }) => id)];
      const isOther = ({ answer }: Exchange) =>
        answer?.model !== undefined && !known.includes(answer.model);
      const other = exchanges.find(isOther)?.answer?.model;
      if (other === undefined || running.models === undefined) return undefined;
      return {
        cause: `Answers are said to be of \`${quote(other)}\`, which /v1/models doesn't list.`,
        advice:
          "A proxy between verify and vLLM sends requests to another server, or writes another name into answers. Ask vLLM itself with --base-url, and mend the proxy's list of models.",
        command: `curl -s ${running.url ?? ""}/v1/models`,
        probes: failedWith(seen, isOther).filter((name) => [...NAME_PROBES, "chat"].includes(name)),
      };
    },
  },
  /** Another window than the declared one: requests that fit the declared one are refused or cut. */
  {
    id: "other-window",
    find(seen) {
      const { declared, running, failed } = seen;
      const own = running.models?.filter(({ parent }) => parent === undefined);
      const window = own?.find((each) => each.window !== declared.maxModelLen)?.window;
      if (window === undefined) return undefined;
      const tooLong = ({ refusal, answer }: Exchange) =>
        new RegExp(`(?<!\\d)${window}(?!\\d)`).test(refusal ?? "") ||
        (answer !== undefined &&
          isCutOff(answer.stop) &&
          answer.prompt + answer.completion >= window - 1);
      const cut = failedWith(seen, tooLong);
      return {
        cause: windowText(window, declared.maxModelLen),
        advice: alreadyDeclared(
          seen,
          "max-model-len",
          `${serverSetting(seen, "maxModelLen")}: ${declared.maxModelLen}`,
        ),
        probes: failed.filter(
          (name) => ["max-model-len", "kv-cache"].includes(name) || cut.includes(name),
        ),
      };
    },
  },
  /** A vLLM that was started for another kind of model: every way to a chat is missing. */
  {
    id: "no-chats",
    find(seen) {
      const asked = seen.exchanges.filter(({ path }) => WAYS_TO_A_CHAT.test(path));
      const missing = asked.filter(isMissing);
      const isServed = asked.some((each) => each.status !== undefined && !isMissing(each));
      if (!isVllm(seen.running) || isServed || !missing.some(({ path }) => path === CHAT_PATH))
        return undefined;
      const paths = [...new Set(missing.map(({ path }) => path))].filter(
        (path) => !/count_tokens/.test(path),
      );
      const embeds = followUps(seen, "/v1/embeddings").some(({ status }) => status === 200);
      const kind = serverSetting(seen, "model.kind");
      return {
        cause: `What answers here serves no chats: it has no ${paths.join(", ")} (404)${embeds ? ", and /v1/embeddings makes vectors" : ""}.`,
        advice: embeds
          ? `It is a vLLM for another kind of model (\`--runner pooling\`), or was started so. Give one of the two another port (${serverSetting(seen, "port")}), or \`serving up\` where the stack file has it otherwise. Is the model made for vectors, write \`${kind}: embedding\`.`
          : `A vLLM that was started for another kind of model (\`--runner pooling\`) has none of them. Or something before it doesn't pass them on: ask vLLM itself (--base-url). See what it was started with, and \`${kind}\`.`,
        command: `curl -s ${seen.running.url ?? ""}/openapi.json`,
        probes: failedWith(seen, isMissing),
      };
    },
  },
  /** A server that was started with a key answers nobody of ours: the stack file gives it none. */
  {
    id: "key-wanted",
    find: (seen) => ({
      cause: "The server wants a key, but the stack file gives its servers none.",
      advice: `It was started with a key (VLLM_API_KEY, or an argument), or there is a proxy in front of it${by(seen)}. ${APPLY_STACK_FILE}`,
      probes: failedWith(seen, asksForKey),
    }),
  },
  /** An engine that died: from then on its API answers with failures, and then not at all. */
  {
    id: "engine-died",
    find(seen) {
      const [health] = followUps(seen, "/health");
      if (health === undefined || !brokeOff(health)) return undefined;
      if (!seen.exchanges.some(({ status }) => status === 200)) return undefined;
      const now =
        health.status === undefined
          ? "nothing answers any more"
          : `/health answers ${health.status}`;
      return {
        cause: `The engine died during the probes: ${now}.`,
        advice: `Read docker logs ${seen.declared.name}, then run serving doctor. Once it serves, run serving verify again: other probes may have failed for reasons of their own.`,
        command: "serving doctor",
        probes: failedWith(seen, (each) => brokeOff(each) || each.noAnswer === "timeout"),
      };
    },
  },
  /** Requests that nobody answers in time: a hung engine, or one that is slow. */
  {
    id: "late",
    find: (seen) => {
      const probes = failedWith(seen, ({ noAnswer }) => noAnswer === "timeout");
      const [token] = followUps(seen, "/v1/completions");
      return { ...(token?.status === 200 ? SLOW : hung(seen)), probes };
    },
  },
];
