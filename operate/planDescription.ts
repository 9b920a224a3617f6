/** `serving plan` stands in two tables, and its own bundle holds no other command. */
export const PLAN_DESCRIPTION =
  "Show what `up` would do: what changes, memory, endpoints, and what each policy says.";
