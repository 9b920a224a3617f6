import { posix } from "node:path";
import { errorAt, type Fault } from "@local-serving/base/faults/fault";
import { canonicalEngine, isHere } from "@local-serving/machines/address";
import { familyOf, otherFamily } from "../inference-server";
import { measuredHere } from "../memory";
import { type Evidence, modelEvidence, serversOn } from "../planned";
import { onOtherMachine } from "../services/bridge";
import { type InferenceServerSettings, machineFault, type StackSettings } from "../settings";
import type { MachinePlan } from "./types";

/** An index and its files may differ by their headers, and people round. */
const WEIGHTS_ROUNDING = 0.05;

/**
 * The part of its weights that a server surely loads: it may leave drafts and towers of pictures on
 * the disk, and load float32 by half, also where no config.json tells so.
 */
const SURELY_LOADED = 0.5;

/**
 * Finds measurements that can't be of the model that is served: its weights alone take far more than
 * everything outside the KV cache took. Such a record stays behind where somebody changes the id.
 */
export function measuredFaults(settings: StackSettings, machines: readonly MachinePlan[]): Fault[] {
  return machines.flatMap(({ name, inferenceServers, starts }) =>
    inferenceServers.flatMap(({ key, container }): Fault[] => {
      const server = settings.machines[name]?.inferenceServers[key];
      const { weightsGiB = 0 } = starts[container.name] ?? {};
      const { charged, at } = (server && measuredHere(server)) ?? {};
      if (charged === undefined || charged >= weightsGiB * SURELY_LOADED) return [];
      const field = server?.measured?.chargedGiB === undefined ? "nonKvGiB" : "chargedGiB";
      const path = ["inferenceServers", key, "measured", field];
      const message = `On ${at} ${charged} GiB were outside the KV cache, but the weights of ${server?.model.id} alone take ${weightsGiB.toFixed(2)} GiB: that was measured with another model. Delete \`measured\`, and measure again once this one runs (\`serving verify --only memory\`).`;
      return [machineFault(settings, name, { path, code: "impossible_value", message })];
    }),
  );
}

/**
 * A server's settings with the family that its model's config.json tells of, where none is
 * declared.
 */
export function withFamily(
  server: InferenceServerSettings,
  evidence: Evidence,
): InferenceServerSettings {
  const family = server.model.family ?? familyOf(modelEvidence(evidence, server.model.id)?.config);
  return family === undefined ? server : { ...server, model: { ...server.model, family } };
}

/**
 * Finds declarations about a model that its config.json, or the weights in the model cache,
 * contradict.
 */
export function modelFaults(settings: StackSettings, evidence: Evidence): Fault[] {
  return Object.entries(settings.machines).flatMap(([machine, { inferenceServers }]) =>
    Object.entries(inferenceServers).flatMap(([key, { model }]): Fault[] => {
      const known = modelEvidence(evidence, model.id);
      const fault = (setting: "family" | "weightsGB", found: string): Fault => {
        const path = ["inferenceServers", key, "model", setting];
        const message = `\`${setting}: ${model[setting]}\` is declared, but ${found}. Delete this line, or correct \`id\`: \`serving models\` lists the known models.`;
        return machineFault(settings, machine, { path, code: "impossible_value", message });
      };
      const other = otherFamily(model.family, known?.config);
      const weights = known?.weightsGB;
      const off =
        weights === undefined ? 0 : Math.abs((model.weightsGB ?? weights) - weights) / weights;
      return [
        ...(other === undefined ? [] : [fault("family", `${known?.source} says that ${other}`)]),
        ...(off > WEIGHTS_ROUNDING
          ? [fault("weightsGB", `the weights in the model cache are ${weights?.toFixed(1)} GB`)]
          : []),
      ];
    }),
  );
}

/**
 * Finds servers that start on request, and share a name with another one behind a bridge. The
 * bridge spreads such a name's requests, and asks each of its servers for an answer every minute.
 */
export function sharedOnRequest(
  settings: StackSettings,
  machines: readonly MachinePlan[],
): Fault[] {
  const faults = new Map<string, Fault>();
  for (const { name: on, bridge } of machines) {
    const behind = (bridge?.servers ?? []).flatMap((named) => serverNamed(named, on, machines));
    for (const { machine, key, names, start } of behind) {
      const twin = behind.find(
        (each) =>
          (each.machine !== machine || each.key !== key) &&
          each.names.some((name) => names.includes(name)),
      );
      if (start === undefined || twin === undefined) continue;
      const other = twin.machine === machine ? twin.key : `${twin.machine}.${twin.key}`;
      const name = names.find((each) => twin.names.includes(each));
      const message = `\`${other}\` also answers to \`${name}\`, and the bridge of ${on} sends each request for that name to whichever of the two seems to be running: write \`start: always\`, or give each server its own names (\`servedModelName\`, \`aliases\`).`;
      const path = ["inferenceServers", key, "start"];
      faults.set(
        `${machine}.${key}`,
        machineFault(settings, machine, { path, code: "impossible_value", message }),
      );
    }
  }
  return [...faults.values()];
}

