import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { CLIENTS } from "../../components/clients/registry";
import { type PinnedImage, pinnedImage } from "../docker/image";
import { freePort } from "../layers/freePort";
import { mustRun } from "../layers/run";
import { stackConfig } from "./stackConfig";
import type { StackConfig } from "./stackFile";
import { Workspace } from "./workspace";

/**
 * Where the folders are that an earlier release left behind: its stack file, its state and the plan
 * it applied.
 */
export const RECORDED = join(__dirname, "../fixtures/upgrade");

/** Variables that the recorded stacks name. */
export const VARIABLES = {
  BRIDGE_KEY: "s3cret-NoOutputMayHoldThis",
  CHAT_EMAIL: "me@example.org",
  CHAT_PASSWORD: "s3cret-NorThisOne",
};

/** Stands in a recording for the folder that held the home of its operator. */
const ROOT = "@ROOT@";

const APPLIED = ".local/share/local-serving/dgx/applied-plan.json";
const FILES = ["stack.json", "state.json.gz", "applied-plan.json"] as const;

const read = (file: string): string => {
  const bytes = readFileSync(file);
  return (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
};

/**
 * A state without what tells of the machine that it was recorded on: where the program's lines
 * were, Docker's folder.
 */
function withoutThisMachine(state: string, dockerFolder: string): string {
  const placeOfCode = (key: string) => key === "sourcePosition" || key === "stackTrace";
  const kept: unknown = JSON.parse(state, (key, value: unknown) =>
    placeOfCode(key) ? undefined : value,
  );
  return JSON.stringify(kept).replaceAll(dockerFolder, "/var/lib/docker");
}

/** What one release left behind, with the paths of the workspace that reads it. */
export interface Recording {
  readonly config: StackConfig;
  readonly state: string;
  readonly appliedPlan: string;
}

export function recording(release: string, root: string): Recording {
  const [config = "", state = "", appliedPlan = ""] = FILES.map((file) =>
    read(join(RECORDED, release, file)).replaceAll(ROOT, root),
  );
  return { config: JSON.parse(config) as StackConfig, state, appliedPlan };
}

/**
 * A stack with every service, every client and the harness's files, so that each kind of resource
 * is in its state.
 */
async function everything(): Promise<StackConfig> {
  const waits = { programs: { litellm: WAIT, bash: WAIT } };
  const port = {
    a: await freePort(),
    b: await freePort(),
    bridge: await freePort(),
    chatUi: await freePort(),
  };
  const parts = { image: await pinnedImage(), portA: port.a, portB: port.b, unique: "upgrade" };
  const images: Record<"bridge" | "chatUi", PinnedImage> = {
    bridge: await pinnedImage({
      ...waits,
      entrypoint: ["litellm"],
      repository: "berriai/litellm",
      tag: "v1.103.0",
    }),
    chatUi: await pinnedImage({
      ...waits,
      entrypoint: ["bash"],
      repository: "open-webui/open-webui",
      tag: "v0.11.3",
    }),
  };
  return stackConfig(
    parts,
    { chatTemplate: "tolerant", maxModelLen: 65536 },
    {
      bridge: { image: images.bridge.reference, port: port.bridge, keyVariable: "BRIDGE_KEY" },
      chatUi: {
        image: images.chatUi.reference,
        port: port.chatUi,
        administrator: { emailVariable: "CHAT_EMAIL", passwordVariable: "CHAT_PASSWORD" },
      },
      clients: Object.fromEntries(CLIENTS.map(({ key }) => [key, { server: "b" }])),
      simpleServer: { mode: "host", models: ["qwen3:8b"] },
      harness: {},
      elevate: "none",
    },
  );
}

const WAIT = "#!/bin/sh\ntrap 'exit 0' TERM\nwhile :; do sleep 1; done\n";

/**
 * Applies that stack with the code of today and keeps what it leaves behind, for the releases that
 * come.
 */
export async function record(release: string): Promise<void> {
  const config = await everything();
  const workspace = await Workspace.open({ config, env: VARIABLES });
  try {
    const up = await workspace.up();
    if (up.code !== 0) throw new Error(up.stdout + up.stderr);
    const applied = readFileSync(join(workspace.home, APPLIED), "utf8");
    const dockerFolder = await mustRun("docker", ["info", "--format", "{{.DockerRootDir}}"]);
    const state = withoutThisMachine(await workspace.state(), dockerFolder);
    const left = [`${JSON.stringify(config, null, 2)}\n`, state, applied];
    mkdirSync(join(RECORDED, release), { recursive: true });
    for (const [index, file] of FILES.entries()) {
      const text = (left[index] ?? "").replaceAll(workspace.root, ROOT);
      writeFileSync(join(RECORDED, release, file), file.endsWith(".gz") ? gzipSync(text) : text);
    }
  } finally {
    await workspace.close();
  }
}
