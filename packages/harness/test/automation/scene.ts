import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../../../../test/layers/temporaryFolder";
import { type AutomationFiles, checkAutomation } from "../../automation/checkAutomation";

type AutomationCheck = ReturnType<typeof checkAutomation>;

/** Any JSON map; configs under test are wrong on purpose. */
export type Json = Record<string, unknown>;

/** A config that uses every block and has no fault. */
export function wholeConfig() {
  return {
    schema_version: 2,
    profile: "unattended",
    branch: { name: "feature/x" },
    phases: { source: "tasks.md" },
    build: { max_turns: 80 },
    verification: {
      conformance: { evaluator: "judge", timeout_sec: 600 } as Json,
      coverage: {
        command: "npm run coverage",
        artifact: "coverage/coverage-summary.json",
        parser: "istanbul",
        baseline: "none",
        min_line_pct: 80,
      } as Json,
      app: {
        command: "npm start",
        stop_timeout_sec: 10,
        ready: { url: "http://127.0.0.1:3000/healthz", timeout_sec: 60 } as Json,
      } as Json,
      visual: {
        command: "npm ci && npm run ui",
        artifact: "out/verdict.json",
        url: "http://127.0.0.1:3000/",
        timeout_sec: 900,
      } as Json,
    } as Json,
    review: {} as Json,
    caps: { wall_clock_sec: 14400, cost_usd: 25 } as Json,
    notify: { command: "" },
    merge: { enabled: false },
    routing: { enabled: true, allowed_profiles: ["local"], default_task_route: "first" } as Json,
    unattended: {
      on_review_breaker: "terminate",
      budget: { estimate_usd_per_invocation: 2 } as Json,
    } as Json,
  };
}

/**
 * Sets or, with `undefined`, removes the value at a dotted path; the maps on the way are made where
 * they lack.
 */
export function change(config: object, path: string, value: unknown): object {
  const steps = path.split(".");
  const last = steps.pop() ?? "";
  let map = config as Json;
  for (const step of steps) {
    map[step] ??= {};
    map = map[step] as Json;
  }
  if (value === undefined) delete map[last];
  else map[last] = value;
  return config;
}

export function directoryWith(files: Readonly<Record<string, unknown>>): string {
  const directory = temporaryFolder("automation-");
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(
      join(directory, name),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  }
  return directory;
}

export function checkConfig(
  config: unknown,
  beside: Partial<Record<"mapping" | "registry" | "providers", unknown>> & { presets?: Json } = {},
  environment: Record<string, string> = {},
): AutomationCheck {
  const { presets = {}, ...others } = beside;
  const nameOf: Record<string, string> = {
    mapping: "mapping.json",
    registry: "registry.json",
    providers: "providers.toml",
  };
  const given = Object.entries(others).map(([key, value]) => [nameOf[key] ?? key, value] as const);
  const directory = directoryWith({
    "automation.json": config,
    ...Object.fromEntries(given),
    ...Object.fromEntries(
      Object.entries(presets).map(([name, value]) => [`presets/${name}`, value]),
    ),
  });
  const files: AutomationFiles = {
    config: join(directory, "automation.json"),
    ...(beside.presets === undefined ? {} : { presets: join(directory, "presets") }),
    ...Object.fromEntries(
      Object.keys(others).map((key) => [key, join(directory, nameOf[key] ?? key)]),
    ),
  };
  return checkAutomation(files, environment);
}

/** The faults of a check as `path code`, warnings marked. */
export function codes(check: AutomationCheck): string[] {
  return check.issues.map(
    ({ path, code, severity }) => `${severity === "warning" ? "warning " : ""}${path} ${code}`,
  );
}

export function checkYaml(text: string): AutomationCheck {
  return checkAutomation(
    { config: join(directoryWith({ "automation.yaml": text }), "automation.yaml") },
    {},
  );
}
