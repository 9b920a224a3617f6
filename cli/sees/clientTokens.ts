import { plainText } from "@local-serving/base/faults/plainText";
import { ask, NoAnswer } from "@local-serving/base/http/ask";
import { Metrics } from "@local-serving/vllm/metrics";
import type { MachinePlan } from "../../components/plan";
import { PLACEHOLDER_KEY } from "../../components/planned";
import { CLIENT_LABEL } from "../../components/services/bridge";
import { originFromHere, type Tunnel } from "./tunnel";

/** Tokens that a client read and had written through the bridge, since the bridge started. */
export interface ClientTokens {
  /** What it calls itself in its requests; "" for one that doesn't say. */
  readonly client: string;
  readonly read: number;
  readonly written: number;
}

/** Tokens by client, where the bridge counts them, or why they weren't read. */
export type TokensByClient = readonly ClientTokens[] | { readonly unread: string };

/** Asks the bridge which clients had tokens; `undefined` where it doesn't count or answer. */
export async function tokensByClient(
  machine: MachinePlan,
  tunnel: Tunnel,
): Promise<TokensByClient | undefined> {
  const { bridge, files } = machine;
  const reach = machine.reach.find(({ key }) => key === "bridge");
  const counts = files.some(({ role }) => role === "scrape-targets");
  if (bridge === null || reach === undefined || !counts) return undefined;
  const { url, unreachable } = originFromHere(machine, reach, tunnel);
  if (url === undefined) return { unread: unreachable };
  const variable = bridge.key?.variable;
  const key = variable === undefined ? PLACEHOLDER_KEY : process.env[variable];
  if (!key) return { unread: `its key is in the variable ${variable}, which is not set here` };
  // Without the slash at its end LiteLLM answers with another address.
  const headers = { authorization: `Bearer ${key}` };
  const answer = await ask(`${url}/metrics/`, { headers }).catch(orSilent);
  if (answer === undefined) return undefined;
  if (answer.status !== 200) return { unread: `/metrics/ answered ${answer.status}` };
  return tokensIn(new Metrics(answer.text));
}

function orSilent(error: unknown): undefined {
  if (error instanceof NoAnswer) return undefined;
  throw error;
}

/** The name in a user agent such as `claude-cli/2.1.332 (external, cli)`. */
const PRODUCT = /^[^\s/(;]{1,40}/;

function tokensIn(metrics: Metrics): ClientTokens[] {
  const read = byProduct(metrics.sumsBy("litellm_input_tokens_metric_total", CLIENT_LABEL));
  const written = byProduct(metrics.sumsBy("litellm_output_tokens_metric_total", CLIENT_LABEL));
  return [...new Set([...read.keys(), ...written.keys()])]
    .map((client) => ({
      client,
      read: read.get(client) ?? 0,
      written: written.get(client) ?? 0,
    }))
    .sort((a, b) => b.read + b.written - (a.read + a.written));
}

/** Versions and systems of a client count together. */
function byProduct(sums: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const products = new Map<string, number>();
  for (const [agent, tokens] of sums) {
    // LiteLLM writes `None` for what a request doesn't say.
    const product = agent === "None" ? "" : (PRODUCT.exec(plainText(agent))?.[0] ?? "");
    products.set(product, (products.get(product) ?? 0) + tokens);
  }
  return products;
}
