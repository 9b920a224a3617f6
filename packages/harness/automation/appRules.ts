import type { Fault, FaultMaker } from "@local-serving/base/faults/fault";
import type { ConfigView } from "./ruleContext";

const APP = ["verification", "app"];
const INTERFACE = [...APP, "interface"];
const READY = [...APP, "ready"];
const READY_URL = [...READY, "url"];
const READY_COMMAND = [...READY, "command"];
const CONFORMANCE = ["verification", "conformance"];
const VISUAL = ["verification", "visual"];
const VISUAL_URL = [...VISUAL, "url"];

/** The address at which the app is reached: `interface`, else `ready.url`. */
export const appAddress = (config: ConfigView): string | undefined =>
  config.text(INTERFACE) ?? config.text(READY_URL);

/**
 * Faults of the app, and of the two blocks that need a running app, beyond the form of their keys.
 */
export const appFaults = (config: ConfigView, at: FaultMaker): Fault[] => [
  ...missingAppFaults(config, at),
  ...proofFaults(config, at),
  ...originFaults(config, at),
];

function missingAppFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const needing = [CONFORMANCE, VISUAL]
    .filter((path) => config.has(path))
    .map((path) => path.at(-1));
  if (needing.length === 0 || config.has(APP)) return [];
  const message = `\`verification.app\` is required, since ${needing.join(" and ")} need${needing.length === 1 ? "s" : ""} a running app that the harness starts.`;
  return [at.error(APP, "missing_key", message)];
}

/** Faults of what proves that the app is ready. */
function proofFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const byUrl = config.has(READY_URL);
  const byCommand = config.has(READY_COMMAND);
  if (config.isMap(READY) && byUrl === byCommand) {
    const [code, has] = byUrl ? ["both_proofs", "both"] : ["no_proof", "neither"];
    const message = `\`ready\` takes exactly one of \`url\` and \`command\`; it has ${has}.`;
    return [at.error(READY, code, message, "key")];
  }
  if (!byCommand || config.has(INTERFACE)) return [];
  const message =
    "`interface` is required when readiness is a command: without it evaluators have no address for the app.";
  return [at.error(INTERFACE, "missing_key", message)];
}

/** Faults of the addresses, which all have to be the app's. */
function originFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const faults: Fault[] = [];
  const originAt = (path: readonly string[]) => {
    const text = config.text(path);
    const { origin, fault } = text === undefined ? {} : httpUrl(text);
    if (fault !== undefined)
      faults.push(at.error(path, "wrong_form", `\`${path.at(-1)}\` ${fault}.`));
    return origin;
  };
  const [face, ready, visual] = [originAt(INTERFACE), originAt(READY_URL), originAt(VISUAL_URL)];
  if (ready !== undefined && face !== undefined && ready !== face) {
    const message = `The origin ${face} is not that of ready.url (${ready}): readiness would vouch for another instance.`;
    faults.push(at.error(INTERFACE, "other_origin", message));
  }
  const address = config.text(INTERFACE) === undefined ? ready : face;
  if (visual !== undefined && address !== undefined && visual !== address) {
    const message = `The origin ${visual} is not the app's (${address}): the check would look at something else.`;
    faults.push(at.error(VISUAL_URL, "other_origin", message));
  }
  return faults;
}

/** Ports that a URL means when it names none (RFC 9110, sections 4.2.1 and 4.2.2). */
const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * The origin of an absolute http(s) URL, with the default port filled in (`http://127.0.0.1:80`);
 * or what is wrong with it, in words that never repeat it. A user name or password in it is
 * refused: secrets do not belong in a config.
 */
function httpUrl(text: string): { readonly origin?: string; readonly fault?: string } {
  // URL parsers drop tabs and line breaks without a word, so that two different texts name one
  // address.
  if (
    !/^https?:\/\/[^/?#\s\\]/i.test(text) ||
    [...text].some((each) => each <= " " || "\u007f\\".includes(each))
  )
    return { fault: "must be an absolute http(s) URL such as http://127.0.0.1:3000" };
  if (!URL.canParse(text)) return { fault: "isn't a valid URL: check its host and port" };
  const url = new URL(text);
  if (url.port === "0") return { fault: "names port 0, on which nothing can listen" };
  if (url.username !== "" || url.password !== "")
    return { fault: "must hold no user name or password: secrets do not belong in a config" };
  return { origin: `${url.protocol}//${url.hostname}:${url.port || DEFAULT_PORTS[url.protocol]}` };
}
