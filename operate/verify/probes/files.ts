import type { PlannedFile } from "../../../components/planned/file";
import type { FileOnDisk } from "../host";
import { jsonIn, objectOr, objectsIn, textOr } from "../json";
import { fail, pass } from "../probe";
import type { MachineTarget, ProbesOf } from "../target";

/** The record of the last `up` holds the plan itself; the other files are compared with it. */
const APPLIED_PLAN = "applied-plan";

const filesOf = ({ machine }: MachineTarget) => machine.files.filter((file) => file.role !== APPLIED_PLAN);
const launchersOf = ({ machine }: MachineTarget) =>
  machine.files.filter((file) => file.role.startsWith("launcher-"));
const recordOf = ({ machine }: Pick<MachineTarget, "machine">) =>
  machine.files.find((file) => file.role === APPLIED_PLAN);

export const fileProbes: ProbesOf<"machine"> = [
  {
    name: "files",
    about: "every planned file is on the machine as planned (drift)",
    skip: (target) =>
      filesOf(target).length + target.machine.secretFiles.length > 0 ? undefined : "the plan has no file",
    fix: ({ machine: { commands } }) =>
      [
        "npm run up writes the planned files; what was edited is kept beside them.",
        ...(commands.length > 0 ? [`Run what needs root yourself: ${commands.join("; ")}`] : []),
      ].join(" "),
    run: async (target) => {
      const { machine, host } = target;
      const applied = await appliedTexts(target);
      const faults: string[] = [];
      for (const file of filesOf(target)) {
        const fault = drift(file, await host.file(file.path), applied.get(file.path));
        if (fault !== undefined) faults.push(`${file.path} ${fault}`);
      }
      // The content of a secret's file is not compared.
      for (const { path, mode } of machine.secretFiles) {
        const disk = await host.file(path);
        if (disk === undefined) faults.push(`${path} is missing`);
        else if (disk.mode !== mode) faults.push(`${path} has mode ${disk.mode}, planned is ${mode}`);
      }
      const count = filesOf(target).length + machine.secretFiles.length;
      return faults.length === 0 ? pass(`${count} files`) : fail(faults.join("; "));
    },
  },
  {
    name: "launchers",
    about: "every launcher is executable",
    skip: (target) => (launchersOf(target).length > 0 ? undefined : "the plan has no launcher"),
    fix: () => "chmod u+x, or npm run up.",
    run: async (target) => {
      const faults: string[] = [];
      const paths = launchersOf(target).map((file) => file.path);
      for (const path of paths) {
        const disk = await target.host.file(path);
        if (disk === undefined) faults.push(`${path} is missing`);
        else if (!isExecutable(disk.mode)) faults.push(`${path} is not executable (mode ${disk.mode})`);
      }
      return faults.length === 0 ? pass(paths.join(", ")) : fail(faults.join("; "));
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
      const key = keyOf(target);
      if (!key) return pass("it reads no variable");
      const { variable, setBy } = key;
      if ((host.env[variable] ?? "") !== "") return pass(`${variable} is set in this shell`);
      const launcher = machine.files.find(({ path }) => path === setBy);
      if (launcher !== undefined && (await host.file(launcher.path))?.text === launcher.text)
        return pass(`${variable} is set by ${launcher.path}`);
      return fail(
        `${variable} is not set, and no launcher on the machine sets it: the client will not start`,
        `Start it with its launcher (npm run up writes it), or export ${variable} with any text.`,
      );
    },
  },
];

function drift(
  planned: PlannedFile,
  disk: FileOnDisk | undefined,
  applied: string | undefined,
): string | undefined {
  if (disk === undefined) return "is missing";
  if (disk.mode !== planned.mode) return `has mode ${disk.mode}, planned is ${planned.mode}`;
  if (disk.text === undefined) return "can't be read by this user";
  if (disk.text === planned.text) return undefined;
  return disk.text === applied
    ? "is as it was applied: the stack file was edited since"
    : "was changed on the machine";
}

/** Texts as they were last applied, by path; empty without a record on the machine. */
async function appliedTexts(target: MachineTarget): Promise<Map<string, string>> {
  const record = recordOf(target);
  const disk = record === undefined ? undefined : await target.host.file(record.path);
  const plan = objectOr(objectOr(jsonIn(disk?.text ?? "")).machine);
  return new Map(objectsIn(plan.files).map((file) => [textOr(file.path), textOr(file.text)]));
}

const keyOf = ({ machine }: MachineTarget) =>
  machine.clients.find(({ surface }) => surface === "responses")?.key;

/** The owner's right to run it is in the second octal digit. */
function isExecutable(mode: string): boolean {
  return (Number.parseInt(mode, 8) & 0o100) !== 0;
}
