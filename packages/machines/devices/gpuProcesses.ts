import { MIB_PER_GIB } from "@local-serving/base/units/memory";
import type { Files } from "../files";

/** A process that holds memory of a GPU. */
export interface GpuProcess {
  readonly pid: number;
  /** Its program, without its folder. */
  readonly name: string;
  readonly gib: number;
  /** Id of the container that it runs in. */
  readonly container?: string;
  /** Its systemd unit. */
  readonly unit?: string;
}

/** The processes that hold memory of a GPU, by nvidia-smi; none where that doesn't answer. */
export async function readGpuProcesses(
  files: Pick<Files, "text" | "ask">,
  proc = "/proc",
): Promise<GpuProcess[]> {
  const query = "--query-compute-apps=pid,process_name,used_memory";
  const { code, out } = await files.ask(["nvidia-smi", query, "--format=csv,noheader,nounits"]);
  if (code !== 0) return [];
  return Promise.all(
    gpuProcessesIn(out).map(async (process) => ({
      ...process,
      ...ownerIn((await files.text(`${proc}/${process.pid}/cgroup`)) ?? ""),
    })),
  );
}

/** The processes of such an answer; a process without a figure is left out. */
export const gpuProcessesIn = (text: string): GpuProcess[] =>
  text.split("\n").flatMap((line) => {
    const [, pid, path = "", mib] = /^\s*(\d+),\s*(.+),\s*(\d+)\s*$/.exec(line) ?? [];
    // A program's words may hold a secret: its name alone is kept.
    const name = path.split(" ")[0]?.split("/").at(-1) || "a process";
    return mib === undefined || Number(mib) === 0
      ? []
      : [{ pid: Number(pid), name, gib: Number(mib) / MIB_PER_GIB }];
  });

/** The container or the unit of a process, by its control group. */
export function ownerIn(cgroup: string): Pick<GpuProcess, "container" | "unit"> {
  const container = /docker[-/]([0-9a-f]{64})/.exec(cgroup)?.[1];
  if (container !== undefined) return { container };
  const unit = /\/([^/\s]+\.service)$/m.exec(cgroup)?.[1];
  return unit === undefined ? {} : { unit };
}
