import { realpathSync } from "node:fs";
import { homedir } from "node:os";

/** Home of whoever runs this, by its real path: a host file is never written through a symbolic link. */
export function operatorHome(): string {
  const home = homedir();
  try {
    return realpathSync(home);
  } catch {
    return home;
  }
}
