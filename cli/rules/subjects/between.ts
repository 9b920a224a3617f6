import type { FoundOfServer, OfServer } from "../rule";
import {
  asksForKey,
  type Exchange,
  failedWith,
  followUps,
  isVllm,
  type ServerSeen,
} from "../serverSeen";
import { serverSetting } from "./asPlanned";

/** Where it is asked, for a person. */
const addressOf = ({ running: { url }, declared }: ServerSeen): string => url ?? declared.name;

/** Shows who listens at the server's address. */
function whoListens(seen: ServerSeen): string {
  const [, port] = /:(\d+)(?:\/|$)/.exec(seen.running.url ?? "") ?? [];
  return port === undefined ? "ss -lntp" : `ss -lntp 'sport = :${port}'`;
}

/** Shows the headers of what answers, which often name the program. */
const whoAnswers = (seen: ServerSeen): string => `curl -si ${seen.running.url ?? ""}/version`;

/** The program that says that it sent these, for the beginning of a sentence. */
function senderOf(exchanges: readonly Exchange[], seen: ServerSeen): string {
  const by = exchanges.find(({ foreign }) => foreign?.by !== undefined)?.foreign?.by;
  const what = isVllm(seen.running)
    ? "Something between verify and vLLM, such as a proxy,"
    : `What answers at ${addressOf(seen)}, a proxy by its status,`;
  return by === undefined ? what : `${what.slice(0, -1)} (it says \`${by}\`),`;
}

const DIRECTLY = "Or ask vLLM itself (--base-url, with its own address).";

/** What stands in the place of an answer of vLLM, and what to do about it. */
interface Kind {
  readonly is: (exchange: Exchange) => boolean;
  /** What it does, behind its name. */
  readonly does: (exchanges: readonly Exchange[], seen: ServerSeen) => string;
  readonly advice: (seen: ServerSeen) => string;
}

const hasStatus =
  (...statuses: readonly number[]) =>
  ({ foreign, status = 0 }: Exchange): boolean =>
    foreign !== undefined && statuses.includes(status);

const statusOf = ([first]: readonly Exchange[]): string => {
  const { status, foreign: { says } = {} } = first ?? {};
  return says === undefined ? String(status) : `${status}, \`${says}\``;
};

/** Bytes of the largest request that vLLM answered. */
const largestAnswered = ({ exchanges }: ServerSeen): number =>
  Math.max(0, ...exchanges.map(({ answer, bytes = 0 }) => (answer === undefined ? 0 : bytes)));

/** That, and bytes of the smallest of these. */
function sizesOf(exchanges: readonly Exchange[], seen: ServerSeen): string {
  const passed = largestAnswered(seen);
  const refused = Math.min(...exchanges.map(({ bytes = 0 }) => bytes));
  const of = `one of ${refused} bytes`;
  return passed > 0 && passed < refused ? `${of}, but takes one of ${passed}` : of;
}

const pathsOf = (exchanges: readonly Exchange[]): string =>
  [...new Set(exchanges.map(({ path }) => path))].join(", ");

const hasForm =
  (...forms: readonly string[]) =>
  ({ foreign }: Exchange): boolean =>
    foreign !== undefined && forms.includes(foreign.form);

/** Those that a status tells, whoever stands behind. */
const BY_STATUS: readonly Kind[] = [
  {
    is: hasStatus(413, 414, 431),
    does: (exchanges, seen) =>
      `refuses a request as too large (${statusOf(exchanges)}): ${sizesOf(exchanges, seen)}`,
    advice: () =>
      `Raise its limit for a request's size (nginx calls it \`client_max_body_size\`): agents send hundreds of kB. ${DIRECTLY}`,
  },
  {
    is: hasStatus(408, 504, 524),
    does: (exchanges) => {
      const longest = Math.max(...exchanges.map(({ seconds = 0 }) => seconds));
      const after = longest < 1 ? "" : `, after ${Math.round(longest)} s`;
      return `gives up before the answer is there (${statusOf(exchanges)})${after}`;
    },
    advice: () =>
      `Give an answer more time there (nginx calls it \`proxy_read_timeout\`): a long prompt or long thoughts take minutes. ${DIRECTLY}`,
  },
  {
    is: hasStatus(502, 503, 520, 521, 522, 523, 525, 526, 530),
    does: (exchanges) => `gets no answer from what is behind it (${statusOf(exchanges)})`,
    advice: ({ declared }) =>
      `See whether vLLM runs and the proxy asks its address: docker logs ${declared.name}. A vLLM that dies of a request closes the connection, too. ${DIRECTLY}`,
  },
  {
    is: hasStatus(401, 403, 407, 511),
    does: (exchanges) => `refuses these requests (${statusOf(exchanges)})`,
    advice: () =>
      `It wants a password of its own, or filters what requests hold. Let clients of vLLM through there. ${DIRECTLY}`,
  },
  {
    is: hasStatus(429),
    does: (exchanges) => `lets only so many requests through (${statusOf(exchanges)})`,
    advice: () => `Raise its limit of requests: an agent sends one after the other. ${DIRECTLY}`,
  },
  {
    is: ({ foreign, status = 0 }) => foreign !== undefined && status >= 300 && status < 400,
    does: ([first]) =>
      `sends clients elsewhere (${first?.status}${first?.foreign?.to === undefined ? "" : `, to ${first.foreign.to}`})`,
    advice: () =>
      "Requests of clients and of verify don't follow it, since it could carry a key elsewhere. Give them the address that it leads to, with its scheme (http or https).",
  },
];

