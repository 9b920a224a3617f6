import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { WrongUse } from "../commandLine/exit";

/** Where a command finds its stack file. */
export interface StackFileOptions {
  readonly stack: string;
  readonly file?: string;
}

/** Adds `--stack` and `--file` to a command that reads a stack file. */
export function withStackFile(command: Command): Command {
  return command
    .addOption(
      new Option("--stack <name>", "stack whose file Pulumi.<name>.yaml of the project is read").default(
        "dgx",
      ),
    )
    .addOption(new Option("--file <path>", "read this stack file instead"));
}

/** The stack file to read. Throws `WrongUse` where the project has no stack of that name, with those that it has. */
export function stackFile(options: StackFileOptions): string {
  if (options.file !== undefined) return options.file;
  if (!/^[\w.-]+$/.test(options.stack))
    throw new WrongUse(`--stack ${options.stack}: a stack name has letters, digits, dashes and dots.`);
  const project = projectFolder();
  const file = stackPath(options.stack);
  if (existsSync(file)) return file;
  const stacks = readdirSync(project).flatMap((name) => /^Pulumi\.(.+)\.yaml$/.exec(name)?.[1] ?? []);
  throw new WrongUse(
    `No Pulumi.${options.stack}.yaml in ${project}. Stacks there: ${stacks.join(", ") || "none"}. Copy Pulumi.dgx.yaml to start one of your own.`,
  );
}

/** Where the project's stack of that name has its file, whether it is there or not. */
export function stackPath(stack: string): string {
  return join(projectFolder(), `Pulumi.${stack}.yaml`);
}

/** The nearest folder upward that holds our Pulumi.yaml, else the project that this program belongs to. */
export function projectFolder(from = process.cwd()): string {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const project = join(folder, "Pulumi.yaml");
    if (existsSync(project) && /^name: local-serving$/m.test(readFileSync(project, "utf8"))) return folder;
    if (dirname(folder) === folder) return dirname(dirname(realpathSync(__filename)));
  }
}
