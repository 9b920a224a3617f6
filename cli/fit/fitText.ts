import { hanging, type Width } from "@local-serving/base/commandLine/layout";
import { styled } from "@local-serving/base/commandLine/output";
import { objectOr } from "@local-serving/base/faults/json";
import { kvText, ledgerText } from "../plan/memoryText";
import type { FitVerdict, PlannedFit, ServerFit } from "./verdict";

const COLOURS = {
  starts: "green",
  "may start": "yellow",
  "cannot start": "red",
  "not judged": "yellow",
} as const satisfies Record<FitVerdict, string>;

/** A fit as a person reads it: the verdict, the memory, and what to change. */
export function fitText({ fit, machine, container = "" }: PlannedFit, width: Width): string {
  const { server, change } = fit;
  const parts = [
    hanging(headline(fit), 2, width),
    ...(machine === undefined
      ? []
      : [
          settingsText(server.settings),
          ledgerText(machine, width),
          kvText(container, machine.kv[container] ?? null, width, false)
            .join("\n")
            .trimEnd(),
        ]),
    listText("To change", change, width),
    listText("Not carried over from the command", server.notCarriedOver, width),
    listText("Not in the command, or different from it", server.notInTheCommand, width),
  ];
  return parts.filter(Boolean).join("\n\n");
}

function headline({ verdict, why, machine, server }: ServerFit): string {
  const said = styled(COLOURS[verdict], verdict);
  const where = `${server.model} on ${machine.what} (${machine.totalGiB} GiB)`;
  return `${said}: ${where}${why === "" ? "." : `: ${why.replace(/\.$/, "")}.`}`;
}

/** The settings that decide how much memory a server takes. */
const SHOWN = [
  "gpuMemoryUtilization",
  "kvCacheMemoryBytes",
  "maxModelLen",
  "maxNumSeqs",
  "maxNumBatchedTokens",
  "kvCacheDtype",
  "loadFormat",
  "image",
];

function settingsText(settings: ServerFit["server"]["settings"]): string {
  const shown = SHOWN.flatMap((key) => {
    const value = settings?.[key];
    return value === undefined ? [] : [`${key} ${String(value)}`];
  });
  const { kind = "chat" } = objectOr(settings?.model);
  if (kind !== "chat") shown.unshift(`kind ${String(kind)}`);
  return `  Planned with ${shown.join(", ")}.`;
}

const listText = (title: string, items: readonly string[], width: Width): string =>
  items.length === 0
    ? ""
    : [`${title}:`, ...items.map((each) => `  - ${hanging(each, 4, width)}`)].join("\n");
