import { type MachinePlan, serversOn } from "../../../components/plan";
import type { LogReading } from "../../sees/log/scanLog";
import { STARTED_WITH } from "../../sees/log/sign";

/** Whether a log says that it is of a model that no server of the plan has. */
export function isForeign({ hits }: LogReading, plan: MachinePlan): boolean {
  const args = hits.get(STARTED_WITH)?.groups[0];
  const model = args && /'model(?:_tag)?': '([^']+)'/.exec(args)?.[1];
  return model !== undefined && !serversOn(plan).some((each) => each.model.id === model);
}
