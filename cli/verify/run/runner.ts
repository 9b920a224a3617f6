import { isPlaceholder } from "@local-serving/base/faults/secrets";
import type { MachinePlan } from "../../../components/plan";
import { SIMPLE_SERVER } from "../../../components/planned/fields";
import type { Cause } from "../../rules/report";
import type { Host } from "../../sees/host";
import { tunnelTo } from "../../sees/tunnel";
import type { Named } from "../../stack/named";
import { type ProbeResult, skip } from "../probe";
import { CHAT_UI_KEY_VARIABLE } from "../probes/chatUi";
import type { Target } from "../target";
import { targetsOf } from "../targetsOf";
import { KINDS, probesOf, whyAbsent } from "./catalog";
import {
  chosen,
  report,
  type VerifyOptions,
  type VerifyOutcome,
  verifyTarget,
} from "./verifyTarget";

export type { VerifyOptions, VerifyOutcome } from "./verifyTarget";

/** Probes everything on a machine of the plan. Never throws because of a server. */
export async function verify(machine: MachinePlan, options: VerifyOptions): Promise<VerifyOutcome> {
  const host = options.host(machine.dockerHost);
  // The server at `--base-url` has an address of its own.
  const tunnel = options.baseUrl === undefined ? await tunnelTo(machine) : undefined;
  try {
    const { about, except = [] } = options;
    const all = (await targetsOf(machine, host, options, tunnel)).filter(
      ({ kind, name }) => kind !== "inference-server" || !except.includes(name),
    );
    const targets =
      about === undefined ? all : all.filter((target) => about.some((each) => isOf(target, each)));
    const secrets = secretsOf(machine, targets, host);
    const [results, causes]: [ProbeResult[], Cause[]] = [[], []];
    for (const kind of KINDS) {
      const ofKind = targets.filter((target) => target.kind === kind);
      const absent = { ...skip(whyAbsent(kind)), fix: "", target: machine.name, seconds: 0 };
      const isAbsent =
        whyAbsent(kind) !== "" && ofKind.length === 0 && about === undefined && except.length === 0;
      const without = isAbsent ? probesOf(kind).filter(chosen(options)) : [];
      results.push(...without.map(({ name }) => report({ ...absent, name }, options)));
      for (const target of ofKind) {
        const found = await verifyTarget(target, secrets, options);
        results.push(...found.probes);
        causes.push(...found.causes);
      }
    }
    return { probes: results, causes };
  } finally {
    tunnel?.close();
  }
}

/**
 * Whether a target belongs to what was named: a server with its ranks, a service, Ollama with its
 * models, or instance A with what its clients need.
 */
function isOf({ kind, name }: Target, { key, container }: Named): boolean {
  if (key === SIMPLE_SERVER) return kind === "simple-server" || kind === "simple-model";
  return kind === key || kind === `${key}-clients` || name === container?.name;
}

/**
 * Every key that our requests may carry, so that a server's echo of it isn't printed. Placeholders
 * are not secrets.
 */
function secretsOf(machine: MachinePlan, targets: readonly Target[], host: Host): string[] {
  const names = [
    CHAT_UI_KEY_VARIABLE,
    ...machine.secretFiles.map((file) => file.variable),
    ...targets.flatMap(({ keyVariables = [] }) => keyVariables),
  ];
  const read = targets.flatMap(({ keys = [] }) => keys);
  return [...names.map((name) => host.env[name] ?? ""), ...read].filter(
    (value) => !isPlaceholder(value),
  );
}
