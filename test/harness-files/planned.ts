import { plan } from "../../components/plan/plan";
import { stack } from "../fixtures/machine";

/**
 * A machine `dgx` with instance A, a server `b` and the harness's files; tests overlay what they
 * are about.
 */
export function planned(
  harness: Record<string, unknown> | undefined,
  machine: Record<string, unknown> = {},
  server: Record<string, unknown> = {},
) {
  const settings = stack({ ...machine, ...(harness === undefined ? {} : { harness }) }, server);
  const { machines, warnings } = plan(settings, { home: "/home/me" });
  const [only] = machines;
  if (only === undefined) throw new Error("no machine planned");
  const file = (role: string) => {
    const found = only.files.find((each) => each.role === role);
    if (found === undefined) throw new Error(`no file of role ${role}`);
    return found;
  };
  return {
    machine: only,
    warnings: warnings.filter(({ code }) => code.startsWith("harness")).map(({ code }) => code),
    providers: () => file("harness-providers"),
    analytics: () => file("harness-analytics"),
  };
}

/** Ollama on the host with a model to review with. */
export const OLLAMA = { simpleServer: { mode: "host", models: ["qwen3:8b", "nomic-embed-text"] } };
