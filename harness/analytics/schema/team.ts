import { z } from "zod";
import { block, key } from "../../schema/key";
import { count, share, variableBlock } from "./values";

const budget = (whose: string, variable: string) =>
  key(z.union([z.literal(""), z.number().min(0)]).default(""), `Budget of ${whose}; empty sets no limit.`, {
    variable: `SA_BUDGET_${variable}`,
    unit: "USD",
    examples: [50],
  });

export const teamSchema = block("The team's page: who is active, what was spent, what has run away.", {
  active_window_seconds: count(0, 300, "A developer whose session changed within this time is shown as active.", {
    variable: "SA_TEAM_ACTIVE_WINDOW",
    unit: "seconds",
  }),
  budgets: block("What may be spent before the team's page warns.", {
    team_daily_usd: budget("the whole team for a day", "TEAM_DAILY_USD"),
    team_monthly_usd: budget("the whole team for a month", "TEAM_MONTHLY_USD"),
    developer_daily_usd: budget("each developer for a day", "DEVELOPER_DAILY_USD"),
    project_daily_usd: budget("each project for a day", "PROJECT_DAILY_USD"),
  }),
  runaway: variableBlock("SA_RUNAWAY_", "When a session counts as having run away.", {
    recent_minutes: count(1, 60, "How far back a session is looked at for signs that it has run away.", {
      unit: "minutes",
    }),
    max_turns_recent: count(0, 300, "With more turns than this in that time, a session has run away.", {
      unit: "turns",
    }),
    recent_turns: count(1, 50, "Last turns over which the share of errors is taken.", {
      unit: "turns",
    }),
    max_error_share: share(0.5, "With a larger share of errors than this, from 0 to 1, a session has run away."),
    min_turns_for_error_share: count(0, 20, "Fewest turns before the share of errors is judged at all.", {
      unit: "turns",
    }),
    max_cost_recent_usd: key(
      z.number().min(0).default(20),
      "With a higher cost than this in that time, a session has run away.",
      { unit: "USD" },
    ),
  }),
});
