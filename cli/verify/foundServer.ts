import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { VLLM_DEFAULT_UTILIZATION } from "@local-serving/vllm/utilization";
import { stringify } from "yaml";
import { operatorHome } from "../../components/evidence";
import { type Plan, plan } from "../../components/plan";
import { parseStackFile } from "../../components/settings";
import { Api } from "../sees/api";
import { readServed } from "../sees/served";
import { type PlannedStack, readStack } from "../stack/readStack";
import { type StackFileOptions, sampleMeant, stackFile } from "../stack/stackFile";

/**
 * The stack file that a command was pointed at; `undefined` where nobody named one and none is meant,
 * or only a clone's sample, which is of no server.
 */
export function stackIfAny(options: StackFileOptions): PlannedStack | undefined {
  if (sampleMeant(options) !== undefined) return undefined;
  try {
    return readStack(stackFile(options));
  } catch (error) {
    if (error instanceof WrongUse && options.file === undefined && options.stack === undefined)
      return undefined;
    throw error;
  }
}

/** Keys of the stand-in for a stack file: advice names settings by them. */
const [MACHINE, SERVER] = ["this", "server"];

/** No image is started: the plan of a server only needs one. */
const IMAGE = `vllm/vllm-openai:latest@sha256:${"0".repeat(64)}`;

/** Tokens of a window that the smallest models have. */
const WINDOW = 2048;

/**
 * A plan of the one server at an address, by what it says of itself: without a stack file it is
 * probed as one that serves chat.
 */
export async function foundServer(url: string): Promise<Plan> {
  const { names, root, maxModelLen } = await readServed(new Api(url));
  const [name = ""] = names;
  const server = {
    // The plan of a server has it answer to its model's id, too.
    model: { id: root !== null && names.includes(root) ? root : name, kind: "chat" },
    servedModelName: name,
    image: IMAGE,
    port: Number(new URL(url).port) || 80,
    gpuMemoryUtilization: VLLM_DEFAULT_UTILIZATION,
    maxModelLen: maxModelLen ?? WINDOW,
  };
  const machine = { totalGiB: 1000, instanceA: "none", inferenceServers: { [SERVER]: server } };
  const text = stringify({ config: { "local-serving:machines": { [MACHINE]: machine } } });
  say(
    `No stack file: ${url} serves ${name}${maxModelLen === null ? "" : ` with a window of ${maxModelLen} tokens`}. Advice names the settings that a stack file would have.`,
  );
  return plan(parseStackFile(`what ${url} says`, text), { home: operatorHome() });
}
