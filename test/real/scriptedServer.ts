import {
  isObject,
  type JsonObject,
  objects,
  type Route,
  type RouteTable,
} from "../stand-in/exchange";
import { HEALTHY, type StandIn, startStandIn } from "../stand-in/server";

export interface Asked {
  readonly path: string;
  readonly body: JsonObject;
}

/** One tool call that the server makes when it is offered that tool. */
export interface ScriptedCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface ScriptedServer extends StandIn {
  readonly asked: Asked[];
  /** What it does next: call this tool once, or say hello. */
  script: ScriptedCall | undefined;
}

export const MODEL = "model";

const ANSWERING = ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/completions"];

/**
 * The stand-in with a script: real clients offer dozens of tools, of which the first one is no good
 * to call.
 */
export async function startScriptedServer(maxModelLen = 131_072): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const state: { script: ScriptedCall | undefined } = { script: undefined };
  const routes: RouteTable = Object.fromEntries(
    ANSWERING.map((path) => {
      const healthy = HEALTHY[`POST ${path}`];
      if (healthy === undefined) throw new Error(`the stand-in has no ${path}`);
      const route: Route = (exchange) => {
        asked.push({ path, body: exchange.body });
        return healthy({
          ...exchange,
          body: { ...exchange.body, tools: scripted(exchange.body, state.script) },
        });
      };
      return [`POST ${path}`, route];
    }),
  );
  const server = await startStandIn(
    [
      ...[
        "org/model",
        "--served-model-name",
        MODEL,
        "org/model",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
      ],
      ...["--max-model-len", String(maxModelLen), "--enable-auto-tool-choice"],
      ...["--tool-call-parser", "qwen3_coder"],
    ],
    { routes },
  );
  return Object.defineProperties(
    { ...server, asked, script: undefined as ScriptedCall | undefined },
    {
      script: {
        get: () => state.script,
        set: (script: ScriptedCall | undefined) => Object.assign(state, { script }),
      },
    },
  );
}

/**
 * The offered tools reduced to the scripted one, with the scripted arguments as their only possible
 * values.
 */
function scripted(body: JsonObject, script: ScriptedCall | undefined): JsonObject[] {
  if (script === undefined || answersTool(body)) return [];
  const parameters = {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(script.arguments).map(([name, value]) => [name, { enum: [value] }]),
    ),
  };
  return objects(body.tools)
    .filter((tool) => nameOf(tool) === script.tool)
    .map((tool) => ({
      ...tool,
      ...("input_schema" in tool ? { input_schema: parameters } : {}),
      ...("parameters" in tool ? { parameters } : {}),
      ...(isObject(tool.function) ? { function: { ...tool.function, parameters } } : {}),
    }));
}

function nameOf(tool: JsonObject): unknown {
  return isObject(tool.function) ? tool.function.name : tool.name;
}

/**
 * Whether the result of a tool is anywhere in the conversation: clients add reminders behind it.
 */
function answersTool(body: JsonObject): boolean {
  const turns = [...objects(body.messages), ...objects(body.input)];
  return turns.some(
    (turn) =>
      turn.role === "tool" ||
      turn.type === "function_call_output" ||
      objects(turn.content).some((part) => part.type === "tool_result"),
  );
}
