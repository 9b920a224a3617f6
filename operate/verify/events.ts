import { isJsonObject, type JsonObject, jsonIn } from "./json";

export interface ServerEvent {
  /** Its name, if the server gives one. */
  readonly event: string | undefined;
  /** Its data; `undefined` for the closing `[DONE]` and for anything else that is not a JSON object. */
  readonly data: JsonObject | undefined;
  /** Its data as it was sent. */
  readonly raw: string;
}

/** Reads a whole stream of server-sent events by the standard: comments are left out, data lines joined. */
export function readEvents(text: string): ServerEvent[] {
  return text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .map(readEvent)
    .filter((event) => event !== undefined);
}

function readEvent(block: string): ServerEvent | undefined {
  let event: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]+)(?:: ?(.*))?$/.exec(line) ?? [];
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  if (data.length === 0) return undefined;
  const raw = data.join("\n");
  const value = jsonIn(raw);
  return { event, raw, data: isJsonObject(value) ? value : undefined };
}
