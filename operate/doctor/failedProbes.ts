import { shellWord } from "../../components/host/shellWords";
import type { Diagnosis, Finding } from "./diagnosis";
import type { Evidence } from "./evidence";

const ABOUT: Pick<Diagnosis, "id" | "source" | "caughtBy"> = {
  id: "probe-failed",
  source: "serving verify",
  caughtBy: "`serving verify`",
};

/** Probes that failed for reasons which no diagnosis names: what they say themselves, and what mends them by their word. */
export function failedProbes({ probes }: Evidence): { about: typeof ABOUT; finding: Finding } | undefined {
  const failed = (probes ?? []).filter(({ status }) => status === "fail");
  const [first, ...others] = failed;
  if (first === undefined) return undefined;
  const fixes = [...new Set(failed.map(({ fix }) => fix).filter((fix) => fix !== ""))];
  return {
    about: ABOUT,
    finding: {
      cause:
        others.length === 0
          ? `\`serving verify\` fails in its probe ${first.name}.`
          : `\`serving verify\` fails in ${failed.length} of its probes.`,
      evidence: failed.map(({ name, detail }) => `probe ${name}: ${detail}`).join(" | "),
      ...(fixes.length === 0 ? {} : { advice: fixes.join("\n") }),
      command: `serving verify --only ${shellWord(failed.map(({ name }) => name).join(","))}`,
    },
  };
}