/** How vLLM says that a body is no JSON, which every body of a probe is. */
const NO_JSON = /json_invalid|JSON decode error/;

/** Those that need vLLM behind them: alone they are another program's answers. */
const BEFORE_VLLM: readonly Kind[] = [
  {
    is: ({ foreign, status = 0, refusal = "" }) =>
      foreign === undefined && [400, 422].includes(status) && NO_JSON.test(refusal),
    does: (exchanges, seen) =>
      `cuts requests off on their way, or changes them: vLLM got JSON without its end (\`JSON decode error\`). It did so with ${sizesOf(exchanges, seen)}`,
    advice: () =>
      `Raise its limit for a request's size, and let it pass bodies on as they are: agents send hundreds of kB. ${DIRECTLY}`,
  },
  {
    is: hasStatus(404, 405, 501),
    does: (exchanges) => `doesn't pass on ${pathsOf(exchanges)} (${statusOf(exchanges)})`,
    advice: () => `Let it pass on all below /v1, and /health, /version and /metrics. ${DIRECTLY}`,
  },
  {
    is: hasForm("cut"),
    does: (exchanges) =>
      `cuts answers off in the middle: their JSON has no end (${pathsOf(exchanges)})`,
    advice: () => `See its limits for an answer's size and its buffers on disk. ${DIRECTLY}`,
  },
  {
    is: hasForm("packed"),
    does: (exchanges) =>
      `packs answers (\`content-encoding: ${exchanges[0]?.foreign?.says}\`), though nobody asked for that`,
    advice: () => `Switch the compression of API answers off there. ${DIRECTLY}`,
  },
  {
    is: hasForm("mistyped"),
    does: (exchanges) =>
      `answers under the wrong \`content-type\` (${exchanges[0]?.foreign?.says})`,
    advice: () =>
      `Clients then read no answer in it: JSON is \`application/json\`, a stream \`text/event-stream\`. Let it leave that header alone. ${DIRECTLY}`,
  },
  {
    is: hasForm("whole"),
    does: (exchanges) => `answers as a whole where a stream was asked for (${pathsOf(exchanges)})`,
    advice: () => `Let it pass \`stream: true\` and its events on. ${DIRECTLY}`,
  },
  {
    is: ({ foreign }) => foreign !== undefined,
    does: (exchanges) => {
      const [{ foreign: { form } = {} } = {}] = exchanges;
      const what =
        form === "page" ? "a web page" : form === "empty" ? "nothing" : "text of its own";
      return `answers with ${what} in vLLM's place (${statusOf(exchanges)})`;
    },
    advice: () => `A login page, a filter or another program may stand there. ${DIRECTLY}`,
  },
];

const KINDS = [...BY_STATUS, ...BEFORE_VLLM];

const kindOf = (exchange: Exchange): Kind | undefined =>
  exchange.probe === "" ? undefined : KINDS.find(({ is }) => is(exchange));

/** Connections that are closed on every request that is larger than all that were answered. */
function closedOnLarge(seen: ServerSeen): FoundOfServer | undefined {
  const passed = largestAnswered(seen);
  const isLarge = ({ noAnswer, bytes = 0 }: Exchange) => noAnswer === "closed" && bytes > passed;
  const [health] = followUps(seen, "/health");
  if (passed === 0 || health?.status !== 200) return undefined;
  const closed = seen.exchanges.filter(isLarge);
  return {
    cause: `Connections are closed on large requests (${sizesOf(closed, seen)}), and vLLM still runs.`,
    advice: `A proxy with a limit for a request's size does so (nginx calls it \`client_max_body_size\`). ${DIRECTLY}`,
    command: whoAnswers(seen),
    probes: failedWith(seen, isLarge),
  };
}

