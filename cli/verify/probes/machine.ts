import { isLoopback } from "@local-serving/machines/address";
import { containersOf, startedAgain } from "@local-serving/machines/docker/containers";
import { appliedPlanIn } from "../../../components/evidence";
import { containerDifferences } from "../../drift/containers";
import { saidOf } from "../../drift/difference";
import { fileDifference } from "../../drift/files";
import { quote } from "../../sees/answer";
import { inspected } from "../../sees/host";
import { fail, pass, passUnless, skip } from "../probe";
import type { MachineTarget, ProbesOf } from "../target";
import { askOnTheNetwork } from "./asking";

/** The record of the last `up` holds the plan itself; the other files are compared with it. */
const APPLIED_PLAN = "applied-plan";

const filesOf = ({ machine }: MachineTarget) =>
  machine.files.filter((file) => file.role !== APPLIED_PLAN);
const launchersOf = ({ machine }: MachineTarget) =>
  machine.files.filter((file) => file.role.startsWith("launcher-"));
const recordOf = ({ machine }: Pick<MachineTarget, "machine">) =>
  machine.files.find((file) => file.role === APPLIED_PLAN);

/** The planned containers and files are there, as planned. */
export const machineProbes: ProbesOf<"machine"> = [
  {
    name: "containers",
    about: "every planned container runs, as planned",
    fix: ({ machine }) =>
      `Docker does not answer: start its engine, or see \`dockerHost\` of machines.${machine.name}.`,
    run: async ({ machine, host, began }) => {
      if (machine.containers.length === 0) return skip("the plan has no container");
      const faults: string[] = [];
      const seen: string[] = [];
      for (const planned of machine.containers) {
        const { name } = planned;
        const found = await inspected(host, name);
        faults.push(
          ...saidOf(containerDifferences(planned, found)).map((each) => `${name} ${quote(each)}`),
        );
        const [state] = containersOf([found]);
        if (state === undefined) continue;
        const { status, health, restartCount, startedAt } = state;
        if (health === "unhealthy" && status === "running") faults.push(`${name} is unhealthy`);
        if (Date.parse(startedAt) > began)
          faults.push(
            `${name} was started during this run: what answered the earlier probes has ended`,
          );
        seen.push(
          restartCount === 0
            ? name
            : `${name} (${startedAgain(restartCount)}, last at ${startedAt})`,
        );
      }
      const fix =
        "`serving status --against applied` says what fixes it; `serving up` applies a changed stack file; serving doctor says why a container stopped.";
      return passUnless(faults, seen.join(", "), fix);
    },
  },
  {
    name: "files",
    about: "every planned file is on the machine as planned (drift)",
    skip: (target) =>
      filesOf(target).length + target.machine.secretFiles.length > 0
        ? undefined
        : "the plan has no file",
    fix: ({ machine: { commands } }) => {
      const byHand =
        commands.length > 0 ? ` Run what needs root yourself: ${commands.join("; ")}` : "";
      return `\`serving status --against applied\` says what fixes it; \`serving up\` applies a changed stack file.${byHand}`;
    },
    run: async (target) => {
      const { machine, host } = target;
      const applied = await appliedTexts(target);
      const faults: string[] = [];
      for (const file of [
        ...filesOf(target),
        ...machine.secretFiles.map(({ path, mode }) => ({ path, mode })),
      ]) {
        const disk = await host.file(file.path, "here" in file ? file.here : undefined);
        const found = fileDifference(file, disk);
        const old = found?.what === "text" && disk?.text === applied.get(file.path);
        if (found)
          faults.push(
            `${file.path} ${old ? "is as last applied: the stack file was edited since" : found.says}`,
          );
      }
      const count = filesOf(target).length + machine.secretFiles.length;
      return passUnless(faults, `${count} files`);
    },
  },
  {
    name: "network-closed",
    about: "what is published on loopback answers on no address of the network, whatever the route",
    fix: () =>
      "It was started with another `listen` than planned (`serving up`), or something forwards the port.",
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
        if (open.length > 0)
          faults.push(`${name} answers on ${open.map((at) => `${at}:${port}`).join(", ")}`);
      }
      return passUnless(
        faults,
        `${closed.map(({ name }) => name).join(", ")} on ${addresses.join(", ")}`,
      );
    },
  },
  {
    name: "launchers",
    about: "every launcher is executable",
    skip: (target) => (launchersOf(target).length > 0 ? undefined : "the plan has no launcher"),
    fix: () => "Run `serving up`, or `chmod u+x` the launcher.",
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
      if (
        launcher !== undefined &&
        (await host.file(launcher.path, launcher.here))?.text === launcher.text
      )
        return pass(`${variable} is set by ${launcher.path}`);
      const fix = `Start it with its launcher (\`serving up\` writes it), or export ${variable} with any text.`;
      return fail(
        `${variable} is not set, and no launcher on the machine sets it: the client will not start`,
        fix,
      );
    },
  },
];

/** Texts as they were last applied, by path; empty without a record on the machine. */
async function appliedTexts(target: MachineTarget): Promise<Map<string, string>> {
  const { path = "" } = recordOf(target) ?? {};
  const record = await appliedPlanIn((await target.host.file(path))?.text ?? "", path);
  return new Map("plan" in record ? record.plan.files.map(({ path, text }) => [path, text]) : []);
}

const keyOf = ({ machine }: MachineTarget) =>
  machine.clients.find(({ surface }) => surface === "responses")?.key;
