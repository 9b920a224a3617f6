import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../../layers/temporaryFolder";

interface Step {
  readonly id?: string;
  readonly name?: string;
  readonly run: string;
}

/** Prints for each stack file what stands in FILE.plan and FILE.pin, and exits with their first line. */
const NPX = `#!/bin/sh
kind=plan; file=
while [ $# -gt 0 ]; do
  case "$1" in pin) kind=pin ;; --file) file=$2 ;; esac
  shift
done
sed 1d "$file.$kind"
exit "$(head -n 1 "$file.$kind")"
`;

/** Runs the steps as CI does, in a repository whose last commit changes three stack files. */
function posted(answers: Readonly<Record<string, string>>) {
  const folder = temporaryFolder("workflow-");
  const put = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@x", ...words], {
      cwd: folder,
      stdio: "ignore",
    });
  git("init");
  for (const name of ["old", "kept"]) put(`Pulumi.${name}.yaml`, "before");
  git("add", ".");
  git("commit", "-m", "before");
  rmSync(join(folder, "Pulumi.old.yaml"));
  for (const name of ["kept", "new"]) put(`Pulumi.${name}.yaml`, "after");
  git("add", ".");
  git("commit", "-m", "after");
  const programs = join(folder, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "npx"), NPX);
  chmodSync(join(programs, "npx"), 0o755);
  for (const [name, text] of Object.entries(answers)) put(name, `${text}\n`);
  const { steps }: { readonly steps: readonly Step[] } = parse(
    readFileSync("cli/init/planWorkflow.yaml", "utf8"),
  ).jobs.plan;
  const env: Record<string, string> = {
    PATH: `${programs}:${process.env.PATH}`,
    GITHUB_OUTPUT: join(folder, "output"),
    GITHUB_STEP_SUMMARY: join(folder, "summary"),
  };
  const ran = ["Plan", "Images", "Verdict"].map((wanted) => {
    const step = steps.find(({ name }) => name === wanted);
    writeFileSync(env.GITHUB_OUTPUT ?? "", "");
    const { status, stdout } = spawnSync("bash", ["-e", "-c", step?.run ?? "false"], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    const [, left = ""] = /status=(\d+)/.exec(readFileSync(env.GITHUB_OUTPUT ?? "", "utf8")) ?? [];
    env[wanted.toUpperCase()] = left;
    return { status, stdout };
  });
  const comment = readFileSync(join(folder, "comment.md"), "utf8");
  expect(ran.slice(0, 2).map(({ status }) => status)).toEqual([0, 0]);
  return { comment, said: ran[1]?.stdout, verdict: ran[2]?.status };
}

const SAYS = "### What the registries say of the images of Pulumi";

it("posts each review, then what the registries say, and names stack files that are gone", () => {
  const { comment, said, verdict } = posted({
    "Pulumi.kept.yaml.plan": "0\n### kept",
    "Pulumi.new.yaml.plan": "0\nNothing is refused.",
    "Pulumi.kept.yaml.pin": "0\nok    b",
    "Pulumi.new.yaml.pin": "2\nNOT CHECKED b",
  });
  expect(comment.split("\n").filter((line) => /^[#A-Za-z]/.test(line))).toEqual([
    "### kept",
    "### Pulumi.new.yaml is new",
    "Nothing is refused.",
    "### Pulumi.old.yaml is gone: what it applied stays on its machine until somebody runs `serving down` with the old file",
    `${SAYS}.kept.yaml`,
    "ok    b",
    `${SAYS}.new.yaml`,
    "NOT CHECKED b",
  ]);
  expect([said, verdict]).toEqual([
    "::warning::Not every image of Pulumi.new.yaml was checked.\n",
    0,
  ]);
});

it("begins with the decision where an image isn't what the stack file says, and fails", () => {
  const { comment, verdict } = posted({
    "Pulumi.kept.yaml.plan": "0\n### kept",
    "Pulumi.new.yaml.plan": "1",
    "Pulumi.kept.yaml.pin": "1\nFAULT b",
    "Pulumi.new.yaml.pin": "1",
  });
  expect(
    comment
      .split("\n")
      .filter((line) => /^[*#A-Za-z]/.test(line) && !line.startsWith("### Pulumi.")),
  ).toEqual([
    "**Don't approve this yet: an image has a fault, at the end.**",
    "### kept",
    `${SAYS}.kept.yaml`,
    "FAULT b",
  ]);
  expect(comment).not.toContain(`${SAYS}.new.yaml`);
  expect(verdict).toBe(1);
});
