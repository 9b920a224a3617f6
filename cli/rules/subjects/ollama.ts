import { atLeast, lowestAllowed, whyRefused } from "../../../components/supply/releases";
import { sign } from "../../sees/log/sign";
import { machineEdit, numberOf, type Picture, type Sighting, seen, setting } from "../picture";
import type { Row, WeighingRule } from "../rule";

/** What Ollama prints first: all that it reads from its environment, as Go prints a map. */
const STARTED_AS = sign("server config", /server config\\?"? env=\\?"?map\[(.*)/);

/** Where it listens, and which release it is. */
const RELEASE = sign("Listening on ", /Listening on \S+ \(version v?(\d[\w.+-]*)\)/);

/** It computes on the processor, by its own word. */
const ON_CPU = sign("library=cpu", /inference compute\\?"?.{0,40}library=cpu\b/);

/** The longest prompt that was cut; `limit` is the window, and half of it since 0.30. */
const CUT = sign(
  ["truncating input prompt", "input truncated", "longer than the context length currently"],
  /truncating input prompt\\?"(?= limit=\d+ prompt=(\d+))|input truncated \| n_ctx=\d+|prompt is longer than the context length currently available to the model/,
  { keep: "largest" },
);

/** What it refuses of its cache's type, in each engine of it: 0.5 to 0.24. */
const CACHE_REFUSED = sign(
  ["KV_CACHE_TYPE", "kv cache"],
  /(quantized kv cache requested but flash attention disabled|OLLAMA_FLASH_ATTENTION must be enabled to use a quantized OLLAMA_KV_CACHE_TYPE)\\?" type=(\S+)|(?:unsupported OLLAMA_KV_CACHE_TYPE|kv cache type not supported by model)\\?" type=(\S+)/,
);

/** Names that Ollama prints; in the value of another one nothing looks like them. */
const NAMED = /(?:^| )([A-Z][A-Z0-9_]*|https?_proxy|no_proxy):/g;

/** The variables of a first line, by name. */
export function loggedVariables(map: string): ReadonlyMap<string, string> {
  const names = [...map.matchAll(NAMED)];
  return new Map(
    names.map((match, index) => {
      const value = map.slice(match.index + match[0].length, names[index + 1]?.index);
      return [match[1] ?? "", value.replace(/[\]\\"\s]+$/, "").trim()];
    }),
  );
}

const startedAs = (hit: Sighting | undefined): ReadonlyMap<string, string> =>
  loggedVariables(hit?.groups[0] ?? "");

/** Evidence of one variable: its line is long, and names proxies. */
const shown = (variable: string, value: string): string =>
  `server config: ${variable}:${value || '""'}`;

/** Libraries that Ollama has had: a folder of each, or before 0.5 a word. */
const LIBRARY =
  /^(?:cpu(?:_avx2?)?|cuda_v\d+|cuda_jetpack\d+|rocm(?:_v[\d_]+)?|vulkan|oneapi\w*|metal\w*|mlx_\w+)$/;

/** Types of llama.cpp's cache; Ollama before 0.30 takes only f16, q8_0 and q4_0. */
const CACHE_TYPE = /^(?:f16|f32|bf16|q8_0|q4_0|q4_1|q5_0|q5_1|iq4_nl)$/;
const QUANTIZED = /^i?q\d/;

/** From here on llama.cpp turns flash attention on by itself. */
const FLASH_BY_ITSELF = "0.30.0";

const SEE_THE_UNIT = "systemctl cat ollama; systemctl show ollama --property=Environment";

/** Who may have set a variable that the stack file has no setting for. */
const TAKE_OUT =
  "No setting to change: another file of Ollama's unit sets it, or the command that started it.";

const SECONDS = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 } as const;

/** A duration of Go's in seconds; more than a century is for ever, as a negative one is. */
export function goSeconds(text: string): number {
  if (text.startsWith("-")) return Number.POSITIVE_INFINITY;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)?/g)];
  const seconds = parts.reduce(
    (sum, [, figure, unit]) =>
      sum + Number(figure) * SECONDS[(unit ?? "s") as keyof typeof SECONDS],
    0,
  );
  return seconds > 100 * 365 * 24 * 3600 ? Number.POSITIVE_INFINITY : seconds;
}

