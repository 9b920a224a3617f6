/**
 * Name of our drop-ins. They are read in the order of their names, so an operator's `90-mine.conf`
 * wins over ours.
 */
const DROP_IN = "50-local-serving.conf";

/** Path of our drop-in for a unit. */
export function dropInPath(systemdDirectory: string, unit: string): string {
  return `${systemdDirectory}/${unit}.d/${DROP_IN}`;
}

/**
 * One `Environment=` line, quoted as systemd.exec(5) and systemd.syntax(7) want it: `%` starts a
 * specifier, and inside quotes a backslash or a quote is escaped. Throws if a value does not fit on
 * one line.
 */
export function environmentLine(name: string, value: string): string {
  if (/[\n\r\0]/.test(value))
    throw new Error(`The value of ${name} has a line break, which a unit file can't hold.`);
  const quoted = value.replace(/[\\"]/g, "\\$&").replaceAll("%", "%%");
  return `Environment="${name}=${quoted}"`;
}

/** The variables of such lines. */
export const environmentIn = (unit: string): Record<string, string> =>
  Object.fromEntries(
    [...unit.matchAll(/^Environment="([^=]+)=(.*)"$/gm)].map(([, name = "", quoted = ""]) => [
      name,
      quoted.replaceAll("%%", "%").replace(/\\(.)/g, "$1"),
    ]),
  );
