/**
 * Variables that tie a git process to one repository (`git rev-parse --local-env-vars`): set inside
 * a hook, they would point a command's git at another checkout than the one it runs in. OLDPWD
 * would lead back to where we were called.
 */
const NOT_HANDED_ON = [
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_COMMON_DIR",
  "GIT_CONFIG",
  "GIT_CONFIG_COUNT",
  "GIT_CONFIG_PARAMETERS",
  "GIT_DIR",
  "GIT_GRAFT_FILE",
  "GIT_IMPLICIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_INTERNAL_SUPER_PREFIX",
  "GIT_NO_REPLACE_OBJECTS",
  "GIT_OBJECT_DIRECTORY",
  "GIT_PREFIX",
  "GIT_REPLACE_REF_BASE",
  "GIT_SHALLOW_FILE",
  "GIT_WORK_TREE",
  "OLDPWD",
];

/** The environment that a config's commands get: ours, without what would lead them elsewhere. */
export function commandEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept = Object.entries(environment).flatMap(([name, value]) =>
    value === undefined || NOT_HANDED_ON.includes(name) ? [] : [[name, value] as const],
  );
  return Object.fromEntries(kept);
}

/** The argument vector of a shell command line. */
export const shell = (command: string): string[] => ["sh", "-c", command];
