import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { runInNewContext } from "node:vm";
import {
  createProgram,
  flattenDiagnosticMessageText,
  getPreEmitDiagnostics,
  ModuleKind,
  ModuleResolutionKind,
  ScriptTarget,
  transpileModule,
} from "typescript";
import { expect, it } from "vitest";
import { runServing } from "../cli/runServing";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf } from "./pages";

const [block = ""] = blocksOf("README.md", "ts");

it("the README's program compiles, in eight lines", () => {
  const file = join(temporaryFolder("readme-"), "index.ts");
  writeFileSync(file, block);
  const program = createProgram([file], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ScriptTarget.ES2022,
    module: ModuleKind.CommonJS,
    moduleResolution: ModuleResolutionKind.Node10,
    paths: { "local-serving": [resolve("bundle/component.d.ts")] },
    types: [],
  });
  const faults = getPreEmitDiagnostics(program).map(({ messageText }) =>
    flattenDiagnosticMessageText(messageText, "\n"),
  );
  expect(faults).toEqual([]);
  expect(block.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(8);
});

it("the package exports what a program writes, and nothing of ours", () => {
  const program = createProgram([resolve("bundle/component.d.ts")], {
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(resolve("bundle/component.d.ts"));
  const symbol = source && checker.getSymbolAtLocation(source);
  const names = symbol ? checker.getExportsOfModule(symbol).map(({ name }) => name) : [];
  expect(names.sort()).toEqual([
    "ByMachine",
    "Given",
    "LocalServing",
    "LocalServingArgs",
    "LocalServingOutputs",
    "MachineSettings",
    "MemoryFigures",
  ]);
  expect(Object.keys(createRequire(resolve("package.json"))("./bundle/component.cjs"))).toEqual([
    "LocalServing",
  ]);
});

it("the README's program is a plan that nothing refuses", async () => {
  const made: unknown[] = [];
  class LocalServing {
    constructor(_: string, args: { readonly settings: unknown }) {
      made.push(args.settings);
    }
  }
  const { outputText } = transpileModule(block, {
    compilerOptions: { module: ModuleKind.CommonJS, target: ScriptTarget.ES2022 },
  });
  runInNewContext(outputText, { exports: {}, require: () => ({ LocalServing }) });
  const file = join(temporaryFolder("readme-"), "Pulumi.dgx.yaml");
  writeFileSync(file, JSON.stringify({ config: { "local-serving:machines": made[0] } }));
  expect(await runServing(["plan", "--file", file])).toMatchObject({ code: 0 });
});
