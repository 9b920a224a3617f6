import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse, stringify } from "yaml";
import { readModels } from "../../components/evidence/readModels";
import { plan } from "../../components/plan/plan";
import type { MachinePlan } from "../../components/plan/types";
import { parseStackFile } from "../../components/settings/load";
import { freePort } from "../layers/freePort";

export const PROJECT = join(__dirname, "../..");

/** Values of the variables that the stack file names; nothing may print one. */
export const SECRETS = {
  BRIDGE_KEY: "sk-bridge-4f9a1c7e52d84b06",
  HF_TOKEN_OF_B: "hf_Zk3mQ8vT1xWcRb7NdLpY5sHgJf2aEuKo",
  HX_LOCAL_KEY: "sk-harness-7b21e90c5d3f4a68",
} as const;

export const TINY = "tiny";

/** Settings of the machine as YAML has them; what is in them is up to the stack file. */
type Part = Record<string, unknown>;
interface StackFile {
  readonly config: { readonly "local-serving:machines": { readonly dgx: Record<string, Part> } };
}

/**
 * Writes a stack file: the project's default one on free ports, every service connected to every
 * other, below a folder of its own, with everything that needs a secret. Then writes every file
 * that it plans, as `up` would.
 */
export async function writeWholeStack(
  file: string,
  folder: string,
  home: string,
): Promise<MachinePlan> {
  const stack = parse(readFileSync(join(PROJECT, "Pulumi.dgx.yaml"), "utf8")) as StackFile;
  const machine = stack.config["local-serving:machines"].dgx;
  const set = (part: string, settings: Part) => {
    machine[part] = { ...machine[part], ...settings };
  };
  set("instanceA", { port: await freePort(), servedModelName: "a-model" });
  set("inferenceServers", {
    b: {
      ...(machine.inferenceServers?.b as Part),
      ...{
        port: await freePort(),
        huggingFaceTokenVariable: "HF_TOKEN_OF_B" satisfies keyof typeof SECRETS,
      },
    },
  });
  set("bridge", {
    port: await freePort(),
    keyVariable: "BRIDGE_KEY" satisfies keyof typeof SECRETS,
  });
  set("chatUi", { port: await freePort(), connections: ["b", "instance-a", "simple-server"] });
  const environment = { ANTHROPIC_DEFAULT_HAIKU_MODEL: "nvidia/Qwen3.6-35B-A3B-NVFP4" };
  set("clients", { claudeCode: { environment }, opencode: {}, pi: {}, qwenCode: {} });
  set("simpleServer", {
    ...{ listen: "0.0.0.0", port: await freePort(), models: [TINY] },
    ...{ modelsDirectory: join(folder, "models"), systemdDirectory: join(folder, "systemd") },
  });
  set("harness", { home: join(folder, "hx") });
  writeFileSync(file, stringify(stack));
  const settings = parseStackFile(file, readFileSync(file, "utf8"));
  const [planned] = plan(settings, { home, models: readModels(settings, PROJECT, home) }).machines;
  if (planned === undefined) throw new Error("the default stack file has a machine");
  writeFiles(planned);
  return planned;
}

function writeFiles({ files, secretFiles }: MachinePlan): void {
  const values: Readonly<Record<string, string>> = SECRETS;
  const secrets = secretFiles.map(({ path, mode, variable }) => ({
    path,
    mode,
    text: values[variable] ?? "",
  }));
  for (const { path, mode, text } of [...files, ...secrets]) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: Number.parseInt(mode, 8) });
  }
}
