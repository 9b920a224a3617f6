/**
 * How the input `refused` of a machine says what a policy refuses of a resource: the program itself
 * tells why, so that the pack needn't say it a second time.
 */
export const refusedMark = (policy: string, resource: string): string => `${policy} ${resource}`;
