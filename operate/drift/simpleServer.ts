import { environmentIn } from "../../components/host/text";
import type { HostSimpleServerPlan } from "../../components/simple-server/plannedSimpleServer";
import type { Host } from "../host/host";
import { type Difference, differs, isNot } from "./difference";

/** Ollama's environment as it really is, against that of its drop-in; `reload` where a restart mends it. */
export type SimpleServerDifference = Difference & { readonly by: "restart" | "another drop-in" };

/**
 * What Ollama runs with: by its process where we may see it, else by what systemd has loaded for its next start. Other
 * variables than those of our drop-in are nobody's business. `undefined` where systemd doesn't say.
 */
export async function simpleServerDifferences(
  { unit, dropIn }: Pick<HostSimpleServerPlan, "unit" | "dropIn">,
  host: Host,
): Promise<SimpleServerDifference[] | undefined> {
  const asked = ["Environment", "MainPID", "ActiveState", "NeedDaemonReload"];
  const { code, out } = await host.ask(["systemctl", "show", `--property=${asked.join(",")}`, "--", unit]);
  if (code !== 0) return undefined;
  const property = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(out)?.[1] ?? "";
  const state = property("ActiveState");
  if (state !== "active") return [{ ...isNot("status", "active", state || "unknown"), by: "restart" }];
  const loaded = variablesIn(wordsOf(property("Environment")));
  const environ = (await host.file(`/proc/${property("MainPID")}/environ`))?.text;
  const running = environ ? variablesIn(environ.split("\0")) : loaded;
  return Object.entries(environmentIn(dropIn.text)).flatMap(([name, value]): SimpleServerDifference[] => {
    if (running.get(name) === value) return [];
    const atNextStart = property("NeedDaemonReload") === "yes" || loaded.get(name) === value;
    return [
      { ...differs(`env ${name}`, value, running.get(name) ?? null), by: atNextStart ? "restart" : "another drop-in" },
    ];
  });
}

/** systemd quotes what a shell would part. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"((?:\\.|[^"\\])*)"|\S+/g)].map(([word, quoted]) => quoted?.replace(/\\(.)/g, "$1") ?? word);

const variablesIn = (words: readonly string[]) =>
  new Map(words.map((word) => [word.split("=", 1)[0] ?? "", word.replace(/^[^=]*=/, "")]));
