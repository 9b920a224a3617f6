// The walls of the house: which room may import which. docs/architecture.md draws the same.
// A room that is not named here may import nothing of ours.
const MAY_USE = {
  faults: [],
  http: [],
  commandLine: ["faults"],
  harness: ["commandLine", "faults", "http"],
  "components/planned": ["faults"],
  "components/kv": ["components/planned", "faults"],
  "components/settings": ["faults", "harness", "components/(bridge|clients|planned|service|services|simple-server)"],
  "components/host": ["components/planned"],
  "components/supply": ["components/host", "components/planned"],
  "components/docker": ["components/host", "components/inference-server", "components/planned", "faults"],
  "components/inference-server": ["faults", "components/host", "components/planned", "components/settings"],
  "components/catalogue": ["components/inference-server", "components/planned", "components/settings", "faults"],
  "components/memory": [
    "components/inference-server",
    "components/kv",
    "components/planned",
    "components/settings",
    "components/supply",
    "faults",
  ],
  // Below settings, whose schema has a block for each service: so one object holds all of a service.
  "components/service": ["faults", "components/host", "components/planned"],
  "components/simple-server": ["components/(host|planned|service)"],
  "components/bridge": ["components/(host|planned|service)"],
  "components/chat-ui": ["faults", "components/(planned|service|simple-server)"],
  "components/services": ["components"],
  "components/monitoring": ["faults", "components/(bridge|host|planned|settings)"],
  // Below settings, whose schema has a block for each client: so one file holds all of a client.
  "components/clients": ["components/host", "components/planned", "faults"],
  "components/harness-files": [
    "components/host",
    "components/inference-server",
    "components/planned",
    "components/settings",
    "components/simple-server",
    "components/supply",
    "harness",
  ],
  "components/plan": ["components/(?!machine|preflight|program|evidence|fetch|change)", "faults"],
  "components/evidence": ["components/(catalogue|host|plan|planned|settings)", "faults"],
  "components/fetch": ["components/(docker|evidence|host|inference-server|plan|planned)", "faults", "http"],
  "components/machine": ["components/(?!preflight|program|evidence|fetch|change)", "faults"],
  "components/change": ["components/(host|inference-server|machine|plan|planned|services|simple-server)", "faults"],
  "components/preflight": ["components/(?!machine|evidence|program)", "faults", "http"],
  // The Pulumi program: the only room of components that asks the policies.
  "components/program": ["components", "faults", "http", "policies"],
  policies: ["components", "faults"],
  operate: ["commandLine", "components", "faults", "harness", "http", "policies"],
};

const walls = Object.entries(MAY_USE).map(([room, others]) => ({
  name: `walls-of-${room.replace("/", "-")}`,
  comment: `${room}/ may import ${others.length === 0 ? "nothing of ours" : others.join(", ")}; see docs/architecture.md.`,
  severity: "error",
  from: { path: `^${room}/` },
  to: {
    path: "^(faults|http/|commandLine|harness|components|policies|operate|index)\\b",
    pathNot: [room, ...others].map((each) => `^${each}`),
  },
}));

// operate/sees looks at a machine; these rooms judge what it saw. Which of each other's files they may import:
const JUDGES = {
  "operate/bench": [],
  "operate/doctor": ["operate/verify/(lastVerify|probe|tools)\\.ts$"],
  "operate/drift": [],
  "operate/init": [],
  "operate/inventory": [],
  "operate/status": [],
  "operate/verify": ["operate/drift/(containers|difference|files)\\.ts$"],
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
  comment: "operate/sees/ judges nothing: of operate/ it may import only programs/; see docs/architecture.md.",
  severity: "error",
  from: { path: "^operate/sees/" },
  to: { path: "^(operate|policies)/", pathNot: "^operate/(sees|programs)/" },
};

// Rooms that look at a machine through operate/sees alone. verify asks questions of its own; init and inventory still look.
const LOOKS = {
  name: "judges-look-through-operate-sees",
  comment: "operate/sees/ asks servers, reads logs and runs programs for this room; see docs/architecture.md.",
  severity: "error",
  from: { path: "^operate/(bench|doctor|drift|status|wait)/" },
  to: { path: "^(http/|commandLine/run|components/docker/docker\\.ts|components/host/(listeners|onMachine))" },
};

module.exports = {
  forbidden: [
    ...walls,
    ...judges,
    SEES,
    LOOKS,
    { name: "no-circle-of-files", severity: "error", from: {}, to: { circular: true } },
    { name: "no-circle-of-folders", severity: "error", scope: "folder", from: {}, to: { circular: true } },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    includeOnly: "^(index\\.ts|faults|http/|commandLine|harness|components|policies|operate)",
  },
};
