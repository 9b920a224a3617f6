/** Variable that names the stack for commands without `--stack`. */
export const STACK_VARIABLE = "LOCAL_SERVING_STACK";

/** Which stack file a command reads that is told none. */
export const WHICH_STACK = `Which stack file: that of --stack, else of $${STACK_VARIABLE}, else the only one in the folder, else that of the stack which Pulumi has selected, else the only one beside a clone's sample.`;
