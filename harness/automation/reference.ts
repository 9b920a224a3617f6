import { DEFAULT_HARNESS } from "../harness";
import { OURS_MARK, type ReferenceDocument, type ReferenceSection } from "../reference/markdown";
import { automationSchema } from "./schema";
import { AUTOMATION_TEMPLATE } from "./template";

const SECTIONS: readonly ReferenceSection[] = [
  {
    heading: "A file to start from",
    text: [
      "`serving config init automation` writes it. It is valid as it is, and so is all of it uncommented.",
      `\`\`\`yaml\n${AUTOMATION_TEMPLATE.trimEnd()}\n\`\`\``,
    ],
  },
  {
    heading: "Keys that are refused by name",
    table: {
      head: ["Key", "Why"],
      rows: [
        ["`test`", "Nothing reads it, and a contract must not carry settings that do nothing."],
        ["`verification.conformance.required`", "It is derived from the verification mapping."],
        ["`verification.conformance.app`", "The app is declared once, at `verification.app`."],
        ["`verification.visual.required_when_ui_in_scope`", "It is derived from the verification mapping."],
        [
          "`routing.*` that would define a profile, credential, endpoint, protocol or capability",
          "A repository only narrows what the user's routing registry permits.",
        ],
        [
          "`routing.recovery.*` for probe cadence and health thresholds",
          "They are policy of the user's routing registry.",
        ],
      ],
    },
  },
  {
    heading: "Rules between keys",
    text: [
      [
        "- A requirement of kind `runtime_conformance` in the mapping requires `verification.conformance`, one of kind `visual` requires `verification.visual`; either block requires `verification.app`.",
        "- `ready` has exactly one of `url` and `command`; with `command`, `interface` is required. The app's address is `interface`, else `ready.url`.",
        "- `interface`, `ready.url` and `visual.url` share one origin: scheme, host and port, default ports filled in. `localhost` and `127.0.0.1` are two hosts.",
        "- Coverage needs a floor, in the block or from its preset; the block wins, key by key. A preset that can't be read fails closed, unless the block supplies both floors (and `max_regression_pct` for baseline `admission`).",
        "- `max_regression_pct` is required for baseline `admission` and refused for `none`, wherever it comes from.",
        "- An artifact stays inside the project. Symlinks on the way to it are resolved by the check, before the gate deletes it, and after the command has run.",
        "- The parsers `cobertura` and `jacoco` are not implemented and never count as passing.",
      ].join("\n"),
    ],
  },
  {
    heading: "What the gates read",
    text: [
      [
        "- `serving gate coverage`, parser `istanbul`: the output of istanbul's `json-summary` reporter, of which `total.lines.pct` and `total.branches.pct` count. Parser `lcov`: a tracefile, whose `LF`, `LH`, `BRF` and `BRH` are summed. A metric that has a floor and is missing fails the gate; it is not 0 and not 100.",
        '- `serving gate visual`: a JSON object such as `{"passed": true, "mode": "full", "skipped": [], "criteria": [{"verdict": "pass"}]}`. `passed` is required. It did not run in full when `mode` is missing or not `full`, `degraded` is true, `status` is `skipped` or `degraded`, `skipped` is not empty, or a criterion\'s verdict is `skip`. `passed` beside a criterion with the verdict `fail` or `unreached` is a fault of the result. The specification leaves this form open; it is that of the public harness.',
        "- The visual command finds the browser's address in `HX_VISUAL_URL` and the app's in `HX_APP_URL`.",
      ].join("\n"),
    ],
  },
  {
    heading: "Files beside it",
    table: {
      head: ["Option", "File"],
      rows: [
        [
          "`--mapping`",
          "YAML or JSON: a list of requirements, or a map of id to requirement, each with `kind`. Only `runtime_conformance` and `visual` make a block required.",
        ],
        [
          "`--presets`",
          "A directory of `NAME.json` or `NAME.yaml`, flat: `min_line_pct`, `min_branch_pct`, `max_regression_pct`.",
        ],
        ["`--registry`", "YAML, JSON or TOML: `profiles: [id, ...]` and `routes: [name, ...]`."],
        [
          "`--project`",
          "The project's directory, by default the current one: artifacts stay inside it, gates run in it.",
        ],
        [
          "`--providers`",
          "The [providers profile](providers-profile.md); the evaluator must declare `conformance_command`.",
        ],
      ],
    },
  },
];

export function automationReference(): ReferenceDocument {
  return {
    name: "automation-config",
    title: "Automation config",
    madeFrom: "harness/automation/schema.ts",
    closed: true,
    prefix: DEFAULT_HARNESS.prefix,
    schema: automationSchema,
    intro: [
      "YAML or JSON, one file for each feature that is built. It says what a run must pass and what stops it. `serving config check automation FILE` checks it, `serving config freeze automation FILE --out CONTRACT` writes what it resolves to, once, and `serving config init automation` writes a commented one to start from.",
      "The file is closed: a key that is not listed is an error. Only `branch`, `phases`, `build`, `notify` and `merge` take any keys.",
      `${OURS_MARK} marks a key that the specification lists without a meaning: it says that 29 keys of the harness's own schema have none. Those descriptions are ours, made from the key's name and form.`,
    ],
    sections: SECTIONS,
  };
}
