// The walls of the house: which room may import which. docs/architecture.md draws the same.
// A room that is not named here may import nothing of ours.
const MAY_USE = {
  "packages/base": [],
  "packages/vllm": ["packages/base"],
  // It reads the memory that a container's argv asks for.
  "packages/machines": ["packages/(base|vllm)"],
  "packages/kv": ["packages/base"],
  "packages/harness": ["packages/base"],
  // Below planned data and settings: both have fields of these forms.
  "components/planned/fields": ["packages/(base|machines)"],
  "components/planned": ["components/planned/fields", "packages/(base|kv|machines)"],
  "components/memory/model-name": ["packages/base"],
  "components/settings": [
    "components/(clients|features|planned|planned/fields|services|services/bridge|services/kind|services/on-demand|services/simple-server)",
    "packages/(base|harness|machines)",
  ],
  "components/host": ["components/planned", "packages/(base|machines)"],
  // Below settings, whose schema has its block.
  "components/services/on-demand": [
    "components/(host|planned|planned/fields)",
    "packages/(base|machines)",
  ],
  "components/supply/releases": [],
  "components/supply": ["components/(planned|supply/releases)", "packages/(base|machines)"],
  // What a feature of servers is; below settings, whose schema has the keys of each.
  "components/features/kind": ["components/planned", "packages/(base|machines)"],
  "components/features/ranks": [
    "components/(features/kind|planned|planned/fields)",
    "packages/(base|machines)",
  ],
  "components/features": ["components"],
  "components/inference-server": [
    "components/(features|features/kind|host|planned|settings)",
    "packages/(base|machines|vllm)",
  ],
  "components/catalogue": [
    "components/(planned|planned/fields|settings)",
    "packages/(base|machines)",
  ],
  "components/memory/together": ["components/planned", "packages/(base|vllm)"],
  "components/memory": [
    "components/(inference-server|memory/model-name|memory/together|planned|settings|supply)",
    "packages/(base|kv|machines|vllm)",
  ],
  // Below settings, whose schema has a block for each service: so one object holds all of a
  // service.
  "components/services/kind": ["components/(host|planned)", "packages/(base|machines)"],
  "components/services/simple-server": [
    "components/(host|planned|planned/fields|services/kind)",
    "packages/(base|machines)",
  ],
  "components/services/bridge": [
    "components/(planned|planned/fields|services/kind|supply)",
    "packages/(base|machines)",
  ],
  "components/services/chat-ui": [
    "components/(planned|planned/fields|services/kind|services/simple-server|supply)",
    "packages/(base|machines)",
  ],
  "components/services": ["components"],
  "components/plan/monitoring": [
    "components/(host|planned|services/bridge|settings)",
    "packages/(base|machines)",
  ],
  // Below settings, whose schema has a block for each client: so one file holds all of a client.
  "components/clients": ["components/(host|planned|planned/fields)", "packages/(base|machines)"],
  "components/plan/harness-files": [
    "components/(host|inference-server|planned|services/simple-server|settings|supply)",
    "packages/(base|harness)",
  ],
  "components/plan": [
    "components/(?!change|evidence|preflight|preflight/fetch|program|program/machine)",
    "packages/(base|machines|vllm)",
  ],
  "components/evidence": [
    "components/(catalogue|host|plan|planned|settings)",
    "packages/(base|machines)",
  ],
  "components/preflight/fetch": [
    "components/(inference-server|memory/model-name|plan|services/on-demand)",
    "packages/(base|machines)",
  ],
  "components/program/machine": [
    "components/(?!change|evidence|preflight|preflight/fetch|program)",
    "packages/(base|machines|vllm)",
  ],
  "components/change": [
    "components/(host|inference-server|plan|planned|planned/fields|program/machine|services|services/simple-server|settings)",
    "packages/(base|machines)",
  ],
  "components/preflight": [
    "components/(?!evidence|program|program/machine)",
    "packages/(base|machines|vllm)",
  ],
  // The Pulumi program: the only room of components that asks the policies.
  "components/program": ["components", "policies", "packages/(base|machines|vllm)"],
  policies: ["components", "packages/(base|machines|vllm)"],
  cli: ["components", "packages", "policies"],
};

/** Rooms inside a room have walls of their own. */
const within = (room) =>
  Object.keys(MAY_USE)
    .filter((other) => other.startsWith(`${room}/`))
    .map((other) => `^${other}/`);

