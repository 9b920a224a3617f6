import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { UnreadableInput } from "./fault";

/**
 * The user's home. Throws `UnreadableInput` unless HOME is absolute: files would land wherever the
 * command runs.
 */
export function homeFolder(): string {
  const home = homedir();
  if (isAbsolute(home)) return home;
  const reason = `expected the absolute path of your home, such as /home/me, got ${home === "" ? "empty text" : `\`${home}\``}`;
  throw new UnreadableInput("HOME", reason);
}
