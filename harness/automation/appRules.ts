import type { Fault, FaultMaker } from "../../faults/fault";
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
export function appFaults(config: ConfigView, at: FaultMaker): Fault[] {
  const faults: Fault[] = [];
  const found = (...fault: Parameters<FaultMaker["error"]>) => void faults.push(at.error(...fault));

  const needing = [CONFORMANCE, VISUAL]
    .filter((path) => config.has(path))
    .map((path) => path.at(-1));
  if (needing.length > 0 && !config.has(APP))
    found(
      APP,
      "missing_key",
      `\`verification.app\` is required, since ${needing.join(" and ")} need${needing.length === 1 ? "s" : ""} a running app that the harness starts.`,
    );

  const byUrl = config.has(READY_URL);
  const byCommand = config.has(READY_COMMAND);
  const [code, has] = byUrl ? ["both_proofs", "both"] : ["no_proof", "neither"];
  if (config.isMap(READY) && byUrl === byCommand)
    found(
      READY,
      code,
      `\`ready\` takes exactly one of \`url\` and \`command\`; it has ${has}.`,
      "key",
    );
  else if (byCommand && !config.has(INTERFACE))
    found(
      INTERFACE,
      "missing_key",
      "`interface` is required when readiness is a command: without it evaluators have no address for the app.",
    );

  const originAt = (path: readonly string[]) => {
    const text = config.text(path);
    const { origin, fault } = text === undefined ? {} : httpUrl(text);
    if (fault !== undefined) found(path, "wrong_form", `\`${path.at(-1)}\` ${fault}.`);
    return origin;
  };
  const [face, ready, visual] = [originAt(INTERFACE), originAt(READY_URL), originAt(VISUAL_URL)];
  if (ready !== undefined && face !== undefined && ready !== face)
    found(
      INTERFACE,
      "other_origin",
      `The origin ${face} is not that of ready.url (${ready}): readiness would vouch for another instance.`,
    );
  const address = config.text(INTERFACE) === undefined ? ready : face;
  if (visual !== undefined && address !== undefined && visual !== address)
    found(
      VISUAL_URL,
      "other_origin",
      `The origin ${visual} is not the app's (${address}): the check would look at something else.`,
    );
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
