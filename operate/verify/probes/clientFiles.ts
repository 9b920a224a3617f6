import type { PlannedFile } from "../../../components/planned/file";
import type { FileOnDisk, Host } from "../host";
import { objectOr, objectsIn, parseJson, textOr } from "../json";
import { fail, type Probe, pass } from "../probe";
import type { MachineTarget } from "../targets";

type MachineProbe = Probe<MachineTarget>;

/** The record of what was applied holds the plan itself; it is what the others are compared with. */
const APPLIED_PLAN = "applied-plan";

const filesOf = ({ machine }: MachineTarget) => machine.files.filter((file) => file.role !== APPLIED_PLAN);
const launchersOf = ({ machine }: MachineTarget) =>
  machine.files.filter((file) => file.role.startsWith("launcher-"));

/** Files on disk are those of the plan, byte by byte. */
const files: MachineProbe = {
  name: "files",
  about: "every planned file lies on the machine as planned (drift)",
  skip: (target) =>
    filesOf(target).length + target.machine.secretFiles.length > 0 ? undefined : "the plan has no file",
  fix: () => "npm run up writes the planned files; what was edited is kept beside them.",
  run: async (target) => {
    const { machine, host } = target;
    const applied = await appliedTexts(target);
    const faults: string[] = [];
    for (const file of filesOf(target)) {
      const fault = drift(file, await host.file(file.path), applied.get(file.path));
      if (fault !== undefined) faults.push(`${file.path} ${fault}`);
    }
    // What stands in a secret's file is nobody's business here.
    for (const { path, mode } of machine.secretFiles) {
      const disk = await host.file(path);
      if (disk === undefined) faults.push(`${path} is missing`);
      else if (disk.mode !== mode) faults.push(`${path} has mode ${disk.mode}, planned is ${mode}`);
    }
    const count = filesOf(target).length + machine.secretFiles.length;
    if (faults.length === 0) return pass(`${count} files`);
    return fail(
      faults.join("; "),
      machine.commands.length > 0
        ? `${files.fix(target)} What needs root is left to you: ${machine.commands.join("; ")}`
        : files.fix(target),
    );
  },
};

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

/** Texts as they were last applied, by path; empty where no record lies on the machine. */
async function appliedTexts({ machine, host }: MachineTarget): Promise<Map<string, string>> {
  const record = machine.files.find((file) => file.role === APPLIED_PLAN);
  const disk = record === undefined ? undefined : await host.file(record.path);
  const plan = objectOr(objectOr(parseJson(disk?.text ?? "")).machine);
  return new Map(objectsIn(plan.files).map((file) => [textOr(file.path), textOr(file.text)]));
}

/** Launchers can be started. */
const launchers: MachineProbe = {
  name: "launchers",
  about: "every launcher is executable",
  skip: (target) => (launchersOf(target).length > 0 ? undefined : "the plan has no launcher"),
  fix: () => "npm run up writes them with their mode.",
  run: async (target) => {
    const faults: string[] = [];
    for (const file of launchersOf(target)) {
      const disk = await target.host.file(file.path);
      if (disk === undefined) faults.push(`${file.path} is missing`);
      else if (!isExecutable(disk.mode)) faults.push(`${file.path} is not executable (mode ${disk.mode})`);
    }
    return faults.length === 0
      ? pass(
          launchersOf(target)
            .map((file) => file.path)
            .join(", "),
        )
      : fail(faults.join("; "), `chmod u+x, or npm run up.`);
  },
};

/** The owner's right to run it is in the second octal digit. */
function isExecutable(mode: string): boolean {
  return (Number.parseInt(mode, 8) & 0o100) !== 0;
}

/** The key variable of a Responses-style client is set, or its launcher sets it: without one it does not start. */
const envKey: MachineProbe = {
  name: "env-key",
  about: "the variable that the Responses-style client takes its key from is set",
  skip: ({ machine }) =>
    machine.files.some((file) => file.role === "codex-config")
      ? undefined
      : "no Responses-style client is declared",
  fix: () => "`clients.keyVariable` names it; the launcher sets a placeholder.",
  run: async (target) => {
    const { machine, host } = target;
    const config = machine.files.find((file) => file.role === "codex-config");
    const variable = /^env_key\s*=\s*"(\w+)"/m.exec(config?.text ?? "")?.[1];
    if (variable === undefined) return fail("its configuration names no env_key", envKey.fix(target));
    if ((host.env[variable] ?? "") !== "") return pass(`${variable} is set in this shell`);
    const launcher = machine.files.find((file) => file.role === "launcher-codex");
    const sets = launcher !== undefined && (await setsVariable(host, launcher.path, variable));
    return sets
      ? pass(`${variable} is set by ${launcher?.path}`)
      : fail(
          `${variable} is not set, and no launcher on the machine sets it: the client will not start`,
          `Start it with its launcher (npm run up writes it), or export ${variable} with any text.`,
        );
  },
};

async function setsVariable(host: Host, path: string, variable: string): Promise<boolean> {
  const disk = await host.file(path);
  return new RegExp(`(^|[\\s;|])(export )?${variable}=`, "m").test(disk?.text ?? "");
}

export const clientFileProbes: readonly MachineProbe[] = [files, launchers, envKey];
