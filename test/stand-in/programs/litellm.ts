import { readFileSync } from "node:fs";
import { parseYaml } from "@local-serving/base/faults/yamlDocument";
import { PLACEHOLDER_KEY } from "../../../components/planned";
import { type BridgeFault, startBridge } from "../bridge";
import { isObject, objects } from "../exchange";

/**
 * `litellm` of the image: `litellm --config FILE --host HOST --port PORT`, with `--fault NAME` for a
 * way to fail. The first server of the file answers for all.
 */
async function main(argv: readonly string[]): Promise<void> {
  const after = (name: string) => argv[argv.indexOf(name) + 1] ?? "";
  const config = parseYaml("config", readFileSync(after("--config"), "utf8")).value;
  const models = objects(isObject(config) ? config.model_list : []);
  const { litellm_params: first } = models[0] ?? {};
  const base = isObject(first) ? String(first.api_base) : "";
  const server = await startBridge({
    upstream: base.replace(/\/v1$/, ""),
    key: PLACEHOLDER_KEY,
    names: models.map(({ model_name: name }) => String(name)),
    ...(argv.includes("--fault") ? { fault: after("--fault") as BridgeFault } : {}),
    host: after("--host"),
    port: Number(after("--port")),
  });
  console.log(`Uvicorn running on ${server.url}`);
  process.once("SIGTERM", () => process.exit(0));
}

void main(process.argv.slice(2));
