import { claudeCode } from "./claudeCode";
import { clientEnv } from "./clientEnv";
import { codex } from "./codex";
import { crush } from "./crush";
import { opencode } from "./opencode";
import { pi } from "./pi";
import { qwenCode } from "./qwenCode";

/**
 * Every client that is given a configuration and a launcher, in the order of plans and of the stack
 * file's reference.
 */
export const CLIENTS = [claudeCode, codex, clientEnv, opencode, pi, qwenCode, crush] as const;

type Kind = (typeof CLIENTS)[number];

export type ClientKey = Kind["key"];
export type ClientName = Kind["name"];
export type ClientRole = Kind["role"] | `launcher-${ClientName}`;
