import { isRecord } from "@local-serving/base/faults/json";
import { SERVICES } from "../../../components/services";
import type { HostFacts } from "../../sees/computer/facts";
import type { LeftOut } from "../command/words";
import { freePort, settingsFor, type Wanted } from "../settings";
import { serviceLeftOut } from "./companions";
import type { FoundService } from "./kind";

/** What becomes of the programs beside the servers of a published text. */
export interface ServicesBeside {
  readonly takenOver: NonNullable<Wanted["takenOver"]>;
  readonly told: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

/** What the services of a new stack file take over of programs that ran so far. */
export function servicesBeside(
  found: readonly FoundService[],
  facts: HostFacts,
  wanted: Wanted,
): ServicesBeside {
  const { settings } = settingsFor(facts, wanted);
  const takenOver = new Map<string, Readonly<Record<string, unknown>>>();
  const told: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const { name, key, block } of found) {
    const written = settings[key];
    if (!isRecord(written)) leftOut.push(notWritten({ name, key }));
    else if (takenOver.has(key)) leftOut.push({ what: name, why: `there is one \`${key}\`.` });
    else {
      const { port } = block;
      const free = typeof port === "number" ? { port: freePort(port, facts, wanted) } : {};
      const kept = fitting(key, written, { ...block, ...free });
      takenOver.set(key, kept);
      const values = Object.entries(kept).map(([each, value]) => `${each} ${String(value)}`);
      const of = values.length === 0 ? "" : ` with its ${values.join(", ")}`;
      told.push(
        `\`${key}\` takes the place of ${name}${of}. It has an image and data of its own: what that one had stays where it is.`,
        ...("keyVariable" in kept
          ? [`\`serving up\` reads the key of \`${key}\` from ${kept.keyVariable} of your shell.`]
          : []),
      );
    }
  }
  return { takenOver: Object.fromEntries(takenOver), told, leftOut };
}

/** Says of a program whose block isn't written what to do for it. */
function notWritten(service: Pick<FoundService, "name" | "key">): LeftOut {
  const { onMachine } = SERVICES.find(({ key }) => key === service.key) ?? {};
  const { what, why } = serviceLeftOut(service);
  return { what, why: onMachine === undefined ? why : `${why} ${onMachine}` };
}

/** The values of a block that it may have. */
function fitting(
  key: FoundService["key"],
  written: Readonly<Record<string, unknown>>,
  block: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const schema = SERVICES.find((each) => each.key === key)?.settings;
  return Object.fromEntries(
    Object.entries(block).filter(
      ([name, value]) =>
        value !== undefined && schema?.safeParse({ ...written, [name]: value }).success === true,
    ),
  );
}
