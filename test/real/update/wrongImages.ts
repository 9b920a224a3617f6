import { inject } from "vitest";
import { makeImage, type PinnedImage } from "../../docker/makeImage";
import { onlyForAnotherProcessor } from "./otherProcessor";

/** The stand-in with variables that say how it fails, and arguments that come after the plan's. */
function standIn(
  { STAND_IN_KV = String(KV), ...variables }: Readonly<Record<string, string>> = {},
  more = "",
): string {
  const set = Object.entries({ STAND_IN_KV, ...variables }).map(
    ([name, value]) => `${name}=${value}; export ${name}\n`,
  );
  return `#!/bin/sh\n${set.join("")}exec node /opt/stand-in/vllm.cjs "$@" ${more}\n`;
}

/** Requests of full length that a right image names in its log and metrics. */
const KV = 7;

/** An image of the stand-in, which is right where no other program is given. */
export const image = (vllm = standIn()): Promise<PinnedImage> =>
  makeImage(inject("dockerLayer"), {
    tag: "v0.30.0",
    programs: { vllm },
  });

export interface Wrong {
  readonly make: () => Promise<PinnedImage>;
  /** What `serving up --verified` says that decided. */
  readonly decided: RegExp;
  /** Set where nothing is touched at all. */
  readonly untouched?: true;
}

const failing = (variables: Readonly<Record<string, string>>, decided: RegExp, more?: string) => ({
  make: () => image(standIn(variables, more)),
  decided,
});

/** Ways in which a newer image is wrong, by what is wrong with it. */
export const WRONG: Readonly<Record<string, Wrong>> = {
  "is not there for this processor": {
    make: async () => onlyForAnotherProcessor(await image()),
    decided: /no such tag or digest for this machine/,
    untouched: true,
  },
  "ends at once": {
    make: () =>
      image(
        "#!/bin/sh\necho 'ImportError: libcudart.so.13: cannot open shared object file' >&2\nexit 1\n",
      ),
    decided: /libcudart|ended with exit code 1/,
  },
  "is never ready": {
    make: () => image("#!/bin/sh\nexec sleep 100000\n"),
    decided: /not ready/,
  },
  "serves another name": failing({}, /models/, "--served-model-name another"),
  "makes no tool calls": failing({ STAND_IN_FAULT: "xml-in-content" }, /chat-tools/),
  "has half the KV cache": {
    make: () => image(standIn({ STAND_IN_KV: String(KV / 2) })),
    decided: /kv-cache/,
  },
  "answers 500": failing({ STAND_IN_FAULT: "answers-500" }, /answered 500/),
  "runs out of memory at the first long prompt": failing(
    { STAND_IN_DIES_AT: "20000" },
    /needle|long-prompt|prefix-reuse/,
  ),
};
