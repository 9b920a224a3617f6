import { clause, lowered } from "@local-serving/base/faults/quoting";
import type { LogReading } from "../../sees/log/scanLog";
import { escaped, sign, startSign } from "../../sees/log/sign";
import { type Picture, serverOf } from "../picture";
import { type Explanation, LOOK, ofSomeLog, type Row, type WeighingRule } from "../rule";
import { endOf, sightingOf } from "./engineSaid";
import { argumentsOf } from "./pointed";

const FAILED = startSign(
  "Failed to load module '",
  /Failed to load module '[\w.-]+' from (\S+?)\.?\s*$/,
);

/** Who loads plug-ins; it logs what they fail of as a traceback. */
const LOADER = "\\[(?:import_utils|abstract_tool_parser|abs_reasoning_parsers)\\.py:\\d+\\]";
/** The last frame of that outside of Python and its packages. */
const PLUGIN_FRAME = sign(
  '  File "/',
  new RegExp(
    `${LOADER}\\s+File "((?!\\S*(?:(?:site|dist)-packages|/lib/python[\\d.]+)/)/[^"]+)", line (\\d+)`,
  ),
);
const PLUGIN_RAISED = sign(
  ["Error", "Exception"],
  new RegExp(`${LOADER} ((?:\\w+\\.)*(\\w*(?:Error|Exception)))(?:: (.{1,300}))?$`),
);

/** What a plug-in failed of, by the kind of what was raised, and what to do about it. */
const PLUGIN_FAULTS: readonly (readonly [raised: RegExp, advice: (place: string) => string])[] = [
  [
    /^(?:Syntax|Indentation|Tab)Error\b/,
    (place) => `Correct that file${place}: Python can't read it.`,
  ],
  [
    /^ModuleNotFoundError: No module named '(?!(?:vllm|torch|transformers)\b)/,
    (place) =>
      `That package${place} isn't installed: build an image that has it on top of this one (\`pip install\`) and pin that, or take the plugin out.`,
  ],
  [
    /^(?:ModuleNotFound|Import)Error\b/,
    (place) =>
      `Correct that import${place}: this vLLM has no such module or name. Update the plugin to this version.`,
  ],
  [
    /^(?:FileNotFound|Permission|IsADirectory)Error\b/,
    () =>
      "The path has to be one inside the container: mount its folder (`mounts`), and see that the server's user may read it.",
  ],
  [/^/, (place) => `Correct that file${place}, or update the plugin to this version.`],
];

/** What Python says of a module, or of a name in one, that there isn't. */
const NOT_THERE =
  /No module named '([\w.]+)'|module '([\w.]+)' has no attribute '(\w+)'|cannot import name '(\w+)' from '([\w.]+)'/;

/** The module or the name, as an argument would write it. */
function missingIn(texts: readonly string[]): { dotted: string; shown: string } | undefined {
  const [, module, inside, name, name2, inside2] =
    texts.map((text) => NOT_THERE.exec(text)).find((match) => match !== null) ?? [];
  if (module !== undefined) return { dotted: module, shown: `no module ${module}` };
  const [where, what] = [inside ?? inside2, name ?? name2];
  return where && what
    ? { dotted: `${where}.${what}`, shown: `no ${what} in ${where}` }
    : undefined;
}

/** A module or class that an argument of the server names. */
function namedModule(picture: Picture, log: LogReading): Explanation | undefined {
  const raised = endOf(picture, log);
  if (raised === undefined) return undefined;
  const { said, first = "", before = [], line: evidence } = raised;
  const missing = missingIn([said, first, ...before]);
  if (missing === undefined) return undefined;
  const { dotted, shown } = missing;
  const [top = ""] = dotted.split(".");
  const isModule = shown.startsWith("no module");
  const isNamed = isModule
    ? new RegExp(`(?<![\\w./-])${escaped(top)}[.:]\\w`)
    : new RegExp(`(?<![\\w./-])${escaped(dotted).replace(/\\\.(\w+)$/, "[.:]$1")}(?!\\w)`);
  const given = argumentsOf(log).find(({ value }) => isNamed.test(value));
  if (given === undefined) return undefined;
  const { key } = serverOf(picture, log);
  return {
    cause: `vLLM finds ${shown}, which ${given.shown} names${isModule ? ": it is one of your own, and no package of vLLM's" : ""}.`,
    evidence,
    target: log.container,
    hit: sightingOf(raised, log),
    failsStart: true,
    advice: !isModule
      ? `Correct the name in \`extraArgs\` of inferenceServers.${key}, or take that argument out: this version has no such class.`
      : `Correct the name; or bring its folder into the container (\`mounts\` of inferenceServers.${key}) and name that folder in PYTHONPATH (\`environment\`).`,
    command: LOOK,
  };
}

/** Code that isn't vLLM's and that a server loads because an argument names it. */
export const plugins: readonly (Row | WeighingRule)[] = [
  { id: "module-named", explain: ofSomeLog(namedModule) },
  {
    id: "parser-plugin",
    when: FAILED,
    say({ hit, server }) {
      const [path = ""] = hit.groups;
      const raised = hit.log.hits.get(PLUGIN_RAISED);
      const isOfIt = raised !== undefined && raised.lineNumber > hit.lineNumber;
      const [, kind = "", said = ""] = isOfIt ? raised.groups : [];
      const frame = hit.log.hits.get(PLUGIN_FRAME);
      const isThere = frame !== undefined && frame.lineNumber > hit.lineNumber;
      const [file, line] = isThere ? frame.groups : [];
      const place =
        file === undefined ? "" : ` in line ${line}${file === path ? "" : ` of ${file}`}`;
      const why = kind === "" ? "" : ` (${clause(`${kind}: ${said}`)}${place})`;
      const [, advice] = PLUGIN_FAULTS.find(([each]) => each.test(`${kind}: ${said}`)) ?? [];
      return {
        cause: `vLLM could not load ${path}, a plugin that its arguments name${why}, and so lacks what the plugin brings.`,
        evidence: isOfIt ? `${hit.line} | ${raised.line}` : hit.line,
        advice: `No setting to change: ${lowered(advice?.(place) ?? "")}`,
        command:
          file === undefined
            ? `docker logs --tail 200 ${server.container} 2>&1 | less`
            : `python3 -m py_compile ${file}`,
      };
    },
  },
];
