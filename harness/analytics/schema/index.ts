import { strictObject, z } from "zod";
import { key } from "../../schema/key";
import { calibrationSchema } from "./calibration";
import { embeddingSchema, judgeSchema } from "./models";
import { pricingSchema } from "./pricing";
import { autoBuildSchema, sessionsSchema, similaritySchema, sourcesSchema } from "./sessions";
import { teamSchema } from "./team";
import { list, text, word } from "./values";

/** The session-analytics file. The only home of its keys' defaults; order is the order in which they are shown. */
export const analyticsSchema = strictObject({
  $schema: key(z.string().optional(), "JSON Schema of this file, for editors. It sets nothing."),
  _comment: key(
    z.union([z.string(), z.array(z.string())]).optional(),
    "A remark for people, since JSON has no comments. It sets nothing.",
  ),
  dsn: text(
    "Database in which sessions are kept; empty takes the harness's own. One with a password comes from the " +
      "variable, never from the file.",
    { variable: "SA_DSN", examples: ["sqlite:////var/lib/hx/sessions.db"] },
  ),
  kuzu_path: text("Folder of the knowledge graph; empty takes the harness's own.", {
    variable: "SA_KUZU_PATH",
  }),
  benchmark_runs_root: text("Folder in which the runs of benchmarks are; empty for none.", {
    variable: "SA_BENCHMARK_RUNS_ROOT",
  }),
  redaction_mode: word(
    "code",
    "What is taken out of sessions before they are kept or judged: `code` takes out code and secrets, " +
      "`metadata-only` all text, `none` nothing.",
    { variable: "SA_REDACTION" },
  ),
  embedding: embeddingSchema,
  judge: judgeSchema,
  sources: sourcesSchema,
  sessions: sessionsSchema,
  similarity: similaritySchema,
  team: teamSchema,
  auto_build: autoBuildSchema,
  project_ids: z
    .array(
      z.union([
        z.string(),
        z.looseObject({
          match: key(z.string().min(1), "Text that a session's folder holds."),
          id: key(z.string().min(1), "Project that such a session belongs to."),
        }),
      ]),
    )
    .default([])
    .describe("Rules that tell which project a session belongs to when its folder is in no repository.")
    .meta({ examples: [[{ match: "/home/me/shop", id: "shop" }]] }),
  pricing: pricingSchema,
  routing_evidence_roots: list([], "Folders with the evidence that routing decisions rest on.", {
    variable: "SA_ROUTING_EVIDENCE_ROOTS",
  }),
  routing_calibration: calibrationSchema,
}).describe("What the harness learns from sessions: where they are, who judges them, what they cost.");

/** Variables that the harness reads directly and that belong to no key, without the harness's prefix. */
export const KEYLESS_VARIABLES = {
  SA_DB: "Database file that takes the place of the configured one.",
  SA_TEAM_ALIASES: "Other names under which the team's developers commit.",
  DEVELOPER_ID: "Who the sessions of this machine belong to.",
} as const;
