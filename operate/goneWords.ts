/** Words of earlier releases, and what took their place; they are answered until the next release. */
const GONE: ReadonlyMap<string, string> = new Map([
  [
    "upgrade",
    "`serving upgrade` is gone. npm upgrades this program: UPGRADE.md says how. `serving pin --newer` lists newer images and what their vLLM makes of a server's arguments; once one is pinned, `serving plan --against applied` shows what it changes.",
  ],
]);

/** What took the place of the word that a command line begins with, if that word is gone. */
export function goneWord([first = "", second = ""]: readonly string[]): string | undefined {
  return GONE.get(first === "help" ? second : first);
}
