import { Failed } from "../../../commandLine/exit";
import { type ContainerState, containersOf, startedAgain } from "../../../components/docker/containers";
import type { PlannedFile } from "../../../components/planned/file";
import { isLoopback } from "../../../components/planned/reach";
import { jsonIn, objectOr, objectsIn, textOr } from "../../../faults/json";
import type { FileOnDisk, Host } from "../host";
import { processStart } from "../metrics";
import { fail, pass, passUnless, quote, quotedList, skip } from "../probe";
import type { MachineTarget, ProbesOf } from "../target";
import { askOnTheNetwork } from "./asking";

/** The record of the last `up` holds the plan itself; the other files are compared with it. */
const APPLIED_PLAN = "applied-plan";

const filesOf = ({ machine }: MachineTarget) => machine.files.filter((file) => file.role !== APPLIED_PLAN);
const launchersOf = ({ machine }: MachineTarget) => machine.files.filter((file) => file.role.startsWith("launcher-"));
const recordOf = ({ machine }: Pick<MachineTarget, "machine">) =>
  machine.files.find((file) => file.role === APPLIED_PLAN);

/** A container by Docker; `undefined` if there is none. Throws `Failed` if Docker can't tell. */
export async function inspect({ docker }: Host, name: string): Promise<ContainerState | undefined> {
  try {
    return containersOf(jsonIn(await docker(["inspect", "--type", "container", name])))[0];
  } catch (error) {
    if (error instanceof Failed && /No such (?:object|container)/i.test(error.message)) return undefined;
    throw error;
  }
}

/** Whether `up` ever ran: its record or one of its containers is there. Throws `Failed` if Docker can't tell. */
export async function isSetUp({ machine, host }: Pick<MachineTarget, "machine" | "host">): Promise<boolean> {
  const record = recordOf({ machine });
  if (record !== undefined && (await host.file(record.path)) !== undefined) return true;
  for (const { name } of machine.containers) if ((await inspect(host, name)) !== undefined) return true;
  return false;
}

/** The planned containers and files are there, as planned. */
export const machineProbes: ProbesOf<"machine"> = [
  {
    name: "containers",
    about: "every planned container runs from its planned image",
    fix: ({ machine }) =>
      `Docker does not answer: start its engine, or see \`dockerHost\` of machines.${machine.name}.`,
    run: async ({ machine, host, began }) => {
      if (machine.containers.length === 0) return skip("the plan has no container");
      const faults: string[] = [];
      const seen: string[] = [];
      for (const { name, image } of machine.containers) {
        const found = await inspect(host, name);
        if (found === undefined) {
          faults.push(`${name} is not there`);
          continue;
        }
        if (found.status !== "running") faults.push(`${name} is ${quote(found.status)}`);
        else if (found.health === "unhealthy") faults.push(`${name} is unhealthy`);
        if (found.image !== image) faults.push(`${name} runs from ${quote(found.image)}, planned is ${image}`);
        if (Date.parse(found.startedAt) > began)
          faults.push(`${name} was started during this run: it ended, and what answered before it is gone`);
        const { restartCount, startedAt } = found;
        seen.push(restartCount === 0 ? name : `${name} (${startedAgain(restartCount)}, last at ${startedAt})`);
      }
      const fix = "npm run up brings the machine to the plan; serving doctor says why one stopped.";
      return passUnless(faults, seen.join(", "), fix);
    },
  },
  {
    name: "files",
    about: "every planned file is on the machine as planned (drift)",
    skip: (target) =>
      filesOf(target).length + target.machine.secretFiles.length > 0 ? undefined : "the plan has no file",
    fix: ({ machine: { commands } }) => {
      const byHand = commands.length > 0 ? ` Run what needs root yourself: ${commands.join("; ")}` : "";
      return `npm run up writes the planned files; what was edited is kept beside them.${byHand}`;
    },
    run: async (target) => {
      const { machine, host } = target;
      const applied = await appliedTexts(target);
      const faults: string[] = [];
      for (const file of filesOf(target)) {
        const fault = drift(file, await host.file(file.path, file.here), applied.get(file.path));
        if (fault !== undefined) faults.push(`${file.path} ${fault}`);
      }
      // The content of a secret's file is not compared.
      for (const { path, mode } of machine.secretFiles) {
        const disk = await host.file(path);
        if (disk === undefined) faults.push(`${path} is missing`);
        else if (disk.mode !== mode) faults.push(`${path} has mode ${disk.mode}, planned is ${mode}`);
      }
      const count = filesOf(target).length + machine.secretFiles.length;
      return passUnless(faults, `${count} files`);
    },
  },
  {
    name: "network-closed",
    about: "what is published on loopback answers on no address of the network, whatever the route",
    fix: () => "It was started with another `listen` than planned (npm run up), or something forwards the port.",
    run: async ({ host, machine }) => {
      const addresses = await host.lanAddresses();
      const closed = machine.containers.flatMap(({ name, ports }) =>
        ports.flatMap((port) => (isLoopback(port.ip) ? [{ name, port: port.host }] : [])),
      );
      if (addresses.length === 0) return skip("this machine has no network address");
      if (closed.length === 0) return skip("the plan publishes nothing on loopback");
      // Where a port takes no connection, no route can answer.
      const faults: string[] = [];
      for (const { name, port } of closed) {
        const open = [...(await askOnTheNetwork(host, port, "/")).keys()];
        if (open.length > 0) faults.push(`${name} answers on ${open.map((at) => `${at}:${port}`).join(", ")}`);
      }
      return passUnless(faults, `${closed.map(({ name }) => name).join(", ")} on ${addresses.join(", ")}`);
    },
  },
  {
    name: "launchers",
    about: "every launcher is executable",
    skip: (target) => (launchersOf(target).length > 0 ? undefined : "the plan has no launcher"),
    fix: () => "chmod u+x, or npm run up.",
    run: async (target) => {
      const faults: string[] = [];
      const launchers = launchersOf(target);
      for (const { path, here } of launchers) {
        const disk = await target.host.file(path, here);
        if (disk === undefined) faults.push(`${path} is missing`);
        // The owner's right to run it is in the second octal digit.
        else if ((Number.parseInt(disk.mode, 8) & 0o100) === 0)
          faults.push(`${path} is not executable (mode ${disk.mode})`);
      }
      return passUnless(faults, launchers.map(({ path }) => path).join(", "));
    },
  },
  {
    // Without a key the client does not start.
    name: "env-key",
    about: "the key variable of the Responses-style client is set",
    skip: (target) => (keyOf(target) ? undefined : "no Responses-style client is declared"),
    fix: () => "`clients.keyVariable` names it; the launcher sets a placeholder.",
    run: async (target) => {
      const { machine, host } = target;
      const { variable = "", setBy } = keyOf(target) ?? {};
      if ((host.env[variable] ?? "") !== "") return pass(`${variable} is set in this shell`);
      const launcher = machine.files.find(({ path }) => path === setBy);
      if (launcher !== undefined && (await host.file(launcher.path, launcher.here))?.text === launcher.text)
        return pass(`${variable} is set by ${launcher.path}`);
      const fix = `Start it with its launcher (npm run up writes it), or export ${variable} with any text.`;
      return fail(`${variable} is not set, and no launcher on the machine sets it: the client will not start`, fix);
    },
  },
];

