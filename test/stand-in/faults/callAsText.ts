import { isObject, type JsonObject, objects, type Reply, type StreamEvent } from "../exchange";

/** A call in the XML of the qwen3 families, as it stands where a parser missed it. */
export function xmlCall(name: string, parameters: JsonObject): string {
  const lines = Object.entries(parameters).map(
    ([key, value]) => `<parameter=${key}>\n${String(value)}\n</parameter>\n`,
  );
  return `<tool_call>\n<function=${name}>\n${lines.join("")}</function>\n</tool_call>`;
}

/** The object that a healthy route answered with; `undefined` for a stream or a refusal. */
export function answered(reply: Reply): JsonObject | undefined {
  return "json" in reply && reply.status === 200 ? reply.json : undefined;
}

/** The events that a healthy route answered with. */
export function streamed(reply: Reply): readonly StreamEvent[] | undefined {
  return "stream" in reply ? reply.stream : undefined;
}

export function chatCallAsXml(body: JsonObject): string | undefined {
  const message = objects(body.choices)[0]?.message;
  const call = isObject(message) ? objects(message.tool_calls)[0]?.function : undefined;
  if (!isObject(call)) return undefined;
  return xmlCall(String(call.name), JSON.parse(String(call.arguments)) as JsonObject);
}
