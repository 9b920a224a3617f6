/**
 * Version of the plan's form, as `serving plan --format json` prints it and `up` leaves it on a
 * machine. Within a version keys are only added. If a key is removed or changes its meaning, the
 * version is raised, and `components/evidence/` gets a function that turns the old form into the
 * new one.
 */
export const PLAN_VERSION = 1;
