import { z } from "zod";
import { count, share, text } from "./values";

/** How the routing of tasks to cheaper models is calibrated against what past sessions showed. */
export const calibrationSchema = z
  .strictObject({
    distance_metric: z
      .string()
      .default("l2_v1")
      .describe("Measure of how far two tasks are apart, with its version.")
      .meta({ variable: "SA_CALIBRATION_DISTANCE_METRIC" }),
    k: count(1, 5)
      .describe("Nearest past tasks that vote on a new one.")
      .meta({ variable: "SA_CALIBRATION_K" }),
    k_min: count(1, 3)
      .describe(
        "Fewest neighbours with which a vote counts; with fewer the task is not moved to a cheaper model.",
      )
      .meta({ variable: "SA_CALIBRATION_K_MIN" }),
    max_false_downgrade_rate: share(0.05)
      .describe("Largest share of tasks that may be moved to a model which then fails them, from 0 to 1.")
      .meta({ variable: "SA_CALIBRATION_MAX_FALSE_DOWNGRADE_RATE" }),
    min_coverage: share(0.8)
      .describe("Smallest share of tasks for which the calibration must reach a decision, from 0 to 1.")
      .meta({ variable: "SA_CALIBRATION_MIN_COVERAGE" }),
    min_sets: count(1, 3)
      .describe("Fewest separate sets of tasks that the evidence must come from.")
      .meta({ variable: "SA_CALIBRATION_MIN_SETS" }),
    min_sufficiency: share(0.95)
      .describe(
        "Smallest share of trials in which a model must have sufficed for a task to count as within its reach.",
      )
      .meta({ variable: "SA_CALIBRATION_MIN_SUFFICIENCY" }),
    min_tasks: count(1, 10)
      .describe("Fewest tasks that the evidence must hold.")
      .meta({ variable: "SA_CALIBRATION_MIN_TASKS" }),
    min_trials: count(1, 3)
      .describe("Fewest trials of each task.")
      .meta({ variable: "SA_CALIBRATION_MIN_TRIALS" }),
    policy_source: text()
      .describe("File that holds the user's routing policy; empty for none.")
      .meta({ variable: "SA_CALIBRATION_POLICY_SOURCE" }),
    repo_policy_source: text()
      .describe(
        "File that holds the repository's routing policy, which can only narrow the user's; empty for none.",
      )
      .meta({ variable: "SA_CALIBRATION_REPO_POLICY_SOURCE" }),
    root: text()
      .describe("Folder in which calibrations are kept; empty takes the harness's own.")
      .meta({ variable: "SA_CALIBRATION_ROOT" }),
    tier_floor: z
      .string()
      .default("tier1")
      .describe("Cheapest tier that the routing may choose.")
      .meta({ variable: "SA_CALIBRATION_TIER_FLOOR" }),
    vote_epsilon: z
      .number()
      .min(0)
      .default(1e-6)
      .describe(
        "Added to every distance before votes are weighed by it, so that an equal task does not divide by zero.",
      )
      .meta({ variable: "SA_CALIBRATION_VOTE_EPSILON" }),
  })
  .prefault({})
  .describe(
    "How sure the evidence of past sessions must be before a task is routed to a cheaper model. These descriptions are " +
      "read from the keys' names alone.",
  );
