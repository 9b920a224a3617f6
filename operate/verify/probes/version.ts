import { gte } from "@renovatebot/pep440";
import { textOr } from "../json";
import { fail, pass, type ServerProbe } from "../probe";
import { quote } from "../quote";
import { isVersion } from "../versionNumber";

/** First vLLM for the newer model: the specification, "Versioning" 2. */
const FLOOR = "0.26.0";

/** The running version against the one that the stack file records. */
export const version: ServerProbe = {
  name: "version",
  about: "GET /version is the version that the stack file records",
  fix: ({ setting }) => `Record what runs: \`serving pin IMAGE:TAG\` prints ${setting("versions")}.`,
  run: async ({ api, server, setting }) => {
    const running = textOr((await api.json("/version")).version);
    const recorded = server.imageRecord.versions.vllm;
    if (!isVersion(running)) {
      return fail(
        `it says no version: \`${quote(running)}\``,
        `The image of ${setting("image")} is no release.`,
      );
    }
    if (!gte(running, FLOOR)) {
      return fail(
        `vLLM ${running} runs, below the floor of ${FLOOR}`,
        `Set ${setting("image")} to a release of ${FLOOR} or later, pinned by digest.`,
      );
    }
    if (recorded === undefined)
      return pass(`vLLM ${running}; none is recorded`, `${setting("versions.vllm")}: ${running}`);
    if (release(running) === release(recorded)) return pass(`vLLM ${running}, as recorded`);
    return fail(
      `vLLM ${running} runs, the stack file records ${recorded}`,
      `If the image was changed on purpose: ${setting("versions.vllm")}: ${running}. Else bring the machine back to the plan (npm run up).`,
    );
  },
};

/** A version without its local part (`+cu130`), which names a build and not a release. */
function release(text: string): string {
  return text.split("+", 1)[0] ?? text;
}