function drift(planned: PlannedFile, disk: FileOnDisk | undefined, applied: string | undefined): string | undefined {
  if (disk === undefined) return "is missing";
  if (disk.mode !== planned.mode) return `has mode ${disk.mode}, planned is ${planned.mode}`;
  if (disk.text === undefined) return "can't be read by this user";
  if (disk.text === planned.text) return undefined;
  return disk.text === applied ? "is as last applied: the stack file was edited since" : "was changed on the machine";
}

/** Texts as they were last applied, by path; empty without a record on the machine. */
async function appliedTexts(target: MachineTarget): Promise<Map<string, string>> {
  const record = recordOf(target);
  const disk = record === undefined ? undefined : await target.host.file(record.path);
  const plan = objectOr(objectOr(jsonIn(disk?.text ?? "")).machine);
  return new Map(objectsIn(plan.files).map((file) => [textOr(file.path), textOr(file.text)]));
}

const keyOf = ({ machine }: MachineTarget) => machine.clients.find(({ surface }) => surface === "responses")?.key;

/** Instance A still answers and is the same process as before the probes: nothing of ours touched it. */
export const instanceAProbes: ProbesOf<"instance-a"> = [
  {
    name: "instance-a",
    about: "instance A answers and is the same process as before",
    fix: ({ port }) =>
      `It is not ours and nothing here starts it: see who listens on ${port} (\`ss -lntp\`), or declare \`instanceA: none\`.`,
    run: async ({ api, host, port, before }) => {
      const ids = objectsIn((await api.json("/v1/models")).data).map((model) => textOr(model.id));
      const serves = `serves ${quotedList(ids, "no model")}`;
      const now = await processStart(host, api, port);
      if (before === undefined)
        return pass(`${serves}; its process belongs to another user, and it does not say when it started`);
      if (now?.mark === before.mark) return pass(`${serves}; same process as before (${now.words})`);
      const fix = "Nothing here restarts it: see its own log, and the kernel's for a process killed for memory.";
      return fail("it is another process than before the probes: it was restarted meanwhile", fix);
    },
  },
];
