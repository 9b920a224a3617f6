import { local } from "@pulumi/command";
import {
  all,
  ComponentResource,
  type ComponentResourceOptions,
  log,
  mergeOptions,
  type Output,
  secret,
} from "@pulumi/pulumi";
import { type PlannedFile, type SecretFile, TYPE } from "../planned";
import {
  HOST_FILE_SCRIPT,
  hostFileCommand,
  hostFileRequest,
  SCRIPT_VARIABLE,
} from "./hostFileRequest";

export interface HostFileArgs {
  /** What is written: role, path, mode and text. */
  readonly file: Pick<PlannedFile, "role" | "path" | "mode" | "text" | "here">;
  /** Content that must be seen nowhere; it takes the place of `file.text`. */
  readonly secretText?: Output<string>;
  /** `user:group` of the file. Default: whoever writes it. */
  readonly owner?: string;
  /** Words before the command that writes, such as `sudo -n`. Default: none. */
  readonly elevate?: readonly string[];
}

/** Inputs of earlier releases, which nobody reads: that they are gone is no change to show. */
const UNREAD = { ignoreChanges: ["sha256", "secret"] };

/**
 * One file on the machine: the only writer there. What it replaces is put back when it is
 * destroyed, with content, mode and owner; folders that it made go when they are empty.
 *
 * Everything travels in stdin, so a preview shows a changed text line by line. There are no
 * triggers: a replacement creates first and then deletes, and that would undo what was just
 * written.
 */
export class HostFile extends ComponentResource {
  /** Known once the file is written; not where that failed and the update went on. */
  readonly written: Output<string>;

  constructor(name: string, args: HostFileArgs, opts?: ComponentResourceOptions) {
    const { file, owner, elevate = [] } = args;
    const { role, path, mode, here } = file;
    super(TYPE.hostFile, name, { role, path, mode }, mergeOptions(opts, UNREAD));
    const content = args.secretText === undefined ? file.text : secret(args.secretText);
    const command = new local.Command(
      name,
      {
        create: hostFileCommand("write", elevate),
        delete: hostFileCommand("restore", elevate),
        // The holder is the resource's own name in the state: one that was renamed finds the new
        // one holding the file.
        stdin: all([this.urn, content]).apply(([holder, text]) =>
          hostFileRequest({
            path,
            mode,
            holder,
            content: text,
            ...(owner === undefined ? {} : { owner }),
          }),
        ),
        environment: {
          [SCRIPT_VARIABLE]: HOST_FILE_SCRIPT,
          HOST_FILE_PATH: path,
          ...(here && { MACHINE: "here" }),
        },
        addPreviousOutputInEnv: false,
      },
      {
        parent: this,
        // Another path, or one on another computer, is another file: the old one is restored before
        // the new one is written.
        replaceOnChanges: ["environment.HOST_FILE_PATH", "environment.MACHINE"],
        deleteBeforeReplace: true,
        // Whatever changes in this one, a preview shows where it applies.
        ...(role === "applied-plan" ? { hideDiffs: ["stdin"] } : {}),
      },
    );
    this.written = command.id;
    this.registerOutputs();
  }
}

/**
 * The arguments of a host file that holds the value of a variable of the operator's shell. The
 * preflight has refused an update without the variable; a preview without it says so, and shows the
 * content as changed.
 */
export function secretFileArgs(
  file: Pick<SecretFile, "role" | "path" | "mode" | "variable">,
): HostFileArgs & { readonly secretText: Output<string> } {
  const { role, path, mode } = file;
  const value = process.env[file.variable] ?? "";
  if (value === "")
    log.warn(`${file.variable} is not set: ${path} is shown as changed, and \`up\` would refuse.`);
  const secretText: Output<string> = secret(value);
  return { file: { role, path, mode, text: "" }, secretText };
}
