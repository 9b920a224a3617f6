// The walls of the house: which room may import which. docs/architecture.md draws the same.
// A room that is not named here may import nothing of ours.
const MAY_USE = {
  // A message says an amount in the unit of its key.
  faults: ["units"],
  http: [],
  units: [],
  commandLine: ["faults"],
  harness: ["commandLine", "faults", "http"],
  vllm: ["faults", "units"],
  // It runs programs, and reads the memory that a container's argv asks for.
  machines: ["commandLine/run.ts", "faults", "units", "vllm"],
  // Below planned data and settings: both have fields of these forms.
  "components/fields": ["faults", "machines"],
  "components/planned": ["components/fields", "machines", "units"],
  "components/model-name": ["units"],
  // The pinned release is supply's data.
  "components/kv": ["components/(planned|supply)", "faults", "units"],
  "components/settings": [
    "components/(bridge|clients|features|fields|on-demand|planned|service|services|simple-server)",
    "faults",
    "harness",
    "machines",
    "units",
  ],
  "components/host": ["components/planned", "faults", "machines", "units"],
  // Below settings, whose schema has its block.
  "components/on-demand": ["components/(fields|host|planned)", "faults", "machines"],
  "components/releases": [],
  "components/supply": ["components/(planned|releases)", "faults", "machines"],
  // What a feature of servers is; below settings, whose schema has the keys of each.
  "components/feature": ["components/planned", "faults", "machines"],
  "components/ranks": ["components/(feature/|fields|planned)", "faults", "machines"],
  "components/features": ["components"],
  "components/inference-server": [
    "components/(feature|features|host|planned|settings)",
    "faults",
    "machines",
    "units",
    "vllm",
  ],
  "components/catalogue": ["components/(fields|planned|settings)", "faults", "machines"],
  "components/together": ["components/planned", "faults", "vllm"],
  "components/memory": [
    "components/(inference-server|kv|model-name|planned|settings|supply|together)",
    "faults",
    "machines",
    "units",
    "vllm",
  ],
  // Below settings, whose schema has a block for each service: so one object holds all of a
  // service.
  "components/service": ["components/(host|planned)", "faults", "machines"],
  "components/simple-server": [
    "components/(fields|host|planned|service)",
    "faults",
    "machines",
    "units",
  ],
  "components/bridge": ["components/(fields|planned|service|supply)", "faults", "machines"],
  "components/chat-ui": [
    "components/(fields|planned|service|simple-server|supply)",
    "faults",
    "machines",
  ],
  "components/services": ["components"],
  "components/monitoring": ["components/(bridge|host|planned|settings)", "faults", "machines"],
  // Below settings, whose schema has a block for each client: so one file holds all of a client.
  "components/clients": ["components/(fields|host|planned)", "faults", "machines"],
  "components/harness-files": [
    "components/(host|inference-server|planned|settings|simple-server|supply)",
    "harness",
  ],
  "components/plan": [
    "components/(?!machine|preflight|program|evidence|fetch|change)",
    "faults",
    "machines",
    "vllm",
  ],
  "components/evidence": [
    "components/(catalogue|host|plan|planned|settings)",
    "faults",
    "machines",
  ],
  "components/fetch": [
    "components/(inference-server|model-name|on-demand|plan)",
    "faults",
    "http",
    "machines",
    "units",
  ],
  "components/machine": [
    "components/(?!preflight|program|evidence|fetch|change)",
    "faults",
    "machines",
    "units",
    "vllm",
  ],
  "components/change": [
    "components/(fields|host|inference-server|machine|plan|planned|services|settings|simple-server)",
    "faults",
    "machines",
    "units",
  ],
  "components/preflight": [
    "components/(?!machine|evidence|program)",
    "faults",
    "http",
    "machines",
    "units",
    "vllm",
  ],
  // The Pulumi program: the only room of components that asks the policies.
  "components/program": ["components", "faults", "http", "machines", "policies", "vllm"],
  policies: ["components", "faults", "machines", "units", "vllm"],
  operate: [
    "commandLine",
    "components",
    "faults",
    "harness",
    "http",
    "machines",
    "policies",
    "units",
    "vllm",
  ],
};

