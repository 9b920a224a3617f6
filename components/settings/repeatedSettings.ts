import { jsonIn, objectOr } from "@local-serving/base/faults/json";
import { FLAGS } from "./flags";
import { inferenceServer } from "./inferenceServer";

const flagOf = (setting: string) =>
  `--${setting.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** Flags of `vllm serve` that have a setting of their own, and that setting's name. */
export const FLAGS_WITH_SETTING: Readonly<Record<string, string>> = Object.fromEntries([
  // A setting's own name is often taken for a flag.
  ...Object.keys(inferenceServer.shape).map((setting) => [flagOf(setting), setting]),
  ...FLAGS.flatMap(({ setting, flag, also = [] }) =>
    [flag, ...also].map((spelling) => [spelling, setting]),
  ),
]);

/** Keys of JSON flags in which vLLM stores what another flag, and so a setting, gives it. */
const KEYS_WITH_SETTING = FLAGS.flatMap(({ setting, inside = [] }) =>
  inside.map((key) => ({ ...key, setting })),
);

/** Flags that can't be allowed in `extraArgs` at all, with the reason. */
const REFUSED_FLAGS: Readonly<Record<string, string>> = {
  "--config": "the plan and the policies can't read a file of further flags",
  "--num-gpu-blocks-override":
    "it sets the KV cache in blocks, whatever memory they take; use `kvCacheMemoryBytes`",
  "--distributed-executor-backend":
    "vLLM's own processes (`mp`) run the model, even over several machines (`nodes`); vLLM's image has no Ray",
  "--hf-token": "the token would be visible in the argv; use `huggingFaceTokenVariable`",
  "--api-key":
    "it guards only part of vLLM's routes (/invocations, /classify, /pooling and others stay open), and the key would be in the argv. For the local network publish the bridge with `keyVariable`, and leave this server on 127.0.0.1",
};

/** Shortest abbreviation taken seriously: `--g` and the like are refused whatever they mean. */
const SHORTEST_ABBREVIATION = "--x".length;

/** An extra argument that can't be passed: its place in the list, and why. */
export interface RepeatedFlag {
  readonly index: number;
  readonly message: string;
}

/**
 * The extra arguments that can't be passed. vLLM takes abbreviated flags, underscores for dashes,
 * `--no-` forms, `--disable-x` for `--no-enable-x` and single keys of JSON (`--flag.key value`), so
 * a flag that only begins like one of ours is refused as well.
 */
export function repeatedFlags(extraArgs: readonly string[]): RepeatedFlag[] {
  return extraArgs.flatMap((argument, index) => {
    const message = flagFault(argument, extraArgs[index + 1]);
    return message === undefined ? [] : [{ index, message }];
  });
}

function flagFault(argument: string, next: string | undefined): string | undefined {
  if (!argument.startsWith("-")) return undefined;
  const [written = argument] = argument.split(/[=\s]/, 1);
  const [base = "", key = ""] = written.split(".");
  const flag = base.replaceAll("_", "-");
  const positive = flag.replace(/^--no-/, "--").replace(/^--disable-/, "--enable-");
  // vLLM refuses capitals too, but only after it has printed the key.
  const refused = Object.entries(REFUSED_FLAGS).find(([name]) =>
    abbreviates(positive.toLowerCase(), name),
  );
  if (refused !== undefined) return `\`${refused[0]}\` can't be passed: ${refused[1]}.`;
  const owner = Object.entries(FLAGS_WITH_SETTING).find(([name]) => abbreviates(positive, name));
  if (owner !== undefined) return repeats(owner[0], owner[1]);
  const json = written === argument ? next : argument.slice(written.length + 1);
  const inside = KEYS_WITH_SETTING.find(
    (each) =>
      [each.flag, each.short ?? each.flag].some((name) => abbreviates(flag, name)) &&
      (key === each.key || (key === "" && holdsKey(json, each.key))),
  );
  return inside && repeats(`${inside.flag}.${inside.key}`, inside.setting);
}

const repeats = (flag: string, setting: string) =>
  `\`${flag}\` has a setting of its own: use \`${setting}\`.`;

/**
 * With one dash, argparse takes beginnings of a name, and a value right behind one letter (`-n2`).
 */
function abbreviates(flag: string, name: string): boolean {
  if (flag === name) return true;
  if (name.startsWith("--")) return flag.length >= SHORTEST_ABBREVIATION && name.startsWith(flag);
  if (flag.startsWith("--") || flag === "-") return false;
  return name.startsWith(flag) || (name.length === 2 && flag.startsWith(name));
}

function holdsKey(json: string | undefined, key: string): boolean {
  const value = objectOr(jsonIn(json ?? ""));
  return Object.hasOwn(value, key);
}

/**
 * Variables of a server that settings set, by name or by how the name begins, and what to write
 * instead.
 */
const VARIABLES_WITH_SETTING: readonly { readonly name: RegExp; readonly instead: string }[] = [
  { name: /^(MAX_JOBS|NINJA_JOBS)$/, instead: "use `compileJobs`" },
  {
    name: /^(HF_TOKEN|HF_TOKEN_PATH|HUGGING_FACE_HUB_TOKEN|HUGGINGFACE_HUB_TOKEN)$/,
    instead: "use `huggingFaceTokenVariable`, by which the token reaches the server as a file",
  },
  {
    name: /^LOCAL_SERVING_/,
    instead: "they are set from the machine's settings; use `nodes` for several ranks",
  },
];

/**
 * Why a server's `environment` can't have a variable: a setting gives it. `undefined` for any
 * other.
 */
export function repeatedVariable(variable: string): string | undefined {
  const found = VARIABLES_WITH_SETTING.find(({ name }) => name.test(variable));
  return (
    found && `\`${variable}\` has a setting of its own: ${found.instead}, and delete this line.`
  );
}
