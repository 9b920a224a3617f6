import { z } from "zod";
import { block, key } from "../../schema/key";
import { count, list, share, text, variableBlock, word } from "./values";

export const sessionsSchema = block("Which sessions count.", {
  noise: variableBlock("SA_NOISE_", "Sessions that are left out of every figure.", {
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
});

export const autoBuildSchema = block("Where the ledgers of automatic builds are, and when a build counts as active.", {
  ledger_root: word(".cct", "Folder, within a project, in which the harness keeps the ledgers of its runs."),
  active_window_seconds: count(0, 900, "A run whose ledger changed within this time is shown as active.", {
    unit: "seconds",
  }),
});

export const similaritySchema = variableBlock("SA_SIMILARITY_", "When sessions count as similar.", {
  threshold: share(0.55, "Sessions less alike than this, from 0 to 1, are not shown as similar."),
  top_k: count(1, 5, "Most similar sessions that are shown.", {
    unit: "sessions",
  }),
});

export const sourcesSchema = z
  .record(z.string(), text("Folder in which this tool keeps its sessions; `~` is the user's home."))
  .default({ aider: "~", "claude-code": "~/.claude/projects" })
  .describe(
    "Where the sessions of each coding tool are, by the tool's id. The variable of an id is its name in capitals, " +
      "with underscores for dashes, behind `SA_SOURCE_`.",
  )
  .meta({ placeholder: "tool", variable: "SA_SOURCE_<KEY>" });
