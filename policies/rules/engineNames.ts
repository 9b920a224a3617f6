import { readServerArguments } from "../../components/inference-server/argv/serverArguments";
import { text } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { containerLaunch, type DeclaredResource, displayName, ofType } from "../lib/container";
import { engineOf } from "../lib/engine";
import { engineFaults } from "../lib/engineFaults";
import { type ImageRecord, recordsByDigest } from "../lib/imageRecord";
import { imageReference } from "../lib/imageReference";
import { readContainer } from "../lib/inferenceServer";
import { advice, type Finding, type Rule, violation } from "./rule";

/** vLLM refuses an unknown name minutes into its start, and an unknown variable it only mentions in its log. */
export const engineNames: Rule = {
  name: "engine-names",
  description: "An inference server has only flags, values and VLLM_ variables that its vLLM version knows.",
  level: "mandatory",
  advises: true,
  judgeStack(resources) {
    const records = recordsByDigest(resources);
    return ofType(resources, TYPE.container).flatMap((container) => judge(container, records));
  },
};

function judge(container: DeclaredResource, records: ReadonlyMap<string, readonly ImageRecord[]>): Finding[] {
  const reading = readContainer(container);
  if (reading.kind !== "yes") return [];
  const image = text(container.props.image);
  const digest = typeof image === "string" ? imageReference(image)?.digest : undefined;
  const { data, exact } = engineOf(image, records.get(digest ?? ""));
  const { variables } = containerLaunch(container.props);
  const who = displayName(container);
  const other = exact ? "" : " Its image may differ: it is not vLLM's own in this version.";
  return reading.servers.flatMap(({ words }) =>
    engineFaults(readServerArguments(words, data), variables, data).map(({ message, harmless, change }) =>
      (exact && !harmless ? violation : advice)(container, `${who}: ${message}${other}`, exact ? change : undefined),
    ),
  );
}
