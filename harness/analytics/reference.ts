import { DEFAULT_HARNESS } from "../harness";
import type { ReferenceDocument } from "../reference/document";
import { analyticsSchema, KEYLESS_VARIABLES } from "./schema";

/** The reference page of the session-analytics config. */
export function analyticsReference(): ReferenceDocument {
  const { home, prefix } = DEFAULT_HARNESS;
  return {
    name: "session-analytics",
    title: "Session analytics",
    madeFrom: "harness/analytics/schema",
    closed: false,
    prefix,
    schema: analyticsSchema,
    intro: [
      `JSON, \`${home}/session-analytics.json\` by default. Each key has its value from the highest layer that sets ` +
        "it: defaults, that file, the `.env` at the repository's root, the environment, arguments. Keys are merged one " +
        "by one; a list replaces the one below it. A value that is set wins also when it is empty text, 0 or the " +
        "default. An empty variable counts as not set.",
      "`serving config show analytics` shows every effective value and its layer, `serving config set analytics KEY " +
        "VALUE` writes one, `serving config check analytics FILE` finds faults. A key without a variable is set in the " +
        "file only. A key that is not listed here is a warning. Secrets never stand in the file.",
      `Variables begin with \`${prefix}\`, the harness's prefix (\`--prefix\`). A list in a variable has commas between ` +
        "its items, or is a JSON array. The text for a number must be a number from its first to its last character.",
    ],
    sections: [
      {
        heading: "Variables that belong to no key",
        text: [
          "They are read directly and have no default. `serving config show analytics` shows those that are set.",
        ],
        table: {
          head: ["Variable", "Meaning"],
          rows: Object.entries(KEYLESS_VARIABLES).map(([name, meaning]) => [`\`${prefix}${name}\``, meaning]),
        },
      },
    ],
  };
}
