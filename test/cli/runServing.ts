import { explainFailure } from "@local-serving/base/commandLine/exit";
import { expect, vi } from "vitest";
import * as update from "../../cli/doctor/read/readUpdate";
import { todaysWords } from "../../cli/earlierWords";
import * as machine from "../../cli/sees/host";
import { serving } from "../../cli/servingCommand";
import { keyReference } from "../../cli/stack/keyReference";

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Nothing of who runs the tests; nothing can be kept: a test that wants `verify` to keep its
 * results names a folder.
 */
const NOWHERE = { XDG_STATE_HOME: "/dev/null", LOCAL_SERVING_STACK: "", COLUMNS: "" };

/**
 * For doctor, which `wait` asks too, a machine of which nothing is known beside its containers:
 * this one may have any trouble.
 */
export function hideThisMachine() {
  const seen = machine.hostOf;
  return vi.spyOn(machine, "hostOf").mockImplementation((...where) => ({
    ...seen(...where),
    kernelLog: async () => undefined,
    journal: async () => undefined,
    meminfo: async () => "",
    sockets: async () => [],
    addresses: async () => [],
    fileState: async ({ role, path }) => ({ role, path, state: "same" }),
  }));
}

/** For doctor, a machine that nothing of an update is refused on, unless a test says what is. */
const hideUpdate = () =>
  vi.isMockFunction(update.readUpdate)
    ? []
    : [vi.spyOn(update, "readUpdate").mockResolvedValue({ refused: [], isApplied: false })];

/** Runs the command line in this process, with these variables over the environment. */
export async function runServing(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Run> {
  const words = todaysWords(args);
  const out: string[] = [];
  const err: string[] = [];
  const spies = [
    ...(words[0] === "doctor" || words.includes("--wait") ? [hideThisMachine()] : []),
    ...(args[0] === "doctor" ? hideUpdate() : []),
    vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0),
    vi.spyOn(process.stderr, "write").mockImplementation((text) => err.push(String(text)) > 0),
  ];
  for (const [name, value] of Object.entries({ ...NOWHERE, ...env })) vi.stubEnv(name, value);
  process.exitCode = 0;
  try {
    await (await serving(words)).parseAsync(words, { from: "user" });
  } catch (error) {
    process.exitCode = explainFailure(error, "serving", keyReference);
  }
  const code = Number(process.exitCode);
  process.exitCode = 0;
  for (const spy of spies) spy.mockRestore();
  vi.unstubAllEnvs();
  const run = { code, out: out.join(""), err: err.join("") };
  if (args.some((each) => /^(--format=)?json$/.test(each)) && run.out !== "")
    expect(JSON.parse(run.out), args[0]).toHaveProperty("version", expect.any(Number));
  return run;
}
