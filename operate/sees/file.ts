import type { PlannedFile } from "../../components/planned";
import { computerOf, type Files, filesOf } from "../../machines/files";
import type { CommandPlace } from "../../machines/onMachine";

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

/** The files of a machine; those that a plan puts on this computer are read here. */
export interface SeenFiles {
  /** What is at a path of the machine, or of this computer. */
  file(path: string, here?: true): Promise<FileOnDisk | undefined>;
  fileState(file: PlannedFile): Promise<FileState>;
}

export function seenFilesOn(machine: CommandPlace): SeenFiles {
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
