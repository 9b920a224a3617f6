import type { ReferenceDocument } from "../../harness/reference/document";
import { rules } from "../../policies/rules";

export function policiesReference(): ReferenceDocument {
  return {
    name: "policies",
    title: "Policies",
    madeFrom: "policies/rules",
    intro: [
      "Rules about what may run, judged by the images and arguments of every container. `mandatory` stops an update, " +
        "`advisory` only says so. A policy configuration sets a rule's level by its name " +
        '(`{ "moving-tag": "advisory" }`); a fixed level can\'t be lowered.',
    ],
    sections: [
      {
        heading: "Rules",
        table: {
          head: ["Rule", "Level", "What it asks for"],
          rows: rules.map(({ name, level, fixed, advises, description }) => [
            `\`${name}\``,
            [level, fixed === true ? "fixed" : "", advises === true ? "gives advice, too" : ""]
              .filter(Boolean)
              .join(", "),
            description,
          ]),
        },
      },
    ],
  };
}
