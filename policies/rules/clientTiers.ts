import { TIER_VARIABLES } from "../../components/clients/claudeCode";
import { answersTo, clientsOf } from "../lib/clients";
import { type Rule, violation } from "./rule";

/** A tier that is not pinned asks for a hosted model by its real name; the 404 then looks like a network failure. */
export const clientTiers: Rule = {
  name: "client-tiers",
  description: "Every model variable of a messages-style client names a model that is served.",
  level: "mandatory",
  judgeResource(resource) {
    return clientsOf(resource).flatMap(({ who, messagesStyle, tiers, names }) => {
      const expected = messagesStyle ? TIER_VARIABLES : [...tiers.keys()];
      const unpinned = expected.filter((name) => (tiers.get(name) ?? "") === "");
      const unknown = [...tiers].filter(
        ([, model]) => model !== "" && names.length > 0 && !answersTo(names, model),
      );
      return [
        ...(unpinned.length === 0
          ? []
          : [
              violation(
                resource,
                `${who} pins no model in ${unpinned.join(", ")}. What is not pinned asks for a hosted model's own name, and the 404 looks like a network failure. Set each to the served name.`,
              ),
            ]),
        ...unknown.map(([name, model]) =>
          violation(
            resource,
            `${who} asks for \`${model}\` (${name}), which is not served. Served: ${names.join(", ")}.`,
          ),
        ),
      ];
    });
  },
};
