import { z } from "zod";
import { count, list, share, text } from "./values";

/** Which sessions are noise. */
export const sessionsSchema = z
  .strictObject({
    noise: z
      .strictObject({
        min_turns: count(0, 3)
          .describe("A session with fewer turns is noise.")
          .meta({ variable: "SA_NOISE_MIN_TURNS", unit: "turns" }),
        min_duration_seconds: z
          .number()
          .min(0)
          .default(60)
          .describe("A session that took less time is noise.")
          .meta({ variable: "SA_NOISE_MIN_DURATION_SECONDS", unit: "seconds" }),
        path_patterns: list(["/cct-probe", "/private/var/folders/", "/tmp/"])
          .describe(
            "A session in a folder whose path holds one of these texts is noise. The first one marks the harness's " +
              "own probes.",
          )
          .meta({ variable: "SA_NOISE_PATH_PATTERNS" }),
      })
      .prefault({})
      .describe("Sessions that are left out of every figure."),
  })
  .prefault({})
  .describe("Which sessions count.");

/** The harness's own build runs. */
export const autoBuildSchema = z
  .strictObject({
    ledger_root: z
      .string()
      .default(".cct")
      .describe("Folder, within a project, in which the harness keeps the ledgers of its runs."),
    active_window_seconds: count(0, 900)
      .describe("A run whose ledger changed within this time is shown as active.")
      .meta({ unit: "seconds" }),
  })
  .prefault({})
  .describe("Where the ledgers of automatic builds are, and when a build counts as active.");

/** When two sessions are alike. */
export const similaritySchema = z
  .strictObject({
    threshold: share(0.55)
      .describe("Sessions less alike than this, from 0 to 1, are not shown as similar.")
      .meta({ variable: "SA_SIMILARITY_THRESHOLD" }),
    top_k: count(1, 5)
      .describe("Most similar sessions that are shown.")
      .meta({ variable: "SA_SIMILARITY_TOP_K", unit: "sessions" }),
  })
  .prefault({})
  .describe("When sessions count as similar.");

/** Where coding tools keep their sessions. */
export const sourcesSchema = z
  .record(
    z.string(),
    text().describe("Folder in which this tool keeps its sessions; `~` is the user's home."),
  )
  .default({ aider: "~", "claude-code": "~/.claude/projects" })
  .describe(
    "Where the sessions of each coding tool are, by the tool's id. The variable of an id is its name in capitals, " +
      "with underscores for dashes, behind `SA_SOURCE_`.",
  )
  .meta({ placeholder: "tool", variable: "SA_SOURCE_<KEY>" });
