/**
 * Version of the plan's form, as `serving plan --format json` prints it and `up` leaves it on a
 * machine. Within a version keys are only added. Where a key goes or changes its meaning, the
 * version is raised, and `components/evidence/` gets a function that makes the new form of the old
 * one.
 */
export const PLAN_VERSION = 1;
