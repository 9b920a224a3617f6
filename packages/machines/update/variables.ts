/** Says to the program that settings which failed before are tried again on purpose. */
export const AGAIN_VARIABLE = "LOCAL_SERVING_AGAIN";

/** Set by `serving up --verified` for its own runs of the engine: they don't judge its record. */
export const VERIFIED_UPDATE_VARIABLE = "LOCAL_SERVING_VERIFIED_UPDATE";

/** Names the file that the configuration comes from, where it isn't the stack's own. */
export const STACK_FILE_VARIABLE = "LOCAL_SERVING_STACK_FILE";

/**
 * Names the file that takes the reasons of a refusal from the program. `serving` prints them once
 * the engine has ended, so that nothing stands below them.
 */
export const REFUSAL_VARIABLE = "LOCAL_SERVING_REFUSAL";

/** Set by `serving` where the state of the stack has nothing: what is on a machine is another's. */
export const NEW_STACK_VARIABLE = "LOCAL_SERVING_NEW_STACK";
