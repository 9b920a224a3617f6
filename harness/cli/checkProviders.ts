import { Command, InvalidArgumentError } from "commander";
import { EXIT } from "../../commandLine/exit";
import { type Format, formatOption } from "../../commandLine/output";
import type { ProbeResult } from "../providers/chatProbe";
import { checkProfile, resolvedProfile } from "../providers/check";
import { PROBE_TIMEOUT_SEC } from "../providers/probeTimeout";
import { readProfile } from "../providers/profile";
import { checkResult, reportCheck, reportUnreadable } from "./checkResult";

/** `serving config check providers FILE [--probe]`. */
export function checkProvidersCommand(): Command {
  return new Command("providers")
    .description("check a providers profile, as TOML and as the harness's own reader takes it")
    .argument("<file>", "the profile, such as ~/.hx/providers.toml")
    .option("--probe", "run every healthcheck, and send each openai-compatible provider one tiny request")
    .option("--probe-timeout <seconds>", "longest time that one probe waits", seconds, PROBE_TIMEOUT_SEC)
    .addOption(formatOption())
    .addHelpText("after", "\nExample:\n  serving config check providers ~/.hx/providers.toml --probe")
    .action((file: string, options: { probe?: boolean; probeTimeout: number; format: Format }) =>
      reportUnreadable(options.format, file, async () => {
        const document = readProfile(file);
        const verdict = checkProfile(document);
        const result = checkResult(verdict.faults, resolvedProfile(verdict));
        if (options.probe !== true) return reportCheck(options.format, file, result);
        const { probeProviders } = await import("../providers/probe");
        const probes = await probeProviders(document, verdict, process.env, options.probeTimeout);
        reportCheck(options.format, file, { ...result, probes } as typeof result, probes.map(probeLine));
        if (probes.some(({ status }) => status === "fail")) process.exitCode = EXIT.faults;
      }),
    );
}

function probeLine({ name, status, detail, fix }: ProbeResult): string {
  return `${status}: ${name}: ${detail}${fix === "" ? "" : `. ${fix}`}`;
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number of seconds above 0.");
}
