import fc from "fast-check";

/**
 * Property tests make the same values in every run, so that a change alone can fail them.
 * `FAST_CHECK_SEED=<number>` makes others, `FAST_CHECK_SEED=random` new ones each time.
 */
const { FAST_CHECK_SEED: seed = "20261122" } = process.env;
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
