import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { mustRun, run } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { blocksOf } from "../readme/pages";
import { pack } from "./packed";

const requireHere = createRequire(__filename);

/** A folder of somebody who has neither this repository nor Pulumi, with both packages. */
let folder = "";

// It writes types with TypeScript's compiler, packs and unpacks: seconds that a bundle alone spares.
beforeAll(async () => {
  const made = await run("npm", ["run", "-s", "packages"]);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  folder = temporaryFolder("alone-");
  for (const name of ["harness", "kv"]) {
    const own = join(folder, "node_modules/@local-serving", name);
    mkdirSync(own, { recursive: true });
    const tarball = await pack(resolve("dist/packages", name));
    await mustRun("tar", ["-xzf", tarball, "-C", own, "--strip-components=1"]);
  }
  symlinkSync(join(requireHere.resolve("zod"), "../../zod"), join(folder, "node_modules/zod"));
});

const manifest = (name: string) =>
  JSON.parse(
    readFileSync(join(folder, "node_modules/@local-serving", name, "package.json"), "utf8"),
  );

describe("the package of the harness, installed alone", () => {
  const harness = (...args: string[]) =>
    run("node", [join(folder, "node_modules/@local-serving/harness/dist/harness.cjs"), ...args], {
      cwd: folder,
      env: { HOME: folder },
    });

  it("needs no other package, and is a program of its own", () => {
    const { dependencies, peerDependencies, bin } = manifest("harness");
    expect([dependencies, peerDependencies]).toEqual([undefined, undefined]);
    expect(bin).toEqual({ harness: "dist/harness.cjs" });
  });

  it("names its commands as they are typed there", async () => {
    const { stdout } = await harness("--help");
    expect(stdout).toContain("harness check automation automation.yaml");
    expect(stdout).not.toContain("serving");
    expect(await harness("check", "automation", "none.yaml")).toMatchObject({
      code: 2,
      stdout: "none.yaml: no such file. `harness init automation` writes one\n",
    });
  });

  it("writes a template that it accepts, and the reference of its three files", async () => {
    expect((await harness("init", "automation")).code).toBe(0);
    expect((await harness("check", "automation", "automation.yaml")).code).toBe(0);
    const [, schema = ""] =
      /\$schema=(\S+)/.exec(readFileSync(join(folder, "automation.yaml"), "utf8")) ?? [];
    expect(JSON.parse(readFileSync(join(folder, schema), "utf8"))).toHaveProperty("properties");
    expect((await harness("reference", "--check")).code).toBe(1);
    expect((await harness("reference")).code).toBe(0);
    expect(await harness("reference", "--check")).toMatchObject({
      code: 0,
      stdout: "The reference is up to date.\n",
    });
    expect(readFileSync(join(folder, "docs/reference/automation-config.md"), "utf8")).toContain(
      "Made by `harness reference`",
    );
  });
});

describe("the package of the KV cache, installed alone", () => {
  it("needs zod alone, in the version that is tested here", () => {
    const { devDependencies } = requireHere("../../package.json");
    expect(manifest("kv").dependencies).toEqual({ zod: devDependencies.zod });
  });

  it("prints what its README says, which vLLM's own classes worked out", async () => {
    const [code = ""] = blocksOf("packages/kv/README.md", "ts");
    const file = join(folder, "example.ts");
    writeFileSync(file, code);
    const outfile = join(folder, "example.cjs");
    await build({
      entryPoints: [file],
      outfile,
      platform: "node",
      packages: "external",
      bundle: true,
    });
    const [printed = ""] = blocksOf("packages/kv/README.md", "text");
    expect((await run("node", [outfile], { cwd: folder })).stdout).toBe(printed);
    const vectors: { id: string; expected: Record<string, number> }[] = requireHere(
      "../../packages/kv/test/vectors.json",
    );
    const own = vectors.find(({ id }) => id.startsWith("vllm0.33.0/qwen3-next-80b-a3b/fp8/"));
    expect(printed).toContain(`blocks   ${own?.expected.num_blocks}, `);
    expect(printed).toContain(`and ${own?.expected.bytes_per_block} bytes`);
    expect(printed).toContain(`a prompt ${own?.expected.bytes_per_request_at_max_len} bytes`);
  });

  it("has its types for a strict compiler", async () => {
    const tsc = requireHere.resolve("typescript/bin/tsc");
    const types = join(requireHere.resolve("@types/node/package.json"), "../..");
    const options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"];
    const { code, stdout } = await run(
      "node",
      [tsc, ...options, "--typeRoots", types, "--types", "node", "example.ts"],
      { cwd: folder },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });
});
