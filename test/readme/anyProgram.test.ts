import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import type { ResourceValidationArgs } from "@pulumi/policy";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { loadStackFile } from "../../components/settings/load";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf } from "./pages";

const PAGE = "docs/guide/any-program.md";

/** Runs the code of a page, with modules and values of the test's own. */
function runBlock(block: string, modules: (name: string) => unknown, values: object = {}): void {
  const { outputText } = transpileModule(block, {
    compilerOptions: { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 },
  });
  runInNewContext(outputText, { exports: {}, require: modules, ...values });
}

it("the page's copy of the settings is a stack file, which its workflow plans", async () => {
  const folder = temporaryFolder("copy-");
  const copy = join(folder, "copy.json");
  const [, block = ""] = blocksOf(PAGE, "ts");
  const { machines: settings } = loadStackFile("docs/examples/no-instance-a.yaml");
  runBlock(
    block,
    () => ({ writeFileSync: (_: string, text: string) => writeFileSync(copy, text) }),
    {
      settings,
    },
  );
  const workflow = parse(blocksOf(PAGE, "yml").join("\n"));
  const steps: { readonly run?: string }[] = workflow.jobs.plan.steps;
  const commands = steps.flatMap(({ run }) => run?.split("npx --no -- serving ")[1] ?? []);
  expect(commands).toEqual(["plan --file copy.json", "pin --check --file copy.json"]);
  expect(await runServing(["plan", "--file", copy])).toMatchObject({ code: 0 });
});

it("the rule of one's own reports an image of another registry, and no other", () => {
  const require = createRequire(__filename);
  const [block = ""] = blocksOf("policies/README.md", "ts");
  const rules: {
    validateResource(args: ResourceValidationArgs, report: (m: string) => void): void;
  }[] = [];
  class PolicyPack {
    constructor(_: string, { policies }: { readonly policies: typeof rules }) {
      rules.push(...policies);
    }
  }
  runBlock(block, (name) =>
    name === "@pulumi/policy" ? { ...require(name), PolicyPack } : require(name),
  );
  const said = (image: string) => {
    const messages: string[] = [];
    const isType = (type: unknown) => type === require("@pulumi/docker").Container;
    const args = { isType, props: { image } };
    for (const rule of rules)
      rule.validateResource(args as unknown as ResourceValidationArgs, (each) =>
        messages.push(each),
      );
    return messages;
  };
  expect(said("registry.example.com/vllm:v1")).toEqual([]);
  expect(said("vllm/vllm-openai:v1")).toEqual(["vllm/vllm-openai:v1 isn't from our registry."]);
});
