import { z } from "zod";
import { jsonIn } from "../../faults/json";
import { type Files, filesOf } from "../host/files";
import type { MachinePlan } from "../plan/types";

/** The plan that was applied to a machine, or why none is known. */
export type AppliedPlan = { readonly plan: MachinePlan } | { readonly missing: string };

const text = z.string();
const named = z.looseObject({ name: text });
const variables = z.record(text, text);
const container = z.looseObject({
  ...{ role: text, resource: text, name: text, image: text, network: text, ipc: text, restart: text },
  ...{ command: z.array(text), entrypoint: z.array(text).nullable(), secretEnv: z.array(text), hosts: z.array(text) },
  ...{ env: variables, labels: variables, stopGraceSeconds: z.number(), gpus: text.nullable() },
  ports: z.array(z.looseObject({ ip: text, host: z.number(), container: z.number() })),
  mounts: z.array(z.looseObject({ type: text, source: text, target: text, readOnly: z.boolean() })),
  healthcheck: z.looseObject({ test: z.array(text) }),
  ulimits: z.array(named),
});
const file = z.looseObject({ role: text, path: text, mode: text, text });
const secretFile = z.looseObject({ role: text, path: text, mode: text, variable: text });
const serve = z.looseObject({ ...{ key: text, model: text, names: z.array(text) }, maxModelLen: z.int().positive() });
const reach = z.looseObject({ ...{ key: text, name: text, address: text, path: text }, port: z.number() });
const service = z.looseObject({ container, address: text, port: z.number(), servers: z.array(text) }).nullable();
const server = z.looseObject({ ...{ key: text, servedModelName: text, jitVolume: text }, serve, reach, container });
const plan = z.looseObject({
  ...{ name: text, dockerHost: text, network: text },
  hostInstance: z.union([z.literal("none"), z.looseObject({ port: z.number(), gpuMemoryUtilization: z.number() })]),
  ...{ inferenceServers: z.array(server), ranks: z.array(server), serve: z.array(serve) },
  ...{ bridge: service, chatUi: service, containers: z.array(container) },
  clients: z.array(z.looseObject({ client: text, server: text, via: text, baseUrl: text, files: z.array(file) })),
  harness: z.looseObject({ providers: text, analytics: text }).nullable(),
  ...{ files: z.array(file), secretFiles: z.array(secretFile) },
  simpleServer: z.discriminatedUnion("mode", [
    z.looseObject({ mode: z.literal("none") }),
    z.looseObject({ mode: z.literal("integrated"), models: z.array(text) }),
    z.looseObject({
      ...{ mode: z.literal("host"), unit: text, listen: text, port: z.number(), baseUrl: text },
      ...{ dropIn: file, models: z.array(text) },
    }),
  ]),
  ledger: z.looseObject({
    ...{ totalGiB: z.number(), sumGiB: z.number() },
    lines: z.array(z.looseObject({ name: text, gib: z.number() })),
  }),
  ...{ kv: z.record(text, z.unknown()), endpoints: z.array(z.looseObject({ key: text, url: text })) },
  ...{ reach: z.array(reach), commands: z.array(text), elevate: z.union([z.literal("none"), z.array(text)]) },
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
