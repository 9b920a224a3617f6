import { type Fault, faultsIn, warningAt } from "@local-serving/base/faults/fault";
import type { JsonDocument } from "@local-serving/base/faults/jsonDocument";
import {
  isSlip,
  mayBeQuoted,
  nearestKey,
  nearOf,
  slipOf,
} from "@local-serving/base/faults/quoting";
import { findKey } from "./keys";
import type { EffectiveValue } from "./layers";

type Values = ReadonlyMap<string, EffectiveValue>;

/** Backends that are servers; a judge may also be a coding tool by its id. */
const SERVERS = ["ollama", "openai"] as const;

/**
 * What effective values say of backends that can't work as they stand: a name that is none, and
 * `openai` without what its requests need. The specification names no backends, so all of it is
 * warned of and nothing refused.
 */
export function backendFaults(values: Values, document: JsonDocument | undefined): Fault[] {
  const textOf = (name: string) => String(values.get(name)?.value ?? "");
  const warning = (name: string, code: string, message: string): Fault => {
    const key = values.get(name)?.layer === "file" ? findKey(name) : undefined;
    return document === undefined || key === undefined
      ? warningAt(name, code, message)
      : faultsIn(document).warning(key.path, code, message);
  };
  const judges = [...values.keys()].flatMap(
    (name) => /^(judge\.(?:default|by_copilot\..+))\.backend$/.exec(name)?.[1] ?? [],
  );
  const byOpenai = judges.filter((judge) => textOf(`${judge}.backend`) === "openai");
  const unknown = [
    ...(isServer(textOf(EMBEDDING)) ? [] : [EMBEDDING]),
    ...judges
      .map((judge) => `${judge}.backend`)
      .filter((name) => isMistyped(textOf(name), judgesKnown(values))),
  ];
  const addresses = [
    ...(byOpenai.length > 0 ? ["judge.base_url"] : []),
    ...(textOf(EMBEDDING) === "openai" ? ["embedding.ollama_url"] : []),
  ];
  return [
    ...unknown.map((name) => warning(name, "unknown_backend", unknownText(textOf(name)))),
    ...byOpenai
      .map((judge) => `${judge}.model`)
      .filter((name) => textOf(name) === "")
      .map((name) => warning(name, "no_model", NO_MODEL)),
    ...addresses.flatMap((name) => {
      const wrong = addressText(textOf(name));
      return wrong === undefined ? [] : [warning(name, "no_api_address", wrong)];
    }),
  ];
}

const EMBEDDING = "embedding.backend";

const isServer = (text: string): boolean => text === "" || SERVERS.some((name) => name === text);

/** Servers, and the coding tools that the values name. */
const judgesKnown = (values: Values): string[] => [
  ...SERVERS,
  ...[...values.keys()].flatMap((name) => /^sources\.(.+)$/.exec(name)?.[1] ?? []),
];

/** Any tool may judge, so only a name that is nearly a known one is doubted. */
const isMistyped = (text: string, known: readonly string[]): boolean =>
  text !== "" && !known.includes(text) && slipOf(text, known) !== undefined;

function unknownText(text: string): string {
  const isShown = mayBeQuoted(text) || isSlip(text, nearestKey(text, SERVERS));
  const name = isShown ? ` \`${text}\`` : "";
  return `The harness has no backend${name}. ${nearOf(text, SERVERS, "It has `ollama` and `openai`.")}`;
}

const NO_MODEL =
  "The backend `openai` sends the name of a model with each request, and this key is empty: write the name that the server's `/v1/models` lists.";

/** Why a base URL is none of an API with chat completions. */
function addressText(url: string): string | undefined {
  if (url === "")
    return "The backend `openai` needs the address of its server, such as `http://127.0.0.1:8001/v1`, and this key is empty.";
  return /\/v\d+\/?$/.test(url)
    ? undefined
    : "The backend `openai` adds paths such as `/chat/completions` to this URL, so it should end in `/v1`.";
}
