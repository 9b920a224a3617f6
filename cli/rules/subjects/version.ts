import { defined } from "@local-serving/base/faults/defined";
import { parse } from "@renovatebot/pep440";
import { engineNamed, judgeServerImage, pinnedServer } from "../../../components/supply";
import { atLeast, isPep440, lowestAllowed, whyRefused } from "../../../components/supply/releases";
import type { LogReading } from "../../sees/log/scanLog";
import { sign } from "../../sees/log/sign";
import { type Picture, plannedStates, type Sighting, seen } from "../picture";
import { type Explanation, LOOK, type WeighingRule } from "../rule";

/**
 * vLLM says its release: in its log, in the picture at its start, where its engine begins, and in
 * the words in front of it in NVIDIA's images.
 */
const VERSION = sign(
  ["version ", "Version ", "LLM engine (v"],
  /(?:vLLM(?: API server)? [Vv]ersion\s{0,40}:?|[█▀▄]\s+version|LLM engine \()\s{0,4}v?(\d[\w.+!-]{0,60})/,
);

/** What no other program prints than the engine. */
const ENGINES = [
  {
    engine: "sglang",
    shows: sign(
      ["ServerArgs(", "sglang.launch_server"],
      /\bserver_args=ServerArgs\(|-m sglang\.launch_server\b/,
    ),
  },
  {
    engine: "tensorrt-llm",
    shows: sign(["LLM version: "], /\[TensorRT-LLM\] TensorRT[- ]LLM version: \d/),
  },
  {
    engine: "llama.cpp",
    shows: sign(
      ["build: ", "main: server is listening", "srv "],
      /^build: \d+ \([0-9a-f]{7,}\) with |\bmain: server is listening on http|^srv +(?:load_model|update_slots|init): /,
    ),
  },
  { engine: "text-generation-inference", shows: sign("text_generation_launcher") },
] as const;

const [PIN = ""] = pinnedServer().image.split("@");

/** The release of vLLM that a log is of, as it says it. */
export const versionSeen = (picture: Picture): string | undefined =>
  seen(picture, VERSION)?.groups[0];

/** The release of the usual image, as its tag has it. */
const [PINNED = ""] = /(?<=:v)\d[\d.]*$/.exec(PIN) ?? [];

/** What a log's own release is, where the usual image brings no newer one. */
export function currentRelease(picture: Picture, log: LogReading): string | undefined {
  const version = versionSeen({ ...picture, logs: [log] });
  const isNumber = version !== undefined && isPep440(version) && isNumbered(version);
  return isNumber && atLeast(version, PINNED) ? version : undefined;
}

/** What pins a newer release than the log's own. */
export const pinNewer = (current: string | undefined): string =>
  current === undefined ? `serving pin ${PIN}` : "serving pin --newer";

/** A build of a shallow clone counts from 0.1, which says nothing of its age. */
const isNumbered = (version: string): boolean => {
  const { release = [], dev } = parse(version) ?? {};
  return dev == null || (release[0] ?? 0) > 0 || (release[1] ?? 0) > 1;
};

/** Why a release of vLLM may not run here, a clause each. */
function reasonsAgainst(version: string): string[] {
  if (!isPep440(version)) return [];
  const floor = lowestAllowed("vllm");
  const refused = whyRefused("vllm", version);
  const isBuild = parse(version)?.dev != null || /\+g[0-9a-f]{6,}/.test(version);
  const reasons = [
    ...(isNumbered(version) && !atLeast(version, floor)
      ? [`is below ${floor}, the lowest that runs here`]
      : []),
    ...(refused === undefined ? [] : [`must not run: ${refused.replace(/\.$/, "")}`]),
  ];
  return reasons.length > 0 && isBuild ? [...reasons, "is a development build"] : reasons;
}

const shownBy = (hit: Sighting) => ({
  evidence: hit.line,
  ...defined({ target: hit.log.container }),
  hit,
});

/** Says of the line in which a release is named why it may not run. */
function tooLow(hit: Sighting): Explanation | undefined {
  const version = (hit.groups[0] ?? "").replace(/[.+!-]+$/, "");
  const reasons = reasonsAgainst(version);
  if (reasons.length === 0) return undefined;
  return {
    cause: `vLLM ${version} ${reasons.join(", and ")}.`,
    ...shownBy(hit),
    advice: `Pin vLLM ${lowestAllowed("vllm")} or newer and put the printed lines into the stack file. What follows is of the old release, and may be mended with it.`,
    command: `serving pin ${PIN}`,
  };
}

/** The image of a container whose log doesn't say its release. */
function byImage(picture: Picture): Explanation | undefined {
  for (const { name, image } of plannedStates(picture)) {
    // A container of another engine is none of a server's.
    const isOther = engineNamed(image) !== undefined;
    const [low] = isOther ? [] : judgeServerImage({ image: image.replace(/@.*/s, "") }).lasting;
    if (low !== undefined)
      return {
        cause: `The image of ${name} can't be used: ${low.why}.`,
        evidence: `container ${name}: image ${image}`,
        target: name,
        advice: low.remedy,
        command: `serving pin ${PIN}`,
      };
  }
  return undefined;
}

function ofOtherEngine(engine: string, hit: Sighting): Explanation {
  const { name = engine, belongs } = engineNamed(engine) ?? {};
  return {
    cause: `This is a log of ${name}, and not of vLLM.`,
    ...shownBy(hit),
    advice: belongs,
    command: LOOK,
  };
}

/** Whether what runs may run at all: that comes before what it says. */
export const versionRules: readonly WeighingRule[] = [
  {
    id: "other-engine",
    explain(picture) {
      for (const { engine, shows } of ENGINES) {
        const hit = seen(picture, shows);
        if (hit !== undefined) return ofOtherEngine(engine, hit);
      }
      return undefined;
    },
  },
  {
    id: "version-too-low",
    explain(picture) {
      const hit = seen(picture, VERSION);
      return hit === undefined ? byImage(picture) : tooLow(hit);
    },
  },
];
