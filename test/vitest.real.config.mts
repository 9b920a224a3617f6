import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

/**
 * These make an environment of their own for each version, so they need no program that the others
 * install.
 */
const ENGINE_DATA = "test/real/engineData.test.ts";
const ENGINES = "test/real/vllm/!(clients|ownModels|pathReuse|upVerified|wholeRun).test.ts";

const KV_CLASSES = "test/real/kv/agreement.test.ts";

/** It compiles and tests a copy of the tree. */
const FOURTH_SERVICE = "test/real/fourthService.test.ts";

/** It needs Ollama and no other program. */
const OLLAMA_TOOLS = "test/real/ollamaTools.test.ts";

/** Newer releases of two programs, which its setup installs. */
const NEWEST = "test/real/newest/*.test.ts";

/** They need nothing but sh. */
const HOST_FILE = "test/real/hostFileKills.test.ts";
const DATA_COPIES = "test/real/dataCopyKills.test.ts";

/** It needs nothing but the built program. */
const APP_KILLS = "test/real/appDoubleKill.test.ts";

/** The package beside the lowest and the newest SDK of Pulumi, on the Node.js that each needs. */
const SDK = "test/real/sdk.test.ts";

/** Two versions of Open WebUI, which its setup installs. */
const CHAT_UI_DATA = "test/real/chat-ui-data/*.test.ts";

/** They need root and nothing else: machines in namespaces. */
const MADE_MACHINES = "test/real/devices/*.test.ts";

/** They need root, Docker and llama-swap: models on demand in a network of their own. */
const ON_DEMAND = "test/real/onDemand/*.test.ts";

/** The real huggingface_hub, which it installs, at a made-up hub. */
const HUB = "test/real/hub/*.test.ts";

/** It needs Caddy and nothing else. */
const CADDY = "test/real/behindCaddy.test.ts";

/** It runs the pure tests of the policies over and over, and needs nothing else. */
const MUTATION = "test/real/mutation/mutation.test.ts";

/** It installs a registry of packages, and applies nothing without the engine and docker layers. */
const REGISTRY = "test/real/registry/registry.test.ts";

/**
 * They need the parts of the engine and docker layers; the first installs the programs that it puts
 * into images, `python` an SDK from Python's registry.
 */
const WITH_LAYERS = [
  "test/real/vllm/ownModels.test.ts",
  "test/real/vllm/upVerified.test.ts",
  "test/real/vllm/wholeRun.test.ts",
  "test/real/docker/fullDisk.test.ts",
  "test/real/remote/*.test.ts",
  "test/real/ranks/*.test.ts",
  "test/real/update/*.test.ts",
  "test/real/python/*.test.ts",
  "test/real/on-demand-stack/*.test.ts",
  "test/real/way/*.test.ts",
];

/**
 * The generated files in the real programs. Slow, and the first run installs them: `npm run
 * test:real`.
 */
export default defineConfig({
  root: resolve(__dirname, ".."),
  test: {
    // Programs that are started here want both cores for themselves.
    fileParallelism: false,
    globalSetup: ["test/layers/temporaryDirectory.ts"],
    testTimeout: 180_000,
    hookTimeout: 300_000,
    projects: [
      { extends: true, test: { name: "engine-data", include: [ENGINE_DATA] } },
      { extends: true, test: { name: "engines", include: [ENGINES] } },
      { extends: true, test: { name: "made-machines", include: [MADE_MACHINES] } },
      { extends: true, test: { name: "kv-classes", include: [KV_CLASSES] } },
      {
        extends: true,
        test: { name: "fourth-service", include: [FOURTH_SERVICE], testTimeout: 600_000 },
      },
      { extends: true, test: { name: "ollama-tools", include: [OLLAMA_TOOLS] } },
      {
        extends: true,
        test: { name: "newest", include: [NEWEST], globalSetup: ["test/real/newest/setup.ts"] },
      },
      { extends: true, test: { name: "hub", include: [HUB] } },
      {
        extends: true,
        test: { name: "on-demand", include: [ON_DEMAND], testTimeout: 2_700_000 },
      },
      { extends: true, test: { name: "caddy", include: [CADDY] } },
      { extends: true, test: { name: "host-file", include: [HOST_FILE] } },
      { extends: true, test: { name: "app-kills", include: [APP_KILLS] } },
      { extends: true, test: { name: "sdk", include: [SDK], testTimeout: 600_000 } },
      { extends: true, test: { name: "data-copies", include: [DATA_COPIES] } },
      {
        extends: true,
        test: {
          name: "chat-ui-data",
          include: [CHAT_UI_DATA],
          globalSetup: ["test/real/chat-ui-data/setup.ts"],
          testTimeout: 900_000,
        },
      },
      { extends: true, test: { name: "mutation", include: [MUTATION], testTimeout: 3_600_000 } },
      {
        extends: true,
        test: {
          name: "registry",
          include: [REGISTRY],
          globalSetup: ["test/layers/setup.ts", "test/real/registry/setup.ts"],
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: { name: "with-layers", include: WITH_LAYERS, globalSetup: ["test/layers/setup.ts"] },
      },
      {
        extends: true,
        test: {
          name: "programs",
          include: ["test/real/**/*.test.ts"],
          exclude: [
            APP_KILLS,
            CADDY,
            ENGINE_DATA,
            ENGINES,
            FOURTH_SERVICE,
            HOST_FILE,
            HUB,
            CHAT_UI_DATA,
            DATA_COPIES,
            KV_CLASSES,
            MADE_MACHINES,
            MUTATION,
            NEWEST,
            OLLAMA_TOOLS,
            ON_DEMAND,
            REGISTRY,
            SDK,
            ...WITH_LAYERS,
          ],
          globalSetup: ["test/real/setup.ts"],
        },
      },
    ],
  },
});
