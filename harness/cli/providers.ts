import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { command } from "../../commandLine/command";
import type { ProbeResult } from "../providers/chatProbe";
import { checkProfile, resolvedProfile } from "../providers/check";
import { PROBE_TIMEOUT_SEC } from "../providers/probeTimeout";
import { readProfile } from "../providers/profile";
import { checked, checkOutcome, checkResult } from "./checkResult";

/** `serving config check providers FILE [--probe]`. */
export function checkProvidersCommand(): Command {
  return command({
    name: "providers",
    description: "check a providers profile, both as TOML and as the harness's own reader reads it",
    arguments: [new Argument("<file>", "the profile, such as ~/.hx/providers.toml")],
    options: [
      new Option(
        "--probe",
        "run every healthcheck, and send each openai-compatible provider one tiny request",
      ),
      new Option("--probe-timeout <seconds>", "longest time that one probe waits")
        .argParser(seconds)
        .default(PROBE_TIMEOUT_SEC),
    ],
    example: "config check providers ~/.hx/providers.toml --probe",
    run: (options: { readonly probe?: boolean; readonly probeTimeout: number }, file: string) =>
      checked(file, async () => {
        const document = readProfile(file);
        const verdict = checkProfile(document);
        const result = checkResult(verdict.faults, resolvedProfile(verdict));
        if (options.probe !== true) return checkOutcome(file, result);
        const { probeProviders } = await import("../providers/probe");
        const probes = await probeProviders(document, verdict, process.env, options.probeTimeout);
        const { text, failed = false } = checkOutcome(file, result, probes.map(probeLine));
        return {
          result: { ...result, probes },
          text,
          failed: failed || probes.some(({ status }) => status === "fail"),
        };
      }),
  });
}

function probeLine({ name, status, detail, fix }: ProbeResult): string {
  return `${status}: ${name}: ${detail}${fix === "" ? "" : `. ${fix}`}`;
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number of seconds above 0.");
}