/** Streams that all break off, where whole answers arrive and vLLM still runs. */
function closedOnStreams(seen: ServerSeen): FoundOfServer | undefined {
  const broken = ({ streamed, noAnswer }: Exchange) => streamed && noAnswer === "closed";
  const { exchanges } = seen;
  const [health] = followUps(seen, "/health");
  const isWhole = exchanges.some(({ streamed, answer }) => !streamed && answer !== undefined);
  const others = exchanges.some(
    ({ streamed, noAnswer, answer }) =>
      (streamed && answer !== undefined) || (!streamed && noAnswer === "closed"),
  );
  if (!isWhole || others || health?.status !== 200) return undefined;
  return {
    cause: `Streams are cut off before their end (${pathsOf(exchanges.filter(broken))}), answers as a whole arrive, and vLLM still runs.`,
    advice: `A proxy with a limit for a stream's length, events or time does so. ${DIRECTLY} If streams end there, too, see its log.`,
    command: whoAnswers(seen),
    probes: failedWith(seen, broken),
  };
}

/** What a program says of itself, by the clearest sign. */
function selfOf({ running, exchanges }: ServerSeen): string {
  const owner = running.models?.find((each) => each.owner !== undefined)?.owner;
  if (owner !== undefined) return `its models are \`owned_by: ${owner}\``;
  const foreign = exchanges.flatMap((each) => each.foreign ?? []);
  const root = exchanges.find(({ path, status }) => path === "/" && status === 200)?.foreign;
  const says = root?.says ?? foreign.find((each) => each.form === "page")?.says;
  const by = foreign.find((each) => each.by !== undefined)?.by;
  const words = [
    ...(by === undefined ? [] : [`it calls itself \`${by}\``]),
    ...(says === undefined ? [] : [`it says \`${says}\``]),
  ];
  return words.join(" and ") || "it answers neither /v1/models nor /metrics as vLLM does";
}

const LISTENS_ELSE = (seen: ServerSeen): string =>
  `Another program has this address: \`${whoListens(seen)}\` shows which. Stop it, or give the server a free port (${serverSetting(seen, "port")}); behind --base-url write the address of vLLM itself.`;

/** Something that answers no request, or no HTTP. */
function unanswering(seen: ServerSeen): FoundOfServer {
  const { exchanges, failed, declared } = seen;
  const late = exchanges.some(({ noAnswer }) => noAnswer === "timeout");
  const what = late
    ? "takes connections and answers nothing, not even /health"
    : "closes each connection, or speaks no plain HTTP";
  const also = late
    ? `Or it is a vLLM whose own process hangs: see docker logs ${declared.name}.`
    : "Or it is a vLLM that wants https, or dies at once: see its log.";
  return {
    cause: `What listens at ${addressOf(seen)} ${what}.`,
    advice: `${LISTENS_ELSE(seen)} ${also}`,
    command: whoListens(seen),
    probes: failed,
  };
}

export const between: readonly OfServer[] = [
  /** Another program at the address: whatever fails is its own way. */
  {
    id: "not-vllm",
    find(seen) {
      const { running, exchanges, failed } = seen;
      const asked =
        running.models !== undefined || exchanges.some(({ path }) => path === "/v1/models");
      if (!asked || isVllm(running) || exchanges.some(asksForKey)) return undefined;
      if (exchanges.some(({ noAnswer }) => noAnswer === "refused")) return undefined;
      if (exchanges.some((each) => BY_STATUS.some(({ is }) => is(each)))) return undefined;
      if (exchanges.every(({ noAnswer }) => noAnswer !== undefined)) return unanswering(seen);
      return {
        cause: `What answers at ${addressOf(seen)} is not vLLM: ${selfOf(seen)}.`,
        advice: `${LISTENS_ELSE(seen)} A proxy before vLLM has to pass on /health, /version, /metrics and all below /v1.`,
        command: whoListens(seen),
        probes: failed,
      };
    },
  },
  /** What a proxy answers in vLLM's place. */
  {
    id: "answered-between",
    find(seen) {
      const foreign = seen.exchanges.filter((each) => kindOf(each) !== undefined);
      const kinds = KINDS.filter((kind) => foreign.some((each) => kindOf(each) === kind));
      const known = new Set<string>();
      const found = kinds.map((kind): FoundOfServer => {
        const own = foreign.filter((each) => kindOf(each) === kind);
        const probes = failedWith(seen, (each) => kindOf(each) === kind);
        const open = probes.filter((name) => !known.has(name));
        for (const name of open) known.add(name);
        return {
          cause: `${senderOf(own, seen)} ${kind.does(own, seen)}.`,
          advice: kind.advice(seen),
          command: whoAnswers(seen),
          probes: open,
        };
      });
      return [...found, closedOnStreams(seen) ?? closedOnLarge(seen) ?? []].flat();
    },
  },
];
