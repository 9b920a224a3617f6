import { join } from "node:path";
import { clause } from "@local-serving/base/faults/quoting";
import { valueBy } from "@local-serving/base/faults/schemaFaults";
import { readYamlFile } from "@local-serving/base/faults/yamlDocument";
import * as z from "zod";
import type { LastWord, LogReading } from "../../sees/log/scanLog";
import { startSign } from "../../sees/log/sign";
import { type Server, seen, serverOf } from "../picture";
import { APPLY, type WeighingRule } from "../rule";
import { endOf, sightingOf } from "./engineSaid";
import { argumentsOf } from "./pointed";

const text = z.string();
const pattern = text.transform((source) => new RegExp(source));
const settings = z.record(text, text).default({});

const FILE = join(__dirname, "kernels.yaml");

/** What vLLM takes kernels from, and what it needs them for. */
export const KERNELS = valueBy(
  z.strictObject({
    makers: z.array(
      z.strictObject({
        name: text,
        below: pattern.optional(),
        says: pattern.optional(),
        set: settings,
      }),
    ),
    uses: z.array(
      z.strictObject({
        name: text,
        below: pattern,
        says: pattern.optional(),
        set: settings,
        setting: text.optional(),
        option: text.optional(),
        argument: text.optional(),
        without: z.array(text).default([]),
      }),
    ),
  }),
  FILE,
  readYamlFile(FILE),
);

type Maker = (typeof KERNELS.makers)[number];
type Use = (typeof KERNELS.uses)[number];