const walls = Object.entries(MAY_USE).map(([room, others]) => ({
  name: `walls-of-${room.replaceAll("/", "-")}`,
  comment: `${room}/ may import ${others.length === 0 ? "nothing of ours" : others.join(", ")}; see docs/architecture.md.`,
  severity: "error",
  from: { path: `^${room}/`, pathNot: within(room) },
  to: {
    path: "^(packages|components|policies|cli|index)\\b",
    pathNot: [room, ...others].map((each) => `^${each}`),
  },
}));

// A room of components shows its door, index.ts, to everybody but components and the tests. What a
// door lacks and somebody outside needs is one more line of it. The plan's schema has a door of its
// own: making it takes longer than all else at a start, and the reference alone asks for it.
const DOORS = {
  name: "through-the-door",
  comment:
    "Take it from the room's door, components/ROOM; what the door lacks is added to its index.ts.",
  severity: "error",
  from: { path: "^(index\\.ts|policies/|cli/|packages/)" },
  to: {
    path: "^components/",
    pathNot: "^components/([\\w/-]+/index|planned/schema/document)\\.ts$",
  },
};

// A feature of servers is left out by its line in the list: nobody else imports its room.
const FEATURES = {
  name: "features-are-listed",
  comment:
    "A feature is asked through components/features/; what all servers have goes to components/planned/.",
  severity: "error",
  from: { path: "^(index\\.ts|components/(?!features/)|policies/|cli/|packages/)" },
  to: { path: "^components/features/ranks/" },
};

// cli/sees looks at a machine; these rooms judge what it saw. Which of each other's files they
// may import:
const JUDGES = {
  "cli/bench": [],
  "cli/doctor": ["cli/rules", "cli/verify/(lastVerify|probe)\\.ts$"],
  "cli/drift": [],
  "cli/init": [],
  "cli/inventory": [],
  "cli/rules": [],
  "cli/status": [],
  "cli/verify": ["cli/rules", "cli/drift/(containers|difference|files)\\.ts$"],
  "cli/wait": ["cli/verify/(probe|report|run/runner)\\.ts$"],
};

const judges = Object.entries(JUDGES).map(([room, others]) => ({
  name: `walls-of-${room.replaceAll("/", "-")}`,
  comment: `${room}/ judges what cli/sees/ sees and takes little from the other judges; see docs/architecture.md.`,
  severity: "error",
  from: { path: `^${room}/` },
  to: {
    path: Object.keys(JUDGES).map((each) => `^${each}/`),
    pathNot: [`${room}/`, ...others].map((each) => `^${each}`),
  },
}));

const SEES = {
  name: "walls-of-cli-sees",
  comment:
    "cli/sees/ judges nothing: of cli/ it may import only programs/; see docs/architecture.md.",
  severity: "error",
  from: { path: "^cli/sees/" },
  to: { path: "^(cli|policies)/", pathNot: "^cli/(sees|programs)/" },
};

const COPIES = {
  name: "walls-of-cli-copies",
  comment:
    "cli/copies/ asks the script on the machine: of cli/ it may import only stack/ and pin/tagRelease.ts; see docs/architecture.md.",
  severity: "error",
  from: { path: "^cli/copies/" },
  to: { path: "^cli/", pathNot: "^cli/(copies/|stack/|pin/tagRelease\\.ts$)" },
};

// Rooms that look at a machine through cli/sees alone. verify asks questions of its
// own.
const LOOKS = {
  name: "judges-look-through-cli-sees",
  comment:
    "cli/sees/ asks servers, reads logs and runs programs for this room; see docs/architecture.md.",
  severity: "error",
  from: { path: "^cli/(bench|doctor|drift|init|inventory|rules|status|wait)/" },
  to: {
    path: "^packages/(base/(http/|commandLine/run)|machines/(docker/docker|listeners|onMachine)\\.ts)",
  },
};

// `serving up` without --verified needs nothing of it but where it begins, loaded when it runs.
const UPDATE = {
  name: "walls-of-cli-update",
  comment: "cli/update/ is what `serving up` runs: no other command imports it.",
  severity: "error",
  from: { path: "^(cli|policies)/", pathNot: "^cli/(update/|commands/update\\.ts$)" },
  to: { path: "^cli/update/" },
};

module.exports = {
  forbidden: [
    ...walls,
    DOORS,
    FEATURES,
    ...judges,
    SEES,
    COPIES,
    LOOKS,
    UPDATE,
    { name: "no-circle-of-files", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-circle-of-folders",
      severity: "error",
      scope: "folder",
      from: {},
      to: { circular: true },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: "/test/",
    enhancedResolveOptions: { exportsFields: ["exports"], extensions: [".ts", ".json"] },
    includeOnly: "^(index\\.ts|packages|components|policies|cli)",
  },
};
