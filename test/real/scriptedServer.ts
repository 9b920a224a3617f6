import {
  isObject,
  type JsonObject,
  objects,
  type Reply,
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
  /** How often it is made in Messages and Chat Completions, one after the other; else once. */
  readonly times?: number;
}

export interface ScriptedServer extends StandIn {
  readonly asked: Asked[];
  /** What it does next: call this tool, or say hello. */
  script: ScriptedCall | undefined;
}

export const MODEL = "model";

const ANSWERING = ["/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1/completions"];

/**
 * The stand-in with a script: real clients offer dozens of tools, of which the first one is no good
 * to call.
 */
export async function startScriptedServer(
  maxModelLen = 131_072,
  ...furtherNames: readonly string[]
): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const state: { script: ScriptedCall | undefined } = { script: undefined };
  const routes: RouteTable = Object.fromEntries(
    ANSWERING.map((path) => {
      const healthy = HEALTHY[`POST ${path}`];
      if (healthy === undefined) throw new Error(`the stand-in has no ${path}`);
      const route: Route = (exchange) => {
        const { body } = exchange;
        asked.push({ path, body });
        const made = toolAnswers(body);
        const tools = scripted(body, state.script, made);
        const again = made > 0 && tools.length > 0;
        const given = again ? { messages: [...objects(body.messages), GO_ON] } : {};
        const reply = healthy({ ...exchange, body: { ...body, ...given, tools } });
        return state.script?.times === undefined ? reply : ofCall(reply, made);
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
        ...furtherNames,
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

/** Behind a tool's result the stand-in says hello. */
const GO_ON: JsonObject = { role: "user", content: "go on" };

/**
 * The reply with ids of its own: clients drop a call, or join a message, whose id they know. A
 * number behind an id is no other id to Claude Code.
 */
const ofCall = (reply: Reply, made: number): Reply =>
  JSON.parse(JSON.stringify(reply).replaceAll(/stand(?=[_-]in)/g, `stand${made}`));

/**
 * The offered tools reduced to the scripted one, with the scripted arguments as their only possible
 * values.
 */
function scripted(body: JsonObject, script: ScriptedCall | undefined, made: number): JsonObject[] {
  if (script === undefined || made >= (script.times ?? 1)) return [];
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

/** How many results of tools the conversation holds: clients add reminders behind them. */
function toolAnswers(body: JsonObject): number {
  const turns = [...objects(body.messages), ...objects(body.input)];
  const isAnswer = ({ role, type }: JsonObject) =>
    role === "tool" || type === "function_call_output" || type === "tool_result";
  return turns.flatMap((turn) => [turn, ...objects(turn.content)]).filter(isAnswer).length;
}
