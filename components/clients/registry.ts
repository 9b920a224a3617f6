import { claudeCode } from "./claudeCode";
import { clientEnv } from "./clientEnv";
import { codex } from "./codex";
import { crush } from "./crush";
import { opencode } from "./opencode";
import { pi } from "./pi";
import { qwenCode } from "./qwenCode";

/** Every client that is given a configuration and a launcher, in the order of plans and of the stack file's reference. */
export const CLIENTS = [claudeCode, codex, clientEnv, opencode, pi, qwenCode, crush] as const;

type Kind = (typeof CLIENTS)[number];

/** Key of a client's settings in the stack file. */
export type ClientKey = Kind["key"];
/** Name of a client in plans and messages. */
export type ClientName = Kind["name"];
/** Roles of the clients' files. */
export type ClientRole = Kind["role"] | `launcher-${ClientName}`;
