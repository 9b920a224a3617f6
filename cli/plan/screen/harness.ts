import type { MachinePlan } from "../../../components/plan";
import type { Row } from "./rows";
import type { MachineView } from "./update";

/** What the harness's file points at: who reviews whom and judges, and where the key is. */
export function harnessRow({ harness }: MachinePlan, { home }: MachineView, most: number): Row[] {
  if (harness === null) return [];
  const { providers, reviewers = [], keyVariable = null } = harness;
  const each = reviewers.map(({ provider, reviews, judges }) => {
    const does = [
      ...(reviews.length === 0 ? [] : [`reviews ${reviews.join(", ")}`]),
      ...(judges ? ["judges"] : []),
    ];
    return does.length === 0 ? provider : `${provider} (${does.join("; ")})`;
  });
  const path = home === undefined ? providers : providers.replace(`${home}/`, "~/");
  const key = keyVariable === null ? [] : [`key in ${keyVariable}`];
  const said = [...(each.length === 0 ? ["no provider"] : each), ...key];
  return [{ label: "harness", texts: [`${path}: ${said.join(", ")}`], most }];
}
