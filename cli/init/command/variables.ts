import { ownValue } from "@local-serving/base/faults/defined";
import { holdsSecret, isSecretName } from "@local-serving/base/faults/secrets";
import { isIn } from "@local-serving/machines/home";
import { USUAL_VARIABLES } from "../../../components/inference-server";
import { inferenceServer, repeatedVariable } from "../../../components/settings";
import { AS_COMMANDED, type ServerValue } from "../../models/serverValues";
import { NOT_CARRIED } from "../notCarriedOver";
import { folderOf } from "./dockerOptions";
import { ofOtherMachine } from "./otherMachine";
import { isToFill } from "./placeholder";
import { asWritten, expansions, type LeftOut, shellVariable } from "./words";

/** What a server's block and its machine get of a command's variables. */
export interface VariableValues {
  readonly values: readonly ServerValue[];
  readonly leftOut: readonly LeftOut[];
  /** Variables that every server of ours has with this value. */
  readonly setHere: readonly string[];
  /** Where the models lie, by HF_HOME of a command without a container. */
  readonly modelCache?: string;
  /** Variable of the operator's shell with the token of Hugging Face. */
  readonly tokenVariable?: string;
}

const TOKENS = /^(?:HF_TOKEN|HUGGING_FACE_HUB_TOKEN|HUGGINGFACE_HUB_TOKEN)$/;

/** Variables that say where caches lie, or which GPUs there are. */
const PLACES =
  /^(?:HF_HOME|HF_HUB_CACHE|HUGGINGFACE_HUB_CACHE|TRANSFORMERS_CACHE|XDG_CACHE_HOME|VLLM_CACHE_ROOT|TRITON_CACHE_DIR|TORCHINDUCTOR_CACHE_DIR|FLASHINFER_WORKSPACE_BASE|HF_TOKEN_PATH)$/;
const GPUS =
  /^(?:CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|NVIDIA_VISIBLE_DEVICES|NVIDIA_DRIVER_CAPABILITIES)$/;

/** Variables that name folders of the machine, or of a virtual environment on it. */
const OF_THE_MACHINE =
  /^(?:PATH|HOME|VIRTUAL_ENV|CONDA_PREFIX|PYTHONPATH|PYTHONHOME|LD_LIBRARY_PATH|LD_PRELOAD|CUDA_HOME|CUDA_PATH|CUDA_ROOT)$/;
const NOT_INSIDE = "it names folders of the machine, and the server's container has its own.";

const USUAL: Readonly<Record<string, string>> = USUAL_VARIABLES;

/** Where a command runs its server. */
export interface VariablePlaces {
  readonly inContainer: boolean;
  /** Folders inside its container that the server's container lacks. */
  readonly lost: readonly string[];
  /** Where a value that isn't known comes from, by the variable's name. */
  readonly origins?: ReadonlyMap<string, string> | undefined;
}

/** What becomes of each variable of a server's environment. No secret's value is read. */
export function variableValues(
  variables: ReadonlyMap<string, string>,
  places: VariablePlaces,
): VariableValues {
  const { inContainer } = places;
  const home = inContainer ? undefined : folderOf(variables.get("HF_HOME") ?? "");
  const found = [...variables]
    .filter(([name]) => name !== "HF_HOME" || home === undefined)
    .map(([name, value]) => becomes(name, value, places));
  const token = found.findLast((each) => each.token !== undefined)?.token;
  return {
    values: [
      ...found.flatMap((each) => each.setting ?? []),
      ...(token === undefined ? [] : [value(["huggingFaceTokenVariable"], token)]),
      ...found.flatMap((each) => each.environment ?? []),
    ],
    leftOut: found.flatMap((each) => each.leftOut ?? []),
    setHere: found.flatMap((each) => each.setHere ?? []),
    ...(home === undefined ? {} : { modelCache: home }),
    ...(token === undefined ? {} : { tokenVariable: token }),
  };
}

interface Becomes {
  /** Variable of the operator's shell with the token of Hugging Face. */
  readonly token?: string;
  readonly setting?: readonly ServerValue[];
  /** The name of a variable that every server of ours has with this value. */
  readonly setHere?: string;
  readonly environment?: ServerValue;
  readonly leftOut?: LeftOut;
}

function becomes(name: string, given: string, places: VariablePlaces): Becomes {
  if (TOKENS.test(name)) return { token: shellVariable(given) ?? name };
  const setting = settingOf(name, given);
  if (setting !== undefined) return { setting };
  if (ownValue(USUAL, name) === given) return { setHere: name };
  const why = whyNot(name, given, places);
  return why === undefined
    ? { environment: value(["environment", name], given) }
    : { leftOut: { what: `the variable ${name}`, why, words: [name] } };
}

const value = (path: readonly string[], of: ServerValue["value"]): ServerValue => ({
  path,
  value: of,
  why: AS_COMMANDED,
});

/** The setting that a variable has. */
function settingOf(name: string, given: string): ServerValue[] | undefined {
  if (name !== "MAX_JOBS" && name !== "NINJA_JOBS") return undefined;
  const jobs = inferenceServer.shape.compileJobs.safeParse(Number(given));
  return jobs.success ? [value(["compileJobs"], jobs.data)] : undefined;
}

/** Where a value is that isn't known here. */
function unknownText(name: string, given: string, { origins }: VariablePlaces): string {
  const origin = origins?.get(name);
  if (origin !== undefined) return `${origin}: write it as \`environment\`.`;
  const unknown = expansions(given);
  if (unknown.some(isToFill)) return "its value is a placeholder: write what it stands for.";
  const isOfShell = unknown.every((each) => /^\$(?:\w+|\{\w+\})$/.test(each));
  return isOfShell
    ? "its value is only in your shell: write it as `environment`."
    : `what ${unknown.map((each) => `\`${asWritten(each)}\``).join(", ")} is there isn't known here: write it as \`environment\`.`;
}

/** Why a variable can't be in a server's environment. */
function whyNot(name: string, given: string, places: VariablePlaces): string | undefined {
  if (name === "VLLM_API_KEY")
    return "it guards only part of vLLM's routes; the bridge has a key for other computers.";
  if (name === "VLLM_USE_FLASHINFER_MOE_FP4")
    return "vLLM 0.24 dropped it: `moeBackend` names the kernels of a mixture of experts.";
  if (isSecretName(name) || holdsSecret(`${name}=${given}`))
    return "a secret has no place in a stack file.";
  const other = ofOtherMachine(name, given);
  if (other !== undefined) return other;
  if (!places.inContainer && OF_THE_MACHINE.test(name)) return NOT_INSIDE;
  if (PLACES.test(name)) return "models lie in `modelCache`, and other caches in a volume.";
  if (GPUS.test(name)) return NOT_CARRIED.allGpus;
  if (!/^[A-Z_][A-Z0-9_]*$/.test(name))
    return "names in `environment` have only capitals, digits and underscores.";
  if (expansions(given).length > 0) return unknownText(name, given, places);
  if (places.lost.some((folder) => isIn(given, folder)))
    return "it names a folder of a volume that isn't carried over.";
  const repeated = repeatedVariable(name);
  return repeated === undefined ? undefined : "there is a setting for it.";
}
