import { readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { mustRun } from "../layers/run";
import { temporaryFolder } from "../layers/temporaryFolder";
import { packed } from "../package/packed";
import { fromNpm } from "./programs";

/** The lowest release of the SDK that the package takes, which is the newest that Node 20 runs. */
const LOWEST = "3.248.0";

/** Declares a machine without an engine, and prints what was declared. */
const PROGRAM = `
const pulumi = require("@pulumi/pulumi");
const declared = [];
const newResource = ({ type, name, inputs }) => {
  declared.push(type + " " + name);
  return { id: name, state: inputs };
};
pulumi.runtime.setMocks({ newResource, call: ({ inputs }) => inputs }, "program", "test", true);
const { LocalServing } = require("local-serving");
const settings = { dgx: { totalGiB: 121.63, instanceA: "none" } };
const { endpoints } = new LocalServing("serving", { settings });
endpoints.apply((value) => console.log(JSON.stringify({ endpoints: value, declared })));
`;

let tarball = "";

beforeAll(async () => {
  tarball = await packed();
});

/** The version of the SDK that npm installs beside the package, and what the program declares. */
async function installedBy(node: string) {
  const folder = temporaryFolder("sdk-");
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const at = { cwd: folder, env: { PATH } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  writeFileSync(join(folder, "index.js"), PROGRAM);
  await mustRun("npm", ["install", "--no-audit", "--no-fund", tarball], at);
  const manifest = join(folder, "node_modules/@pulumi/pulumi/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  const said = await mustRun(node, ["index.js"], at);
  return { version, said: JSON.parse(said.split("\n").at(-1) ?? "") };
}

const DECLARED = {
  endpoints: { dgx: {} },
  declared: expect.arrayContaining([
    "local-serving:index:LocalServing serving",
    "local-serving:index:Machine dgx",
    "local-serving:index:HostFile dgx-applied-plan",
  ]),
};

/** A release of Node.js, from npm. */
async function nodeOf(version: string): Promise<string> {
  const name = `node-linux-${process.arch}`;
  const node = await fromNpm(name, version, [name, "bin/node"]);
  if ("missing" in node) throw new Error(node.missing);
  return node.path;
}

const newest = () => mustRun("npm", ["view", "@pulumi/pulumi", "version"]);

it("installs beside the lowest SDK on the lowest Node, and declares a machine", async () => {
  const found = await installedBy(await nodeOf("20.19.0"));
  expect(found).toEqual({ version: LOWEST, said: DECLARED });
});

it("installs beside the newest SDK on Node 22, and declares the same", async () => {
  const found = await installedBy(await nodeOf("22.23.2"));
  expect(found).toEqual({ version: await newest(), said: DECLARED });
});
