import type { InferenceServerPlan } from "../inference-server/plannedServer";
import { endpointOf } from "../planned/reach";
import type { Reviewer } from "../settings/reviewers";
import type { SimpleServerPlan } from "../simple-server/plannedSimpleServer";

/** What is planned for this machine, as far as the harness can use it. */
export interface ServedHere {
  readonly servers: readonly InferenceServerPlan[];
  readonly simpleServer: SimpleServerPlan;
}

/** A reviewer with what the plan says of it. */
export type OurServer =
  | {
      readonly name: string;
      readonly kind: "inference-server";
      /** With the version path: it ends in `/v1`. */
      readonly baseUrl: string;
      readonly model: string;
      readonly thinking: boolean;
      /** Version of vLLM, as far as it is recorded. */
      readonly vllm: string | undefined;
    }
  | { readonly name: string; readonly kind: "ollama"; readonly baseUrl: string; readonly model: string };

/** Puts reviewers and plan together; nothing of it is computed twice. */
export function ourServers(reviewers: readonly Reviewer[], served: ServedHere): OurServer[] {
  return reviewers.flatMap((each): OurServer[] => {
    const { name } = each;
    if (each.kind === "ollama") {
      const { simpleServer } = served;
      return simpleServer.mode === "host"
        ? [{ name, kind: each.kind, baseUrl: simpleServer.baseUrl, model: each.model }]
        : [];
    }
    const server = served.servers.find(({ key }) => key === each.server);
    if (server === undefined) return [];
    return [
      {
        name,
        kind: each.kind,
        baseUrl: endpointOf(server.reach).url,
        model: server.servedModelName,
        thinking: server.model.thinking,
        vllm: server.imageRecord.versions.vllm,
      },
    ];
  });
}
