import { Failed } from "@local-serving/base/faults/fault";
import { variablesIn } from "@local-serving/machines/shell";
import type { Host } from "../sees/host";
import { type Difference, differs, isNot } from "./difference";

/**
 * How the environment that Ollama runs with differs from that of its drop-in: by its process where
 * we may see it, else by what systemd has loaded for its next start. `overruled` is one that a
 * restart wouldn't mend. Other variables are nobody's business. Throws `Failed` where systemd
 * doesn't say.
 */
export async function simpleServerDifferences(
  {
    unit,
    environment,
  }: { readonly unit: string; readonly environment: Readonly<Record<string, string>> },
  host: Host,
): Promise<(Difference & { readonly overruled: boolean })[]> {
  const asked = ["Environment", "MainPID", "ActiveState", "NeedDaemonReload"];
  const { code, out } = await host.ask([
    "systemctl",
    "show",
    `--property=${asked.join(",")}`,
    "--",
    unit,
  ]);
  if (code !== 0) throw new Failed(`systemd doesn't say what ${unit} runs with.`);
  const property = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(out)?.[1] ?? "";
  const state = property("ActiveState");
  if (state !== "active")
    return [{ ...isNot("status", "active", state || "unknown"), overruled: false }];
  const loaded = variablesIn(wordsOf(property("Environment")));
  const environ = (await host.file(`/proc/${property("MainPID")}/environ`))?.text;
  const running = environ ? variablesIn(environ.split("\0")) : loaded;
  const needsReload = property("NeedDaemonReload") === "yes";
  return Object.entries(environment).flatMap(([name, value]) => {
    const found = running.get(name);
    const overruled = !needsReload && loaded.get(name) !== value;
    return found === value ? [] : [{ ...differs(`env ${name}`, value, found ?? null), overruled }];
  });
}

/** systemd quotes what a shell would part. */
const wordsOf = (text: string): string[] =>
  [...text.matchAll(/"((?:\\.|[^"\\])*)"|\S+/g)].map(
    ([word, quoted]) => quoted?.replace(/\\(.)/g, "$1") ?? word,
  );