/** Finds servers that llama-swap couldn't tell by their names. */
export function sharedOnDemand(settings: StackSettings, machines: readonly MachinePlan[]): Fault[] {
  return machines.flatMap(({ name: machine, onDemand }) => {
    const servers = onDemand?.servers ?? [];
    return servers.flatMap(({ key, model, names }, index): Fault[] => {
      const own = [model, ...names];
      const twin = servers
        .slice(0, index)
        .find((each) => own.some((name) => name === each.model || each.names.includes(name)));
      if (twin === undefined) return [];
      const shared = own.find((name) => name === twin.model || twin.names.includes(name));
      const message = `\`${twin.key}\` also answers to \`${shared}\`, but llama-swap starts a server by its name: give each server its own names (\`servedModelName\`, \`aliases\`, names of adapters).`;
      const path = ["inferenceServers", key, "servedModelName"];
      return [machineFault(settings, machine, { path, code: "impossible_value", message })];
    });
  });
}

/** What separates, quotes or names values in a command line of llama-swap's. */
const NOT_PLAIN = /[\s'"\\$]/;

/**
 * Finds what llama-swap would read otherwise than it is meant: it splits its command as a shell, and
 * puts values in the place of `${...}` wherever they stand.
 */
export function unreadOnDemand(settings: StackSettings, machines: readonly MachinePlan[]): Fault[] {
  return machines.flatMap(({ name: machine, onDemand }): Fault[] => {
    if (onDemand === undefined) return [];
    const fault = (path: string[], message: string) =>
      machineFault(settings, machine, { path, code: "impossible_value", message });
    const folder = !NOT_PLAIN.test(onDemand.folder)
      ? []
      : [
          fault(
            ["stateDirectory"],
            `llama-swap starts servers by a command line with this folder in it, ${onDemand.folder}: for \`onDemand\` write one without blanks, quotes, backslashes and \`$\`, such as \`/var/lib/local-serving\`.`,
          ),
        ];
    const names = onDemand.servers.flatMap(({ key, model, names: others }) => {
      const macro = [model, ...others].find((each) => each.includes("${"));
      return macro === undefined
        ? []
        : fault(
            ["inferenceServers", key, "servedModelName"],
            `llama-swap takes \`\${\` in ${JSON.stringify(macro)} for a value of its own: write names without it (\`servedModelName\`, \`aliases\`).`,
          );
    });
    return [...folder, ...names];
  });
}

/** A server of ours behind a machine's bridge: `b`, or `dgx2.b` of another machine. */
function serverNamed(named: string, on: string, machines: readonly MachinePlan[]) {
  const { on: machine, key } = onOtherMachine(named) ?? { on, key: named };
  const found = machines
    .find(({ name }) => name === machine)
    ?.inferenceServers.find((each) => each.key === key);
  if (found === undefined) return [];
  return [{ machine, key, names: found.serve.names, start: found.container.start }];
}

/**
 * Finds servers of one machine whose containers would have one name: Docker gives a name once, and
 * would refuse the second container in the middle of an update.
 */
export function namedTwice(settings: StackSettings, machines: readonly MachinePlan[]): Fault[] {
  return machines.flatMap((machine) => {
    const servers = serversOn(machine);
    return servers.flatMap(({ key: named, container: { name } }, index): Fault[] => {
      const first = servers.slice(0, index).find(({ container }) => container.name === name);
      if (first === undefined) return [];
      const { on, key } = onOtherMachine(named) ?? { on: machine.name, key: named };
      const path = ["inferenceServers", key, "servedModelName"];
      const message = `The containers of \`${first.key}\` and \`${named}\` would both be called ${name}, and Docker gives a name once: write another \`port\`, or a name that differs in letters, digits, dots or dashes.`;
      return [machineFault(settings, on, { path, code: "impossible_value", message })];
    });
  });
}

/** Longest part of a host's name between dots, for every resolver. */
const LONGEST_LABEL = 63;

/**
 * Finds servers that a service could not reach, since no host has such a name. Those behind
 * llama-swap are asked by its address.
 */
export function unreachable(settings: StackSettings, machines: readonly MachinePlan[]): Fault[] {
  return machines.flatMap(({ name: machine, inferenceServers, services, onDemand }) => {
    const asked = new Set(services.flatMap(({ servers }) => servers));
    for (const { key } of onDemand?.servers ?? []) asked.delete(key);
    return inferenceServers.flatMap(({ key, reach, container: { name } }): Fault[] => {
      const longest = Math.max(...name.split(".").map(({ length }) => length));
      if (!asked.has(key) || reach.onLink || longest <= LONGEST_LABEL) return [];
      const path = ["inferenceServers", key, "servedModelName"];
      const message = `Other containers reach this server as ${name}, and no part of a host's name has more than ${LONGEST_LABEL} characters: make it ${longest - LONGEST_LABEL} shorter.`;
      return [machineFault(settings, machine, { path, code: "impossible_value", message })];
    });
  });
}

/**
 * Finds files that have the same path on the same computer: the later would silently replace the
 * earlier.
 */
export function writtenTwice(machines: readonly MachinePlan[]): Fault[] {
  const first = new Map<string, string>();
  const faults: Fault[] = [];
  for (const machine of machines) {
    for (const file of [...machine.files, ...machine.secretFiles]) {
      const { path, role } = file;
      const computer = "here" in file || isHere(machine) ? "" : canonicalEngine(machine);
      const place = `${computer}:${posix.normalize(path)}`;
      const writer = `${role} of ${machine.name}`;
      const earlier = first.get(place);
      if (earlier === undefined) first.set(place, writer);
      else
        faults.push(
          errorAt(
            `machines.${machine.name}`,
            "repeated_path",
            `${writer} and ${earlier} would both be written to ${path}: remove one, or change its folder.`,
          ),
        );
    }
  }
  return faults;
}
