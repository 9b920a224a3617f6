import type { OfServer } from "../rule";
import { type Exchange, failedWith, followUps, type ServerSeen } from "../serverSeen";
import { APPLY_STACK_FILE } from "./asPlanned";

const refusesKeyless = ({ status }: Exchange): boolean => status === 401 || status === 403;

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
    "The server accepts requests but answers none, not even with one token: its engine hangs or is stopped.",
  advice: `See what it did last in ${logOf(seen)}, then run serving doctor. docker restart ${seen.declared.name} frees it. If a first answer takes that long here, set a longer --timeout.`,
  command: "serving doctor",
});

export const alive: readonly OfServer[] = [
  /** A server that was started with a key answers nobody of ours: the stack file gives it none. */
  {
    id: "key-wanted",
    find: (seen) => ({
      cause: "The server wants a key, but the stack file gives its servers none.",
      advice: `It was started with \`--api-key\` or VLLM_API_KEY, or there is a proxy in front of it. ${APPLY_STACK_FILE}`,
      probes: failedWith(seen, refusesKeyless),
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
