import { figure, knownMap, knownMaps, list, text, UNKNOWN } from "@local-serving/vllm/argv/unknown";
import { alternatives, largestSet } from "../../components/memory/together";
import { LABEL } from "../../components/planned";
import { type DeclaredResource, knownText } from "./container";

const ON_REQUEST = "onRequest";

/** Whether a container says of itself that it starts on request. */
export const saysOnRequest = ({ labels }: DeclaredResource["props"]): boolean =>
  knownMaps(labels).some(({ label, value }) => label === LABEL.start && value === ON_REQUEST);

/** What Docker and the engine are told of a container that nothing starts by itself. */
export const NOT_STARTED = { restart: "no", start: false, mustRun: false } as const;

/** Whether nothing but a person starts a container: by its arguments, and as it says itself. */
export const startsOnRequest = (props: DeclaredResource["props"]): boolean =>
  saysOnRequest(props) &&
  Object.entries(NOT_STARTED).every(([setting, value]) => text(props[setting]) === String(value));

/** The same of a server as a machine component declares it. */
export const declaredOnRequest = ({ start }: Readonly<Record<string, unknown>>): boolean =>
  start === ON_REQUEST;

/** Something that takes memory; `container` is absent for what is no container of ours. */
interface Takes {
  readonly container?: string;
  readonly onRequest?: boolean;
}

/**
 * What may run at once. All of these, unless the machine component says which of those that start
 * on request run together: then each of its sets beside what always runs, and each that is in no
 * set by itself. One that the component doesn't know counts as if it always ran, and so does one
 * that something else may start.
 */
export function atOnce<Each extends Takes>(
  all: readonly Each[],
  component: DeclaredResource | undefined,
): Each[][] {
  const { known, sets } = declaredSets(component);
  const isLifted = ({ container = "", onRequest = false }: Each) =>
    onRequest && known.includes(container);
  if (!all.some(isLifted)) return [[...all]];
  return alternatives(sets, known).map((set) =>
    all.filter((each) => !isLifted(each) || set.includes(each.container ?? "")),
  );
}

/** What a machine component says of the servers that start on request. */
export function declaredSets(component: DeclaredResource | undefined) {
  const together = knownMap(knownMap(component?.props.memory).together);
  const given = list(together.sets);
  const servers = knownMaps(together.servers);
  const known = servers.flatMap(({ name }) => knownText(name) ?? []);
  const sets = (given === UNKNOWN ? [] : given).map((set) => {
    const names = list(set);
    return names === UNKNOWN ? [] : names.flatMap((name) => knownText(name) ?? []);
  });
  return { beside: knownMap(together.beside), servers, known, sets };
}

/** The servers with the largest shares together that may run at once by a machine component. */
export function largestTogether(component: DeclaredResource): readonly string[] {
  const { servers, known, sets } = declaredSets(component);
  return largestSet(alternatives(sets, known), (set) =>
    servers.reduce(
      (sum, { name, utilization }) =>
        set.includes(knownText(name) ?? "") ? sum + figure(utilization) : sum,
      0,
    ),
  );
}