/** What a compiler says itself of the kernel that it can't make. */
const COMPILER_SAYS = startSign(
  ["fatal", "error", "Failed to run cutlass"],
  /(Failed to run cutlass .{0,80} on sm\d+.{0,60})|\b((?:ptxas|nvcc|cicc|nvlink|fatbinary|cudafe\+\+)\b[^:'"]{0,60}(?:fatal|error)[^:'"]{0,20}: (?!.*(?:emory|signal 9|Killed)).{3,200}|\S{1,200}\.(?:cu|cuh|cpp|h|hpp)\(\d+\): error: .{3,200})/,
);

/** What is raised of files, the network or memory, wherever it is. */
const OTHER_KIND =
  /(?:Import|ModuleNotFound|FileNotFound|Permission|OS|IO|Memory|OutOfMemory|Connection|Timeout|ProxyError|HTTP|SSL|JSONDecode|UnicodeDecode|Validation)\w*Error$|KeyboardInterrupt|SystemExit/;
const OTHER_WORDS =
  /out of memory|cannot open shared object|undefined symbol|No space left|Permission denied|No module named|[Ff]ailed to find C compiler|[Cc]ould not find nvcc|CUDA_HOME|NCCL|Connection|Engine core|ALLOC_FAILED|NOT_INITIALIZED|version .{0,40}does not match/;
/** What code raises that only looks at its arguments: it counts where the package itself does. */
const OF_ARGUMENTS = /(?:Value|NotImplemented|Key|Type|Attribute|Index|Assertion)Error$/;

/** Frames at the end of a traceback in which the maker has to be. */
const NEAR_THE_END = 12;

/** The maker whose frame is the deepest, where what was raised there is of a kernel. */
function makerOf(raised: LastWord): Maker | undefined {
  const { kind = "", files = [], said, before = [], at = "" } = raised;
  if (OTHER_KIND.test(kind) || [said, ...before].some((each) => OTHER_WORDS.test(each)))
    return undefined;
  const deepest = files.slice(-NEAR_THE_END).reverse();
  const counting = OF_ARGUMENTS.test(kind) ? deepest.slice(0, 1) : deepest;
  for (const file of counting) {
    const isOwn = !file.startsWith("vllm/");
    const maker = KERNELS.makers.find(({ below }) => below?.test(file));
    // Every error of a compiled model passes the compiler's own frames.
    const isOnItsWay = file.startsWith("torch/_") && file !== deepest[0];
    if (maker !== undefined && !isOnItsWay && (isOwn || !OF_ARGUMENTS.test(kind))) return maker;
  }
  if (OF_ARGUMENTS.test(kind) || kind === "") return undefined;
  return KERNELS.makers.find(({ says }) => says?.test(`${said} ${at}`));
}

function useOf(files: readonly string[], said: string): Use | undefined {
  const { uses } = KERNELS;
  return (
    uses.find(({ below }) => files.some((file) => below.test(file))) ??
    uses.find(({ says }) => says?.test(said))
  );
}

/** The first value that another maker's kernels go by, and that the server doesn't run with. */
function otherValue({ without }: Use, maker: Maker | undefined, runsWith: string) {
  const [name = ""] = (maker?.name ?? "").toLowerCase().split(" ");
  return without.find((value) => {
    const plain = value.toLowerCase();
    return plain !== runsWith.toLowerCase() && (name === "" || !plain.includes(name.slice(0, 6)));
  });
}

/** What takes the kernel out of the way. */
function switchOff(
  maker: Maker | undefined,
  use: Use | undefined,
  server: Server,
  log: LogReading,
) {
  const edit = ([path, value]: [string, string]) => server.set(path.split("."), value);
  if (maker !== undefined && Object.keys(maker.set).length > 0)
    return { edits: Object.entries(maker.set).map(edit), words: "" };
  if (use === undefined) return { edits: [], words: "" };
  if (Object.keys(use.set).length > 0)
    return { edits: Object.entries(use.set).map(edit), words: "" };
  if (use.argument !== undefined)
    return { edits: [], words: `\`${use.argument}\` in \`extraArgs\` goes without it.` };
  const option =
    use.option ?? `--${(use.setting ?? "").replace(/[A-Z]/g, (at) => `-${at.toLowerCase()}`)}`;
  const runsWith = argumentsOf(log).find(({ names }) => names.includes(option))?.value ?? "";
  const value = otherValue(use, maker, runsWith);
  if (value === undefined) return { edits: [], words: "" };
  if (use.setting === undefined)
    return { edits: [], words: `\`${option} ${value}\` in \`extraArgs\` takes others.` };
  return { edits: [server.set([use.setting], value)], words: "" };
}

/** A kernel that can't be made or run on this GPU: by whose frames are below, or by a compiler. */
export const kernels: readonly WeighingRule[] = [
  {
    id: "kernel-unfit",
    explain(picture) {
      const log = picture.logs.find((each) => {
        const end = endOf(picture, each);
        return end !== undefined && makerOf(end) !== undefined;
      });
      const raised = log && endOf(picture, log);
      const compiler = seen(picture, COMPILER_SAYS);
      const about = log ?? compiler?.log;
      if (about === undefined) return undefined;
      const said = compiler?.groups.find((group) => group !== "") ?? raised?.said ?? "";
      const maker = raised ? makerOf(raised) : KERNELS.makers.find(({ says }) => says?.test(said));
      const use = useOf(raised?.files ?? [], said);
      const server = serverOf(picture, about);
      const { edits, words } = switchOff(maker, use, server, about);
      const release =
        "A newer release may have a kernel for it, and an older one may not have needed it: pin another one";
      return {
        cause: `${maker?.name ?? "vLLM"} can't make or run a kernel on this GPU${use === undefined ? "" : `, for ${use.name}`}: ${clause(said.slice(0, SHOWN))}.`,
        evidence: [compiler?.line, raised?.line].filter(Boolean).join(" | "),
        edits,
        advice: [
          words,
          edits.length > 0
            ? `With the change vLLM takes another kernel, if it has one for this model. ${release} (\`serving pin\`).`
            : `${release} and put the printed lines into the stack file.`,
        ]
          .filter(Boolean)
          .join(" "),
        command: edits.length > 0 ? APPLY : "serving pin vllm/vllm-openai:v0.30.0",
        target: about.container,
        ...(raised === undefined ? {} : { hit: sightingOf(raised, about) }),
        failsStart: true,
      };
    },
  },
];

/** Characters of a message that are shown. */
const SHOWN = 300;
