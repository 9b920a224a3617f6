import { strictObject, z } from "zod";
import { key } from "../../schema/key";
import { count, list, share, text, variables, word } from "./values";

export const sessionsSchema = strictObject({
  noise: strictObject(
    variables("SA_NOISE_", {
      min_turns: count(0, 3, "A session with fewer turns is noise.", {
        unit: "turns",
      }),
      min_duration_seconds: key(z.number().min(0).default(60), "A session that took less time is noise.", {
        unit: "seconds",
      }),
      path_patterns: list(
        ["/cct-probe", "/private/var/folders/", "/tmp/"],
        "A session in a folder whose path holds one of these texts is noise. The first one marks the harness's " +
          "own probes.",
      ),
    }),
  )
    .prefault({})
    .describe("Sessions that are left out of every figure."),
})
  .prefault({})
  .describe("Which sessions count.");

export const autoBuildSchema = strictObject({
  ledger_root: word(".cct", "Folder, within a project, in which the harness keeps the ledgers of its runs."),
  active_window_seconds: count(0, 900, "A run whose ledger changed within this time is shown as active.", {
    unit: "seconds",
  }),
})
  .prefault({})
  .describe("Where the ledgers of automatic builds are, and when a build counts as active.");

export const similaritySchema = strictObject(
  variables("SA_SIMILARITY_", {
    threshold: share(0.55, "Sessions less alike than this, from 0 to 1, are not shown as similar."),
    top_k: count(1, 5, "Most similar sessions that are shown.", {
      unit: "sessions",
    }),
  }),
)
  .prefault({})
  .describe("When sessions count as similar.");

export const sourcesSchema = z
  .record(z.string(), text("Folder in which this tool keeps its sessions; `~` is the user's home."))
  .default({ aider: "~", "claude-code": "~/.claude/projects" })
  .describe(
    "Where the sessions of each coding tool are, by the tool's id. The variable of an id is its name in capitals, " +
      "with underscores for dashes, behind `SA_SOURCE_`.",
  )
  .meta({ placeholder: "tool", variable: "SA_SOURCE_<KEY>" });
