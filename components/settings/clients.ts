import { z } from "zod";
import { hostPath, serverReference, variableName } from "./fields";

/** Output tokens that an agent may ask for in one answer where its client is not told otherwise. */
const AGENT_OUTPUT_TOKENS = 8192;

/** The specification's figure for the messages-style client. */
const MESSAGES_OUTPUT_TOKENS = 32000;

const reach = (via: "bridge" | "native") => ({
  server: serverReference()
    .optional()
    .describe("Server that the client uses. Default: the only entry of `inferenceServers`."),
  via: z
    .enum(["bridge", "native"])
    .default(via)
    .describe(
      "`native`: the client talks to the server itself. `bridge`: it talks to the bridge, which talks to the server.",
    ),
  model: z
    .string()
    .regex(/^\S+$/, "Expected a name without blanks")
    .optional()
    .describe("Name to ask for. Default: the server's canonical served name."),
});

const maxOutputTokens = (tokens: number) =>
  z
    .int()
    .min(1)
    .default(tokens)
    .describe(
      "Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window.",
    );

const KEY_VARIABLES = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];

const claudeCode = z
  .strictObject({
    ...reach("bridge"),
    maxOutputTokens: maxOutputTokens(MESSAGES_OUTPUT_TOKENS),
    environment: z
      .record(variableName(), z.string().describe("Value of the variable, as text."))
      .refine(
        (variables) => KEY_VARIABLES.every((name) => variables[name] === undefined),
        "A key has no place in a settings file: it comes from the launcher",
      )
      .default({})
      .describe("Further variables of its `env` block, or other values for ours. No secrets."),
  })
  .describe(
    "Claude Code. Through the bridge until the server has passed the native-path test, then `via: native`.",
  );

const codex = z
  .strictObject({
    ...reach("native"),
    home: hostPath()
      .default("~/.codex")
      .describe(
        "Its CODEX_HOME on the machine. One file of ours is put there, beside your own, which stays as it is.",
      ),
    profile: z
      .string()
      .regex(/^[a-z][a-z0-9-]*$/, "Expected a name of lower-case letters, digits and dashes")
      .default("local-serving")
      .describe("Name of the file (`NAME.config.toml`) and of the profile (`codex -p NAME`)."),
  })
  .describe("Codex CLI, a Responses-style coding agent.");

const clientEnv = z
  .strictObject(reach("native"))
  .describe("Any client that reads OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL from its environment.");

const agent = (name: string) =>
  z
    .strictObject({ ...reach("native"), maxOutputTokens: maxOutputTokens(AGENT_OUTPUT_TOKENS) })
    .describe(name);

/** The clients that get a configuration and a launcher. One that is left out gets none. */
export const clients = z
  .strictObject({
    host: z
      .string()
      .regex(/^[a-zA-Z0-9.-]+$/, "Expected a host name or an IPv4 address, without scheme or port")
      .optional()
      .describe(
        "Name or address by which the clients reach the machine. Default: the address that each port is published on. On a network, use a DHCP reservation or an mDNS name: an address that changes cuts the clients off without a word.",
      )
      .meta({ examples: ["dgx.local"] }),
    folder: hostPath()
      .default("~/.local/share/local-serving/clients")
      .describe("Folder on the machine for the clients' files. They are ours: yours are not touched."),
    launcherFolder: hostPath()
      .default("~/.local/bin")
      .describe("Folder on the machine for the launchers (`local-claude`, `local-codex`, ...)."),
    keyVariable: variableName()
      .default("LOCAL_SERVING_API_KEY")
      .describe(
        "NAME of the variable that clients take their key from. Its launcher sets a placeholder where it is unset: the servers ignore the value, and the clients insist on one.",
      ),
    claudeCode: claudeCode.optional(),
    codex: codex.optional(),
    clientEnv: clientEnv.optional(),
    opencode: agent("The coding agent opencode.").optional(),
    pi: agent("The coding agent pi.").optional(),
    qwenCode: agent("The coding agent Qwen Code.").optional(),
  })
  .prefault({})
  .describe("Client programs that are given a configuration and a launcher.");

/** The settings of all clients, parsed. */
export type ClientsSettings = z.output<typeof clients>;
export type ClaudeCodeSettings = z.output<typeof claudeCode>;
export type CodexSettings = z.output<typeof codex>;
export type AgentSettings = z.output<ReturnType<typeof agent>>;
/** What every client's settings say of the server that it uses. */
export type ReachSettings = z.output<typeof clientEnv>;
