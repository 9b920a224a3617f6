import type { Outcome } from "@local-serving/base/commandLine/command";
import { headed } from "@local-serving/base/commandLine/layout";
import { columns, styled } from "@local-serving/base/commandLine/output";
import { Failed } from "@local-serving/base/faults/fault";
import { quote } from "../sees/answer";
import { Api } from "../sees/api";
import { readServed, type Served } from "../sees/served";
import type { ServerFigures } from "./itemStatus";
import { figuresOfServer } from "./status";

/** What a server at an address does, whoever started it: nothing but the server itself is asked. */
export async function foundStatus(url: string): Promise<Outcome> {
  const api = new Api(url);
  const served = await readServed(api).catch(whyNot);
  if (typeof served === "string")
    return {
      result: { url, state: "does not answer", problem: served, served: null, figures: null },
      text: headed(styled("bold", url), [served]),
      failed: true,
    };
  // A server that isn't vLLM's own program has no such metrics.
  const figures = await figuresOfServer(api).catch(() => null);
  return {
    result: { url, state: "ready", problem: null, served, figures },
    text: foundText(url, served, figures),
  };
}

function whyNot(error: unknown): string {
  if (error instanceof Failed) return error.message;
  throw error;
}

const NOT_TOLD = "not told";

function foundText(url: string, served: Served, figures: ServerFigures | null): string {
  const number = (value: number | null | undefined, digits = 0) =>
    value === null || value === undefined ? NOT_TOLD : value.toFixed(digits);
  const percent = (share: number | null | undefined) =>
    share === null || share === undefined ? NOT_TOLD : `${Math.round(share * 100)} %`;
  const rows = [
    ["names", served.names.map(quote).join(", ")],
    ["window", served.maxModelLen === null ? NOT_TOLD : `${served.maxModelLen} tokens`],
    ["running", number(figures?.running)],
    ["waiting", number(figures?.waiting)],
    ["KV cache", percent(figures?.kvUse)],
    ["tokens/s", number(figures?.tokensPerSecond, 1)],
    ["prefix hits", percent(figures?.prefixHits)],
    ["read", number(figures?.tokensRead)],
    ["written", number(figures?.tokensWritten)],
  ];
  return headed(`${styled("bold", url)}: ready`, columns(rows));
}
