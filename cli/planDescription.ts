/** `serving plan` stands in two tables, and its own bundle holds no other command. */
export const PLAN_DESCRIPTION =
  "Show what `up` would do, on one screen: servers, memory, downloads, warnings, and what is refused.";
