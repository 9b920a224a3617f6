import { canonicalEngine, computerAt, HERE, isTunnel } from "@local-serving/machines/address";
import { holdsUnknown } from "@local-serving/vllm/argv/unknown";
import { type DeclaredResource, knownText, ofType } from "./container";

/** What a program tells of where its containers run, by their provider. */
interface Place {
  /** The Docker engine, whatever way its host is written, else the provider. */
  readonly engine: string | undefined;
  /** The computer of that engine; `undefined` where the host isn't known, or may lead elsewhere. */
  readonly computer: string | undefined;
  /** Whether the host is a tunnel, which leads to another computer. */
  readonly isTunnel?: boolean;
}

/** Docker's provider, as a program declares it. */
export const DOCKER_PROVIDER = "pulumi:providers:docker";

/** Finds the place of a container by its provider, and that of a provider. */
export function placesIn(
  resources: readonly DeclaredResource[],
): (resource: DeclaredResource) => Place {
  const providers = new Map(
    ofType(resources, DOCKER_PROVIDER).map(({ urn, props }) => [urn, placeOf(props)] as const),
  );
  return ({ type, provider, props }) => {
    if (type === DOCKER_PROVIDER) return placeOf(props);
    // Without a provider Pulumi makes one, and nothing says that it is the one of others.
    if (provider === undefined) return { engine: undefined, computer: placeOf({}).computer };
    const { engine = provider, computer, ...more } = providers.get(provider) ?? {};
    return { engine, computer, ...more };
  };
}

/** The place that a provider's inputs tell of; one without a host asks where Docker's client does. */
function placeOf({ host, context, sshOpts }: DeclaredResource["props"]): Place {
  const given = host === undefined || host === "" ? process.env.DOCKER_HOST || HERE : host;
  const dockerHost = knownText(given);
  if (dockerHost === undefined) return { engine: undefined, computer: undefined };
  // A context counts instead of the host, and only files of whoever runs the program say whose it is.
  const isMoved = (context ?? process.env.DOCKER_CONTEXT ?? "") !== "" || namesOtherHost(sshOpts);
  return {
    engine: canonicalEngine({ dockerHost }),
    computer: isMoved ? undefined : computerAt({ dockerHost }),
    isTunnel: isTunnel({ dockerHost }),
  };
}

/** Options of ssh by which it connects to another host than the one that it is given. */
const OTHER_HOST = [/host ?name|proxy/i, /(^|["\s])-[46AaCfGgKkMNnqsTtVvXxYy]*[FJ]/];

/** Whether options of ssh may name another host; Pulumi's SDKs hand them over as JSON. */
const namesOtherHost = (sshOpts: unknown): boolean =>
  holdsUnknown(sshOpts) ||
  OTHER_HOST.some((options) => options.test(JSON.stringify(sshOpts) ?? ""));
