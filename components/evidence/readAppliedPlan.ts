import { z } from "zod";
import { jsonIn } from "../../faults/json";
import { type Files, filesOf } from "../host/files";
import type { MachinePlan } from "../plan/types";

/** The plan that was applied to a machine, or why none is known. */
export type AppliedPlan = { readonly plan: MachinePlan } | { readonly missing: string };

const [text, texts, number] = [z.string(), z.array(z.string()), z.number()];
const container = z.looseObject({
  ...{ role: text, resource: text, name: text, image: text, network: text, ipc: text, restart: text, hosts: texts },
  ...{ command: texts, entrypoint: texts.nullable(), env: z.record(text, text), labels: z.record(text, text) },
  ...{ stopGraceSeconds: number, gpus: text.nullable(), healthcheck: z.looseObject({ test: texts }) },
  ports: z.array(z.looseObject({ ip: text, host: number, container: number })),
  mounts: z.array(z.looseObject({ type: text, source: text, target: text, readOnly: z.boolean() })),
  ulimits: z.array(z.looseObject({ name: text })),
});
const secretFile = z.looseObject({ role: text, path: text, mode: text });
const file = secretFile.extend({ text });
const serve = z.looseObject({ key: text, model: text, names: texts, maxModelLen: z.int().positive() });
const port = z.int().min(1).max(65_535);
const reach = z.looseObject({ key: text, name: text, address: text, port, path: text });
const rank = z.looseObject({ nodes: z.array(z.looseObject({ machine: text, container: text })) }).optional();
const hubModels = z.array(z.looseObject({ id: text })).optional();
const server = z.looseObject({ key: text, jitVolume: text, serve, reach, rank, hubModels, container });
const service = z.looseObject({ container, servers: texts }).nullable();
/** What `changesOf`, drift and a plan's windows are told by. */
const plan = z.looseObject({
  ...{ name: text, dockerHost: text, network: text, containers: z.array(container), bridge: service, chatUi: service },
  hostInstance: z.union([z.literal("none"), z.looseObject({ port: number, gpuMemoryUtilization: number })]),
  ...{
    inferenceServers: z.array(server),
    ranks: z.array(server),
    serve: z.array(serve),
    kv: z.record(text, z.unknown()),
  },
  clients: z.array(z.looseObject({ client: text, server: text, via: text, files: z.array(file) })),
  ...{ files: z.array(file), secretFiles: z.array(secretFile) },
  simpleServer: z.discriminatedUnion("mode", [
    z.looseObject({ mode: z.literal("none") }),
    z.looseObject({ mode: z.literal("integrated"), models: texts }),
    z.looseObject({ mode: z.literal("host"), unit: text, dropIn: file, models: texts }),
  ]),
  ledger: z.looseObject({
    totalGiB: number,
    sumGiB: number,
    lines: z.array(z.looseObject({ name: text, gib: number })),
  }),
  endpoints: z.array(z.looseObject({ key: text, url: text })),
  ...{ commands: texts, elevate: z.union([z.literal("none"), texts]) },
});

/** The plans that were applied to the machines of a stack, in their order. */
export const readAppliedPlans = (machines: readonly MachinePlan[]): Promise<AppliedPlan[]> =>
  Promise.all(machines.map((machine) => readAppliedPlan(machine, filesOf(machine))));

/** Reads the plan that `up` left on a machine, here or over ssh. */
export async function readAppliedPlan({ files }: Pick<MachinePlan, "files">, on: Files): Promise<AppliedPlan> {
  const path = files.find(({ role }) => role === "applied-plan")?.path ?? "";
  const found = await on.text(path);
  if (found !== undefined) return appliedPlanIn(found, path);
  const why = (await on.state(path)) === "missing" ? "is not there" : "can't be read";
  return { missing: `${path} ${why}: nothing is applied, or by another user or with another \`stateDirectory\`` };
}

/**
 * The plan in such a file. Another version of this project may have written it: the parts that are read are checked, and
 * more may be there.
 */
export function appliedPlanIn(text: string, path: string): AppliedPlan {
  const { success, data, error } = z.looseObject({ machine: plan }).safeParse(jsonIn(text));
  // What has these parts was written as a plan, by this version or one that differs in what nobody reads here.
  if (success) return { plan: data.machine as unknown as MachinePlan };
  const [first] = error.issues;
  const where = first === undefined || first.path.length === 0 ? "it is no such record" : `see ${first.path.join(".")}`;
  return {
    missing: `${path} was not written by this version of local-serving (${where}): \`npm run up\` writes it anew`,
  };
}
