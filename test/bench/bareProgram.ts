import { cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { containerArgs } from "../../components/host/containerArgs";
import type { MachinePlan } from "../../components/plan/types";

const PROJECT = resolve(__dirname, "../..");

/**
 * A program without components, settings or policies that declares the same provider resources as
 * ours.
 */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { local } from "@pulumi/command";
import { Container, Network, Provider, RemoteImage, Volume } from "@pulumi/docker";
const given = JSON.parse(readFileSync("given.json", "utf8"));
const provider = new Provider("docker", { host: given.host });
const network = new Network("network", { name: given.network, driver: "bridge" }, { provider });
for (const file of given.files) new local.Command(file.role, { create: "cat > /dev/null", stdin: file.text });
for (const server of given.servers) {
  const image = new RemoteImage("image", { name: server.image, keepLocally: true }, { provider });
  const cache = new local.Command("cache", { create: 'mkdir -p -- "$MODEL_CACHE"', environment: { MODEL_CACHE: server.cache } });
  const jit = new Volume("jit", { name: server.jit, driver: "local" }, { provider });
  new Container("server", server.args, { provider, dependsOn: [image, network, cache, jit], deleteBeforeReplace: true });
}
`;

/** The quickest way to run TypeScript under the engine: types unchecked, one import hook. */
const SETTINGS = `
name: bare
main: index.ts
runtime: { name: nodejs, options: { typescript: false, nodeargs: "--import tsx" } }
`;

export function writeBareProgram(folder: string, machine: MachinePlan): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "Pulumi.yaml"), SETTINGS);
  cpSync(join(PROJECT, "tsconfig.json"), join(folder, "tsconfig.json"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "bare", main: "index.ts" }));
  writeFileSync(join(folder, "index.ts"), PROGRAM);
  writeFileSync(
    join(folder, "given.json"),
    JSON.stringify({
      host: machine.dockerHost,
      network: machine.network,
      files: machine.files,
      servers: machine.inferenceServers.map((server) => ({
        image: server.container.image,
        cache: server.modelCache,
        jit: server.jitVolume,
        args: containerArgs(server.container),
      })),
    }),
  );
  symlinkSync(realpathSync(join(PROJECT, "node_modules")), join(folder, "node_modules"));
}

/**
 * A policy pack that judges nothing, for what loading a pack costs by itself. It is plain JavaScript,
 * as our bundle is: the engine loads TypeScript with a compiler.
 */
export function writeEmptyPack(folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "PulumiPolicy.yaml"), "runtime: nodejs\n");
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "empty", version: "0.0.1", main: "index.cjs" }),
  );
  writeFileSync(
    join(folder, "index.cjs"),
    'const { PolicyPack } = require("@pulumi/policy");\nnew PolicyPack("empty", { policies: [] });\n',
  );
  symlinkSync(realpathSync(join(PROJECT, "node_modules")), join(folder, "node_modules"));
}
