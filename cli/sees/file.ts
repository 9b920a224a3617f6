import { defined } from "@local-serving/base/faults/defined";
import { computerOf, type Files, filesOf } from "@local-serving/machines/files";
import type { CommandPlace } from "@local-serving/machines/onMachine";
import type { PlannedFile } from "../../components/planned";

/** A file, or another thing at a path. */
export interface FileOnDisk {
  /** Permissions as four octal digits (`0644`). */
  readonly mode: string;
  /** Absent of what is no file, or can't be read. */
  readonly text: string | undefined;
}

/** How a file of the plan is found on the machine. */
export interface FileState {
  readonly role: string;
  readonly path: string;
  readonly state: "same" | "different" | "missing" | "unreadable";
}

/** What a path takes of the disk; without a size where du gives none. */
export interface Taken {
  readonly uid: number;
  readonly size?: string;
}

/** The files of a machine; those that a plan puts on this computer are read here. */
export interface SeenFiles {
  /** What is at a path of the machine, or of this computer. */
  file(path: string, here?: true): Promise<FileOnDisk | undefined>;
  fileState(file: PlannedFile): Promise<FileState>;
  /** Names in a folder, sorted; none where it can't be read. */
  names(folder: string): Promise<readonly string[]>;
  /**
   * Who owns what is at a path, and as `du -h` says it the size of all below it and of these other
   * paths.
   */
  taken(path: string, others?: readonly string[]): Promise<Taken | undefined>;
}

/** Seconds for the size of a folder: a cache of models has few, though large, files. */
const SIZE_SECONDS = 60;

export function seenFilesOn(machine: CommandPlace): SeenFiles {
  const files = filesOf(machine);
  return {
    file: (path, here) => readFileOnDisk(path, filesOf(computerOf(machine, { here }))),
    fileState: async (file) => {
      const { role, path, text } = file;
      const files = filesOf(computerOf(machine, file));
      const found = await files.state(path);
      if (typeof found === "string") return { role, path, state: found };
      if (found.kind !== "file") return { role, path, state: "different" };
      const read = await files.text(path);
      if (read === undefined) return { role, path, state: "unreadable" };
      return { role, path, state: read === text ? "same" : "different" };
    },
    names: files.names,
    taken: async (path, others = []) => {
      const found = await files.state(path);
      if (typeof found === "string") return undefined;
      const { out } = await files.ask(["du", "-sch", "--", path, ...others], SIZE_SECONDS);
      return { uid: found.uid, ...defined({ size: /^(\S+)\ttotal$/m.exec(out)?.[1] }) };
    },
  };
}

async function readFileOnDisk(path: string, files: Files): Promise<FileOnDisk | undefined> {
  const found = await files.state(path);
  if (typeof found === "string") return undefined;
  // A pipe or a device would keep us waiting, or have no end.
  const text = found.kind === "file" ? await files.text(path) : undefined;
  const mode = found.mode.toString(8).padStart(4, "0");
  return { mode, text };
}