const walls = Object.entries(MAY_USE).map(([room, others]) => ({
  name: `walls-of-${room.replace("/", "-")}`,
  comment: `${room}/ may import ${others.length === 0 ? "nothing of ours" : others.join(", ")}; see docs/architecture.md.`,
  severity: "error",
  from: { path: `^${room}/` },
  to: {
    path: "^(faults|http/|commandLine|harness|units|vllm|machines|components|policies|operate|index)\\b",
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
  from: { path: "^(index\\.ts|policies/|operate/|harness/)" },
  to: { path: "^components/", pathNot: "^components/([^/]+/index|planned/schema/document)\\.ts$" },
};

// A feature of servers is left out by its line in the list: nobody else imports its room.
const FEATURES = {
  name: "features-are-listed",
  comment:
    "A feature is asked through components/features/; what all servers have goes to components/planned/.",
  severity: "error",
  from: { path: "^(index\\.ts|components/(?!(features|ranks)/)|policies/|operate/|harness/)" },
  to: { path: "^components/ranks/" },
};

// operate/sees looks at a machine; these rooms judge what it saw. Which of each other's files they
// may import:
const JUDGES = {
  "operate/bench": [],
  "operate/doctor": ["operate/rules", "operate/verify/(lastVerify|probe)\\.ts$"],
  "operate/drift": [],
  "operate/init": [],
  "operate/inventory": [],
  "operate/rules": [],
  "operate/status": [],
  "operate/verify": ["operate/rules", "operate/drift/(containers|difference|files)\\.ts$"],
  "operate/wait": ["operate/verify/(probe|report|run/runner)\\.ts$"],
};

const judges = Object.entries(JUDGES).map(([room, others]) => ({
  name: `walls-of-${room.replace("/", "-")}`,
  comment: `${room}/ judges what operate/sees/ sees and takes little from the other judges; see docs/architecture.md.`,
  severity: "error",
  from: { path: `^${room}/` },
  to: {
    path: Object.keys(JUDGES).map((each) => `^${each}/`),
    pathNot: [`${room}/`, ...others].map((each) => `^${each}`),
  },
}));

const SEES = {
  name: "walls-of-operate-sees",
  comment:
    "operate/sees/ judges nothing: of operate/ it may import only programs/; see docs/architecture.md.",
  severity: "error",
  from: { path: "^operate/sees/" },
  to: { path: "^(operate|policies)/", pathNot: "^operate/(sees|programs)/" },
};

const COPIES = {
  name: "walls-of-operate-copies",
  comment:
    "operate/copies/ asks the script on the machine: of operate/ it may import only stack/ and pin/tagRelease.ts; see docs/architecture.md.",
  severity: "error",
  from: { path: "^operate/copies/" },
  to: { path: "^operate/", pathNot: "^operate/(copies/|stack/|pin/tagRelease\\.ts$)" },
};

// Rooms that look at a machine through operate/sees alone. verify asks questions of its
// own.
const LOOKS = {
  name: "judges-look-through-operate-sees",
  comment:
    "operate/sees/ asks servers, reads logs and runs programs for this room; see docs/architecture.md.",
  severity: "error",
  from: { path: "^operate/(bench|doctor|drift|init|inventory|rules|status|wait)/" },
  to: { path: "^(http/|commandLine/run|machines/(docker/docker|listeners|onMachine)\\.ts)" },
};

// `serving up` without --verified needs nothing of it but where it begins, loaded when it runs.
const UPDATE = {
  name: "walls-of-operate-update",
  comment: "operate/update/ is what `serving up` runs: no other command imports it.",
  severity: "error",
  from: { path: "^(operate|policies)/", pathNot: "^operate/(update/|commands/update\\.ts$)" },
  to: { path: "^operate/update/" },
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
    includeOnly:
      "^(index\\.ts|faults|http/|commandLine|harness|units|vllm|machines|components|policies|operate)",
  },
};
