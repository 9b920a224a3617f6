import { Failed, WrongUse } from "@local-serving/base/commandLine/exit";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { filesOf } from "@local-serving/machines/files";
import { programWords } from "../../components/services/on-demand";
import { parseStackFile, type StackSettings } from "../../components/settings";
import type { StackFileOptions } from "../stack/stackFile";
import { editStackFile } from "../stackEdit/writeStackFile";
import { pinnedLines, type Written } from "./writePin";

/** How `serving pin` is asked for llama-swap instead of an image. */
const NAMED = /^llama-swap(?::(v\d+))?$/;

/** Whether what is to be pinned is llama-swap. */
export const isProgram = (reference: string): boolean => NAMED.test(reference);

/** Its archive comes over the network, to the machine itself. */
const READ_SECONDS = 600;

type Program = Pick<
  NonNullable<StackSettings["machines"][string]["onDemand"]>["program"],
  "from" | "version"
>;

/** What `serving pin` reads of llama-swap. */
interface ProgramReading {
  readonly machine: string;
  /** llama-swap's own version. */
  readonly release: string;
  /** Address of the archive, or path of the program. */
  readonly name: string;
  readonly sha256: string;
  /** What the release's own list says; `null` where it has no list, or is a path. */
  readonly listed: string | null;
}

/** What is asked of `serving pin`, as far as it is about a program. */
export interface PinProgramOptions extends StackFileOptions {
  readonly write?: true;
  readonly entry?: string;
}

/**
 * Reads the SHA-256 of llama-swap's archive for a machine, there, and compares it with the list of
 * its release. With `write` the stack file gets it, unless the two differ.
 */
export async function pinProgram(file: string, reference: string, options: PinProgramOptions) {
  const { machines } = parseStackFile(file, readTextFile(file));
  const { machine, dockerHost, from, ...own } = programFor(file, machines, options.entry);
  const [, version = own.version] = NAMED.exec(reference) ?? [];
  const reading = await readProgram({ dockerHost }, machine, { from, version });
  const refused = reading.listed !== null && reading.listed !== reading.sha256;
  const written = options.write && !refused ? writeProgram(file, reading) : undefined;
  const result = {
    ...reading,
    verdict: refused ? ("refused" as const) : ("allowed" as const),
    ...(options.write && { written: written !== undefined && written.diff !== "", ...written }),
  };
  const text = [...readingText(reading), "", ...nextText(reading, written, options)].join("\n");
  return { result, text, failed: refused };
}

/** The llama-swap that is meant: of the machine that was named, else the only one. */
function programFor(file: string, machines: StackSettings["machines"], named?: string) {
  const all = Object.entries(machines).flatMap(([machine, { dockerHost, onDemand }]) =>
    onDemand === undefined ? [] : [{ machine, dockerHost, ...onDemand.program }],
  );
  const list = all.map(({ machine }) => `${machine}.onDemand`).join(", ");
  if (list === "")
    throw new WrongUse(
      `No machine of ${file} declares \`onDemand\`, so none runs llama-swap (guide: models on demand).`,
    );
  const fitting =
    named === undefined
      ? all
      : all.filter(({ machine }) => [machine, `${machine}.onDemand`, "onDemand"].includes(named));
  const [only, ...others] = fitting;
  if (only === undefined)
    throw new WrongUse(
      `--entry ${named}: ${file} declares no llama-swap there; there are: ${list}.`,
    );
  if (others.length > 0)
    throw new WrongUse(
      `Several machines of ${file} run llama-swap: say with --entry which one is meant (${list}).`,
    );
  return only;
}

async function readProgram(
  place: { readonly dockerHost: string },
  machine: string,
  program: Program,
): Promise<ProgramReading> {
  const words = programWords({ ...program, path: "/nowhere/llama-swap" }, "read");
  const { code, out, err } = await filesOf(place).ask(words, READ_SECONDS);
  if (code !== 0) throw new Failed(err);
  const said = new Map(
    out.split("\n").map((line) => [line.split(" ", 1)[0] ?? "", line.replace(/^\S+ ?/, "")]),
  );
  const { version } = program;
  return {
    machine,
    release: version,
    name: said.get("name") ?? "",
    sha256: said.get("sha256") ?? "",
    listed: said.get("listed") ?? null,
  };
}

function writeProgram(file: string, { machine, release, sha256 }: ProgramReading): Written {
  const before = readTextFile(file);
  const entry = `${machine}.onDemand`;
  const program = ["machines", machine, "onDemand", "program"];
  const edits = [
    { path: [...program, "version"], value: release },
    { path: [...program, "sha256"], value: sha256 },
  ];
  return { file, entry, ...editStackFile(file, before, edits) };
}

const isPath = ({ name }: ProgramReading) => name.startsWith("/");

function readingText(reading: ProgramReading): string[] {
  const { release, name, sha256, listed, machine } = reading;
  if (isPath(reading)) return [`${name} of ${machine}`, `  SHA-256: ${sha256}`];
  const compared =
    listed === null
      ? "The release has no list of checksums to compare with."
      : listed === sha256
        ? "The release's own list has the same checksum."
        : listed === ""
          ? "The release's own list doesn't name this archive."
          : `The release's own list has ${listed}: this is not the archive that its maker listed.`;
  return [
    `llama-swap ${release} for ${machine}: ${name}`,
    `  SHA-256: ${sha256}`,
    `  ${compared}`,
    "  llama-swap's releases are not signed: whoever can replace the archive can replace the list, too. From now on no other archive is accepted.",
  ];
}

function nextText(
  { release, sha256, listed }: ProgramReading,
  written: Written | undefined,
  options: PinProgramOptions,
): string[] {
  if (written !== undefined) return pinnedLines(written, options);
  if (listed !== null && listed !== sha256)
    return [
      options.write
        ? "Nothing was written: the checksums differ."
        : "Don't use it: the checksums differ.",
    ];
  return [
    "For the stack file (--write puts it there):",
    `        program: { version: ${release}, sha256: ${sha256} }`,
  ];
}
