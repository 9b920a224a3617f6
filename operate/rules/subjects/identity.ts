import { isCutOff } from "../answers";
import { seen, serverOf } from "../picture";
import type { OfServer } from "../rule";
import { otherModel } from "../servedModel";
import { type Exchange, failedWith } from "../serverSeen";
import { APPLY_STACK_FILE, alreadyDeclared, optionOtherwise, serverSetting } from "./asPlanned";
import { isOneTry, TOO_LONG, windowIn } from "./client";

const NAME_PROBES = ["models", "alias", "unknown-tier"];

const windowText = (window: number, declared: number): string =>
  `The server runs with a window of ${window} tokens, but the stack file says ${declared}.`;

export const identity: readonly OfServer[] = [
  /** Another model behind the same names: whatever fails may be its own way. */
  {
    id: "other-model",
    find(seen) {
      const { declared, running, failed } = seen;
      const root = otherModel(declared.model, running.models ?? []);
      if (root === undefined) return undefined;
      return {
        cause: `Another model is served: ${root}, but the stack file says ${declared.model}.`,
        advice: `${APPLY_STACK_FILE} If you meant ${root}, set ${serverSetting(seen, "model.id")} to it.`,
        probes: failed,
      };
    },
  },
  /** Other names than the declared ones. */
  {
    id: "other-names",
    find(seen) {
      const { declared, running, failed } = seen;
      const ids = (running.models ?? []).map(({ id }) => id);
      const [first] = ids;
      const missing = declared.names.filter((name) => !ids.includes(name));
      if (first === undefined || (first === declared.names[0] && missing.length === 0))
        return undefined;
      const served = ids.map((id) => `\`${id}\``).join(", ");
      const aliases = declared.names.slice(1).join(", ") || "none";
      const otherwise = optionOtherwise(seen, "served-model-name");
      return {
        cause: `The server runs with other names (${served}) than the stack file has (${serverSetting(seen, "servedModelName")}: ${declared.names[0]}, ${serverSetting(seen, "aliases")}: ${aliases}).`,
        advice: [otherwise, APPLY_STACK_FILE].filter(Boolean).join(" "),
        probes: failed.filter((name) => NAME_PROBES.includes(name)),
      };
    },
  },
  /** A container that was started otherwise: what fails still may be mended in the stack file. */
  {
    id: "started-otherwise",
    find(seen) {
      const { declared, running, failed } = seen;
      const differs = running.differs ?? [];
      if (differs.length === 0) return undefined;
      return {
        cause: `The server doesn't run as the stack file says: ${declared.name} ${differs.join(", ")}.`,
        advice: `${APPLY_STACK_FILE} Then run serving verify again.`,
        probes: failed,
      };
    },
  },
  /** Another window than the declared one: requests that fit the declared one are refused or cut. */
  {
    id: "other-window",
    byLog(picture) {
      const hit = seen(picture, TOO_LONG);
      const { settings } = serverOf(picture, hit?.log);
      if (hit === undefined || settings === undefined || picture.stackIsAGuess) return undefined;
      const [window, declared] = [windowIn(hit), settings.maxModelLen];
      if (window >= declared || isOneTry({ hit })) return undefined;
      const cause = windowText(window, declared);
      return { cause, evidence: hit.line, advice: APPLY_STACK_FILE, hit };
    },
    find(server) {
      const { declared, running, failed } = server;
      const own = running.models?.filter(({ parent }) => parent === undefined);
      const window = own?.find((each) => each.window !== declared.maxModelLen)?.window;
      if (window === undefined) return undefined;
      const tooLong = ({ refusal, answer }: Exchange) =>
        new RegExp(`(?<!\\d)${window}(?!\\d)`).test(refusal ?? "") ||
        (answer !== undefined &&
          isCutOff(answer.stop) &&
          answer.prompt + answer.completion >= window - 1);
      const cut = failedWith(server, tooLong);
      return {
        cause: windowText(window, declared.maxModelLen),
        advice: alreadyDeclared(
          server,
          "max-model-len",
          `${serverSetting(server, "maxModelLen")}: ${declared.maxModelLen}`,
        ),
        probes: failed.filter(
          (name) => ["max-model-len", "kv-cache"].includes(name) || cut.includes(name),
        ),
      };
    },
  },
];
