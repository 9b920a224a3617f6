import type { Fault } from "../../faults/fault";
import type { ConfigView, FaultMaker } from "./ruleContext";

const APP = ["verification", "app"];
const INTERFACE = [...APP, "interface"];
const READY = [...APP, "ready"];
const READY_URL = [...READY, "url"];
const READY_COMMAND = [...READY, "command"];
const CONFORMANCE = ["verification", "conformance"];
const VISUAL = ["verification", "visual"];
const VISUAL_URL = [...VISUAL, "url"];

/** The address at which the app is reached: `interface`, else `ready.url`. */
export function appAddress(config: ConfigView): string | undefined {
  return config.text(INTERFACE) ?? config.text(READY_URL);
}

/** Faults of the app, and of the two blocks that need a running app, beyond the form of their keys. */
export function appFaults(config: ConfigView, at: FaultMaker): Fault[] {
  return [
    ...missingAppFaults(config, at),
    ...readinessFaults(config, at),
    ...[INTERFACE, READY_URL, VISUAL_URL].flatMap((path) => urlFaults(config, path, at)),
    ...originFaults(config, at),
  ];
}

function missingAppFaults(config: ConfigView, at: FaultMaker): Fault[] {
  if (config.has(APP)) return [];
  const needing = [CONFORMANCE, VISUAL].filter((path) => config.has(path)).map((path) => path.at(-1));
  if (needing.length === 0) return [];
  const message = `\`verification.app\` is required, since ${needing.join(" and ")} need${needing.length === 1 ? "s" : ""} a running app that the harness starts.`;
  return [at.error(APP, "missing_key", message)];
}

function readinessFaults(config: ConfigView, at: FaultMaker): Fault[] {
  if (!config.isMap(READY)) return [];
  const url = config.has(READY_URL);
  const command = config.has(READY_COMMAND);
  if (url === command) {
    const [code, has] = url ? ["both_proofs", "both"] : ["no_proof", "neither"];
    const message = `\`ready\` takes exactly one of \`url\` and \`command\`; it has ${has}.`;
    return [at.error(READY, code, message, "key")];
  }
  const noAddress =
    "`interface` is required when readiness is a command: without it evaluators have no address for the app.";
  if (command && !config.has(INTERFACE)) return [at.error(INTERFACE, "missing_key", noAddress)];
  return [];
}

function urlFaults(config: ConfigView, path: readonly string[], at: FaultMaker): Fault[] {
  const text = config.text(path);
  const url = text === undefined ? undefined : httpUrl(text);
  return url !== undefined && "fault" in url ? [at.error(path, "wrong_form", `\`${path.at(-1)}\` ${url.fault}.`)] : [];
}

function originFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const originAt = (path: readonly string[]) => originOfUrl(config.text(path) ?? "");
  const [ready, face, visual] = [originAt(READY_URL), originAt(INTERFACE), originAt(VISUAL_URL)];
  const faults: Fault[] = [];
  const otherInstance = `The origin ${face} is not that of ready.url (${ready}): readiness would vouch for another instance.`;
  if (ready !== undefined && face !== undefined && ready !== face)
    faults.push(at.error(INTERFACE, "other_origin", otherInstance));
  const address = config.text(INTERFACE) === undefined ? ready : face;
  const otherPlace = `The origin ${visual} is not the app's (${address}): the check would look at something else.`;
  if (visual !== undefined && address !== undefined && visual !== address)
    faults.push(at.error(VISUAL_URL, "other_origin", otherPlace));
  return faults;
}

/** Ports that a URL means when it names none (RFC 9110, sections 4.2.1 and 4.2.2). */
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * The origin of an absolute http(s) URL, with the default port filled in (`http://127.0.0.1:80`); or what is wrong with it, in
 * words that never repeat it. A user name or password in it is refused: secrets do not belong in a config.
 */
function httpUrl(text: string): { readonly origin: string } | { readonly fault: string } {
  if (!/^https?:\/\/[^/?#\s\\]/i.test(text) || hasUnprintable(text))
    return { fault: "must be an absolute http(s) URL such as http://127.0.0.1:3000" };
  if (!URL.canParse(text)) return { fault: "isn't a valid URL: check its host and port" };
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    return { fault: "must hold no user name or password: secrets do not belong in a config" };
  return { origin: `${url.protocol}//${url.hostname}:${url.port || DEFAULT_PORTS[url.protocol]}` };
}

/** The origin of a URL, or `undefined` when it isn't an absolute http(s) URL. */
function originOfUrl(text: string): string | undefined {
  const url = httpUrl(text);
  return "origin" in url ? url.origin : undefined;
}

function hasUnprintable(text: string): boolean {
  // URL parsers drop tabs and line breaks without a word, so that two different texts name one address.
  return [...text].some((letter) => letter <= " " || letter === "\u007f" || letter === "\\");
}
