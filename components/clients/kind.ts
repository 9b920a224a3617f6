import { quoted } from "@local-serving/base/faults/shellWords";
import * as z from "zod";
import { optional, strictObject } from "zod";
import { count, servedName, serverReference, usual } from "../planned/fields";
import type { ClientTarget } from "./target";

/** Output tokens that an agent may ask for in one answer, unless its settings say otherwise. */
const AGENT_OUTPUT_TOKENS = 8192;

/** Settings that every client has. */
export const reach = (via: "bridge" | "native") => ({
  server: optional(serverReference()).describe(
    "Server that the client uses. Default: the only entry of `inferenceServers`.",
  ),
  via: usual(via, z.enum(["bridge", "native"])).describe(
    "`native`: the client talks to the server directly. `bridge`: it talks to the bridge, which talks to the server.",
  ),
  model: optional(servedName()).describe(
    "Model name to ask for. Default: the server's `servedModelName`.",
  ),
});

/** The setting of a client whose answers have a bound. */
export const maxOutputTokens = (tokens: number) =>
  count()
    .default(tokens)
    .describe(
      "Output tokens that the client asks for. The server refuses a request whose prompt and output together exceed its window.",
    );

/** What coding agents share if they speak chat completions and have no settings of their own. */
export const chatAgent = (title: string) => ({
  title,
  settings: strictObject({
    ...reach("native"),
    maxOutputTokens: maxOutputTokens(AGENT_OUTPUT_TOKENS),
  }).describe(`The coding agent ${title}.`),
  surface: "chat completions" as const,
  coding: true,
});

/** Id of our server in clients' files; `openai`, `ollama` and `lmstudio` are reserved by Codex. */
export const PROVIDER = "local-serving";

/**
 * How long an agent may wait for an answer beside the start of its server, in ms: a cold prefill of
 * a long prompt takes about 20 minutes.
 */
export const ANSWER_TIMEOUT_MS = 3_600_000;

/** What the settings of any client may say. */
export interface ClientSettings {
  readonly server?: string | undefined;
  readonly via: "bridge" | "native";
  readonly model?: string | undefined;
  readonly maxOutputTokens?: number | undefined;
}

/** What a client's file is made from. */
export interface ClientInput<Settings> {
  readonly target: ClientTarget;
  readonly settings: Settings;
  /**
   * Folder for the clients' files. Like every path here it may begin with `~/`, the home of whoever
   * starts the client.
   */
  readonly folder: string;
  readonly launcher: string;
  /** Makes a path of the stack file one of the computer that the client is on. */
  readonly place: (path: string) => string;
}

/** A client's file, and how its launcher points the program to it. */
export interface ClientFile {
  readonly path: string;
  readonly text: string;
  /** Lines of the launcher that set up the program's environment. */
  readonly environment: readonly string[];
  /** Words between the program's name and the user's own arguments. Default: none. */
  readonly words?: readonly string[];
  /** Base URL in the file. Default: the target's. */
  readonly baseUrl?: string;
  /**
   * Each model variable of the file with the name that it asks for. Default: `model`, the target's.
   */
  readonly tiers?: Readonly<Record<string, string>>;
}

/** One client program: its settings, the file that it reads and how it is started. */
export interface ClientKind<
  Key extends string = string,
  Name extends string = string,
  Role extends string = string,
  Schema extends z.ZodType<ClientSettings> = z.ZodType<ClientSettings>,
> {
  readonly key: Key;
  /** Name in plans, messages and roles of files. */
  readonly name: Name;
  readonly title: string;
  readonly settings: Schema;
  /** API that it speaks. A messages-style client adds `/v1` to its base URL itself. */
  readonly surface: "chat completions" | "responses" | "messages";
  /** Whether it works only with structured tool calls. */
  readonly coding: boolean;
  readonly launcher: string;
  /**
   * The program that the launcher starts, and its npm package; without one it starts what its
   * arguments name.
   */
  readonly program?: { readonly name: string; readonly npm: string };
  /** Its file holds the placeholder, so that the shell's key plays no part. */
  readonly keyInFile?: true;
  /**
   * It gives up after so many seconds without a byte, and no file of ours can change that; what a
   * person does about it.
   */
  readonly givesUp?: { readonly seconds: number; readonly remedy: string };
  readonly role: Role;
  file(input: ClientInput<z.output<Schema>>): ClientFile;
}

/** Declares a client; the types of its names and settings are kept. */
export function clientKind<
  const Key extends string,
  const Name extends string,
  const Role extends string,
  Schema extends z.ZodType<ClientSettings>,
>(kind: ClientKind<Key, Name, Role, Schema>): ClientKind<Key, Name, Role, Schema> {
  return kind;
}

/** First line of every file whose format has comments. */
export const writtenBy = (what: string): string =>
  `# ${what}: written by local-serving from the stack file. Edits are lost at the next update.`;

/** A JSON file; keys whose value is `undefined` are left out. */
export const jsonFile = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A path as a word of the shell. */
export const pathWord = (path: string): string =>
  path.startsWith("~/") ? `"$HOME"/${quoted(path.slice(2))}` : quoted(path);

/** Lines that set and export variables, each given as a word of the shell. */
export function exported(variables: Readonly<Record<string, string>>): string[] {
  const lines = Object.entries(variables).map(([name, word]) => `${name}=${word}`);
  return [...lines, `export ${Object.keys(variables).join(" ")}`];
}
