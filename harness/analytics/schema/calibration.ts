import { z } from "zod";
import { key } from "../../schema/key";
import { count, share, text, variableBlock, word } from "./values";

export const calibrationSchema = variableBlock(
  "SA_CALIBRATION_",
  "How sure the evidence of past sessions must be before a task is routed to a cheaper model. These descriptions are " +
    "read from the keys' names alone.",
  {
    distance_metric: word("l2_v1", "Measure of how far two tasks are apart, with its version."),
    k: count(1, 5, "Nearest past tasks that vote on a new one."),
    k_min: count(
      1,
      3,
      "Fewest neighbours with which a vote counts; with fewer the task is not moved to a cheaper model.",
    ),
    max_false_downgrade_rate: share(
      0.05,
      "Largest share of tasks that may be moved to a model which then fails them, from 0 to 1.",
    ),
    min_coverage: share(0.8, "Smallest share of tasks for which the calibration must reach a decision, from 0 to 1."),
    min_sets: count(1, 3, "Fewest separate sets of tasks that the evidence must come from."),
    min_sufficiency: share(
      0.95,
      "Smallest share of trials in which a model must have sufficed for a task to count as within its reach.",
    ),
    min_tasks: count(1, 10, "Fewest tasks that the evidence must hold."),
    min_trials: count(1, 3, "Fewest trials of each task."),
    policy_source: text("File that holds the user's routing policy; empty for none."),
    repo_policy_source: text(
      "File that holds the repository's routing policy, which can only narrow the user's; empty for none.",
    ),
    root: text("Folder in which calibrations are kept; empty takes the harness's own."),
    tier_floor: word("tier1", "Cheapest tier that the routing may choose."),
    vote_epsilon: key(
      z.number().min(0).default(1e-6),
      "Added to every distance before votes are weighed by it, so that an equal task does not divide by zero.",
    ),
  },
);
