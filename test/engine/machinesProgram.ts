import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../layers/temporaryFolder";

/**
 * A folder with ranks-program/: it declares the machines of a stack as our program does, and looks
 * at no machine first.
 */
export function machinesProgram(): string {
  const program = join(temporaryFolder("machines-"), "program");
  mkdirSync(program);
  cpSync(join(__dirname, "fixture/package.json"), join(program, "package.json"));
  writeFileSync(
    join(program, "Pulumi.yaml"),
    'name: local-serving\nmain: program/index.ts\nruntime:\n  name: nodejs\n  options: { typescript: false, nodeargs: "--import tsx" }\n',
  );
  symlinkSync(join(__dirname, "ranks-program"), join(program, "program"));
  return program;
}