const plainHost = (text: string): string =>
  text.replace(/^https?:\/\//, "").replace(/^\[::\]/, "0.0.0.0");
const isYes = (text: string): string => String(/^(?:1|true)$/i.test(text));
const same = (text: string): string => text;

/** Each variable that the stack file sets: its setting, and what makes both forms comparable. */
const DECLARED = [
  { variable: "OLLAMA_CONTEXT_LENGTH", setting: "contextLength", plain: same },
  { variable: "OLLAMA_HOST", setting: "listen` and `port", plain: plainHost },
  { variable: "OLLAMA_KEEP_ALIVE", setting: "keepAlive", plain: (t: string) => `${goSeconds(t)}` },
  { variable: "OLLAMA_MAX_LOADED_MODELS", setting: "maxLoadedModels", plain: same },
  { variable: "OLLAMA_MODELS", setting: "modelsDirectory", plain: same },
  { variable: "OLLAMA_NO_CLOUD", setting: "cloud", plain: isYes },
] as const;

interface Difference {
  readonly variable: string;
  readonly runs: string;
  readonly declared: string;
  readonly setting: string;
}

/** What runs otherwise than declared; a variable that this release doesn't print says nothing. */
function differences(picture: Picture, runs: ReadonlyMap<string, string>): Difference[] {
  const { simpleServer } = picture.stack?.plan ?? {};
  if (simpleServer?.mode !== "host") return [];
  const { environment } = simpleServer;
  return DECLARED.flatMap(({ variable, setting: named, plain }) => {
    const printed = runs.get(variable);
    const declared = environment[variable] ?? "";
    if (printed === undefined || plain(printed) === plain(declared)) return [];
    return [{ variable, runs: printed, declared, setting: named }];
  });
}

/** A context holds the prompt and this many tokens of an answer, in steps of so many. */
const [ANSWER, STEP] = [8192, 16_384];

export const contextFor = (prompt: number): number => Math.ceil((prompt + ANSWER) / STEP) * STEP;

/** What Ollama says of itself. */
export const ollama: readonly (WeighingRule | Row)[] = [
  {
    id: "ollama-too-old",
    explain(picture) {
      const hit = seen(picture, RELEASE);
      const version = hit?.groups[0] ?? "";
      const why = version === "" ? undefined : whyRefused("ollama", version);
      if (hit === undefined || why === undefined) return undefined;
      return {
        cause: `Ollama ${version}: ${why.replace(/\.$/, "")}.`,
        evidence: hit.line,
        advice: `No setting to change: install ${lowestAllowed("ollama")} or later. What follows is of the old release, and may be mended with it.`,
        command: "curl -fsSL https://ollama.com/install.sh | sh; ollama --version",
      };
    },
  },
  {
    id: "ollama-gpu-hidden",
    explain(picture) {
      const hit = seen(picture, STARTED_AS);
      const runs = startedAs(hit);
      const library = runs.get("OLLAMA_LLM_LIBRARY") ?? "";
      const devices = runs.get("CUDA_VISIBLE_DEVICES") ?? "";
      const isOnCpu = seen(picture, ON_CPU) !== undefined;
      if (hit === undefined) return undefined;
      const leaveOut = `${TAKE_OUT} Take it out: Ollama finds the library by itself. On a machine with CUDA 13, such as a DGX Spark, that is \`cuda_v13\`.`;
      if (library !== "" && !LIBRARY.test(library))
        return {
          cause: `OLLAMA_LLM_LIBRARY is ${library}, which isn't a library of Ollama's, so it skips all that it has and computes on the CPU.`,
          evidence: shown("OLLAMA_LLM_LIBRARY", library),
          advice: leaveOut,
          command: SEE_THE_UNIT,
        };
      if (library !== "" && isOnCpu)
        return {
          cause: `OLLAMA_LLM_LIBRARY allows ${library} alone, and with that Ollama found no GPU.`,
          evidence: shown("OLLAMA_LLM_LIBRARY", library),
          advice: leaveOut,
          command: SEE_THE_UNIT,
        };
      if (!isOnCpu || !/^(?:-\d+|none|NoDevFiles|void)$/i.test(devices)) return undefined;
      return {
        cause: `CUDA_VISIBLE_DEVICES is ${devices}, which hides every GPU from Ollama.`,
        evidence: shown("CUDA_VISIBLE_DEVICES", devices),
        advice: `${TAKE_OUT} Take it out.`,
        command: SEE_THE_UNIT,
      };
    },
  },
  {
    id: "ollama-cache-type",
    explain(picture) {
      const hit = seen(picture, CACHE_REFUSED);
      const runs = startedAs(seen(picture, STARTED_AS));
      const release = seen(picture, RELEASE)?.groups[0];
      const type = hit?.groups[1] || hit?.groups[2] || (runs.get("OLLAMA_KV_CACHE_TYPE") ?? "");
      const flash = runs.get("OLLAMA_FLASH_ATTENTION");
      const byItself = release !== undefined && atLeast(release, FLASH_BY_ITSELF);
      if (type === "") return undefined;
      const evidence = hit?.line ?? shown("OLLAMA_KV_CACHE_TYPE", type);
      if (!CACHE_TYPE.test(type))
        return {
          cause: `OLLAMA_KV_CACHE_TYPE is ${type}, which Ollama has no such type of: it takes f16, q8_0 and q4_0.`,
          evidence,
          advice: `${TAKE_OUT} Write \`OLLAMA_KV_CACHE_TYPE=q8_0\` there, or take it out for f16.`,
          command: SEE_THE_UNIT,
        };
      const said = hit !== undefined && hit.groups[0] !== "";
      const silent = hit === undefined && QUANTIZED.test(type) && flash === "false" && !byItself;
      if (hit !== undefined && !said)
        return {
          cause: `This model can't have its cache in ${type}, so Ollama keeps it in f16, which takes more memory.`,
          evidence,
          advice:
            "No setting to change: count its cache in f16, and write what it takes into `simpleServer.loadedGiB`.",
          command: "serving verify --only ollama-memory",
        };
      if (!said && !silent) return undefined;
      return {
        cause: `OLLAMA_KV_CACHE_TYPE is ${type}, but flash attention is off, so Ollama ${said ? "keeps" : `before ${FLASH_BY_ITSELF} keeps`} its cache in f16, which takes twice the memory and more${said ? "" : ", unless the model turns it on itself"}.`,
        evidence,
        advice: `${TAKE_OUT} Write \`OLLAMA_FLASH_ATTENTION=1\` beside it. Then measure again and write \`simpleServer.loadedGiB\`.`,
        command: SEE_THE_UNIT,
      };
    },
  },
  {
    id: "ollama-prompt-cut",
    when: CUT,
    say({ hit, picture }) {
      const prompt = numberOf(hit, 0);
      const declared = Number(setting(picture, "simpleServer", "contextLength") ?? 0);
      const isOurs = setting(picture, "simpleServer", "mode") === "host";
      const needed = contextFor(prompt);
      const cause = `Ollama cuts prompts that are longer than its context${prompt > 0 ? `, the longest of ${prompt} tokens` : ""}: the model never sees what is left out, such as its instructions.`;
      const runs = startedAs(seen(picture, STARTED_AS)).get("OLLAMA_CONTEXT_LENGTH");
      const now =
        runs === undefined
          ? ""
          : ` Its own default is ${runs === "0" ? "by its memory" : runs} now.`;
      if (prompt > 0 && (picture.stack === undefined || (isOurs && declared < needed)))
        return {
          cause,
          edits: [machineEdit(picture, ["simpleServer", "contextLength"], needed)],
          advice: `A longer context takes more memory: measure it again (\`serving verify --only ollama-memory\`) for \`loadedGiB\`.${now}`,
        };
      return {
        cause,
        advice: `No setting to change: ${declared > 0 ? `${declared} tokens are declared, so` : ""} the client asks for less by its own \`num_ctx\`, the drop-in isn't in effect, or the model has a shorter context of its own (\`ollama show MODEL\`).${now}`,
        command: `ollama ps; ${SEE_THE_UNIT}`,
      };
    },
  },
  {
    id: "ollama-differs",
    explain(picture) {
      const hit = seen(picture, STARTED_AS);
      const runs = startedAs(hit);
      const off = differences(picture, runs);
      if (hit === undefined || off.length === 0) return undefined;
      const each = off.map(
        (one) =>
          `${one.variable} is ${one.runs}, and ${one.declared} is declared (\`${one.setting}\`)`,
      );
      const kept = off.find(({ variable }) => variable === "OLLAMA_CONTEXT_LENGTH");
      return {
        cause: `Ollama runs with other settings than the stack file's: ${each.join("; ")}.`,
        evidence: off.map((one) => shown(one.variable, one.runs)).join("; "),
        advice: [
          "No setting to change if the stack file is right: its drop-in isn't in effect. It was not written, Ollama was not restarted since or was started by hand, or another file of the unit sets the same variable (the last one wins).",
          ...(kept === undefined
            ? []
            : [
                `To keep the context that runs, write \`simpleServer.contextLength: ${kept.runs}\`.`,
              ]),
        ].join(" "),
        command: `${SEE_THE_UNIT}; serving plan simple-server`,
      };
    },
  },
  {
    id: "ollama-parallel",
    explain(picture) {
      const runs = startedAs(seen(picture, STARTED_AS));
      const parallel = runs.get("OLLAMA_NUM_PARALLEL") ?? "";
      if (picture.stack === undefined || !/^\d+$/.test(parallel) || Number(parallel) < 2)
        return undefined;
      return {
        cause: `OLLAMA_NUM_PARALLEL is ${parallel}, so each loaded model takes the memory of ${parallel} contexts.`,
        evidence: shown("OLLAMA_NUM_PARALLEL", parallel),
        advice: `The stack file has no setting for it. If it is meant, measure \`simpleServer.loadedGiB\` with it; else take it out of the file of Ollama's unit that sets it.`,
        command: `${SEE_THE_UNIT}; serving verify --only ollama-memory`,
      };
    },
  },
];
