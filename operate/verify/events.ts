import { isJsonObject, type JsonObject } from "./json";

/** One server-sent event. */
export interface ServerEvent {
  /** Name, where the server gives one. */
  readonly event: string | undefined;
  /** The data as an object; `undefined` where it is the closing `[DONE]` or no JSON object. */
  readonly data: JsonObject | undefined;
  /** The data as it was sent. */
  readonly raw: string;
}

/** Takes a whole stream of server-sent events apart, as the standard has it: comments are left out, data lines joined. */
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
  return { event, raw, data: objectOf(raw) };
}

function objectOf(raw: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(raw);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
