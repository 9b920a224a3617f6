import { command } from "@local-serving/base/commandLine/command";
import { WrongUse } from "@local-serving/base/commandLine/exit";
import { say } from "@local-serving/base/commandLine/output";
import { defined } from "@local-serving/base/faults/defined";
import { readTextFile } from "@local-serving/base/faults/textFile";
import { Argument, type Command, Option } from "commander";
import { parseStackFile } from "../../components/settings";
import { judgeServerImage } from "../../components/supply";
import { checkFailed, checkPin, checkText } from "../pin/checkPin";
import { judgeImage, refusedUnread } from "../pin/judgeImage";
import { isProgram, pinProgram } from "../pin/pinProgram";
import { type ImageReading, readImage, splitReference } from "../pin/readImage";
import { newerForStack, newerText } from "../pin/stackImages";
import {
  chooseEntry,
  type ImageEntry,
  imageEntries,
  pinnedLines,
  recordOf,
  type Written,
  writePin,
} from "../pin/writePin";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";
import { givenOptions } from "../stack/typed";

type PinOptions = StackFileOptions & {
  readonly write?: true;
  readonly entry?: string;
  readonly newer?: string | true;
  readonly check?: true;
};

export function pinCommand(): Command {
  return command({
    name: "pin",
    arguments: [
      new Argument(
        "[image:tag]",
        "image to pull and read, with its tag, its digest, or both (then the digest counts); or `llama-swap`, or `llama-swap:v250`",
      ),
    ],
    options: [
      ...stackFileOptions(),
      new Option(
        "--write",
        "write digest and versions into the stack file, unless the image is refused",
      ),
      new Option(
        "--entry <path>",
        "entry to write to, such as inferenceServers.b or bridge (default: the only one that runs this repository)",
      ),
      new Option(
        "--newer [entry]",
        "list newer releases of the stack file's images, or of one entry's, and what the newest one's vLLM makes of the server's arguments; changes nothing",
      ),
      new Option(
        "--check",
        "for CI: holds digest, platform and versions of each image against its registry, and pulls nothing",
      ),
    ],
    notes: `The image is pulled and one short-lived container without network reads the package versions. --write changes the
lines concerned and nothing else, in one step; the old file is kept beside it as FILE.bak.

\`llama-swap\` reads the SHA-256 of its archive on the machine that declares \`onDemand\`, and compares it with the release's
own list. Without a version, that of the stack file is read.

--newer and --check ask the registries and need no Docker. They use no key, so images of a private registry aren't
looked up. --check says whether the registry has the digest, whether the tag still points to it, whether it is made for the
machine's processor, and whether the recorded vLLM is the one that the tag or the image itself names.

Exit code: 0 read, and written where that was asked for, 1 an image is refused, moved or can't be read, 2 wrong use. Exit code
of --check: 0 fine, 1 something contradicts the stack file or is refused, 2 nothing does, but a registry was not reachable, or
doesn't show an image to everybody; also for wrong use.`,
    example: "pin vllm/vllm-openai:v0.30.0 --write && serving fetch",
    run: async (options: PinOptions, reference: string | undefined) => {
      const { newer, check } = options;
      if ([reference, newer, check].filter((each) => each !== undefined).length !== 1)
        throw new WrongUse("Give an IMAGE:TAG to read, or --newer, or --check.");
      if (reference === undefined)
        return newer === undefined ? checkAll(options) : newerOf(newer, options);
      return isProgram(reference)
        ? pinProgram(stackFile(options), reference, options)
        : pinImage(reference, options);
    },
  });
}

/** Pulls an image, judges it, and writes it into the stack file where that was asked for. */
async function pinImage(reference: string, options: PinOptions) {
  const entry = options.write === true ? entryFor(reference, options) : undefined;
  const unread = refusedUnread(reference, entry);
  if (unread.length > 0) return refusedOutcome(reference, unread, entry);
  const { build } = judgeServerImage({ image: reference });
  if (build !== undefined) say(`${reference}: ${build}.`);
  const reading = await readImage(reference);
  const { verdict, reasons } = judgeImage(reading, entry);
  const refused = verdict === "refused";
  const written =
    entry === undefined || refused ? undefined : writePin(stackFile(options), entry, reading);
  const done = { written: written !== undefined && written.diff !== "", ...written };
  const result = { ...reading, verdict, reasons, ...(entry === undefined ? {} : done) };
  const record = entry === undefined ? recordText(reading) : writtenText(written, options);
  const text = [...imageText(reading, verdict, reasons), "", ...record].join("\n");
  return { result, text, failed: refused };
}

/** An image that is refused before it is pulled: its document has the keys of one that was read. */
function refusedOutcome(
  reference: string,
  reasons: readonly string[],
  entry: ImageEntry | undefined,
) {
  const { tag = "" } = splitReference(reference);
  const unread = { image: reference, tag, digest: "", platformDigest: "", versions: {} };
  const verdict = "refused" as const;
  const result = {
    ...unread,
    verdict,
    reasons,
    ...(entry === undefined ? {} : { written: false }),
  };
  const lines = [reference, `  verdict: ${verdict}`, ...reasons.map((each) => `    ${each}`)];
  const nothing = `Nothing was pulled${entry === undefined ? "" : " or written"}: its name says that it is refused.`;
  return { result, text: [...lines, "", nothing].join("\n"), failed: true };
}

async function newerOf(named: string | true, options: PinOptions) {
  const file = stackFile(options);
  const all = entriesOf(file);
  const asked = named === true ? all : [chooseEntry(file, all, "", named)];
  const images = await Promise.all(asked.map((entry) => newerForStack(file, entry)));
  return {
    result: { images },
    text: newerText(images, givenOptions(options)),
    failed: images.some(({ problem }) => problem !== undefined),
  };
}

async function checkAll(options: PinOptions) {
  const images = await Promise.all(entriesOf(stackFile(options)).map(checkPin));
  return {
    result: { images },
    text: checkText(images),
    failed: checkFailed(images),
  };
}

const entriesOf = (file: string) => imageEntries(parseStackFile(file, readTextFile(file)));

/**
 * Checked before anything is pulled: nobody should wait for 20 GB to be told that the entry is
 * unknown.
 */
function entryFor(reference: string, options: PinOptions) {
  const { repository } = splitReference(reference);
  const file = stackFile(options);
  return chooseEntry(file, entriesOf(file), repository, options.entry);
}

const imageText = (
  { image, platformDigest, versions }: ImageReading,
  verdict: string,
  reasons: readonly string[],
) => [
  image,
  `  this machine's image: ${platformDigest}`,
  ...Object.entries(versions).map(([name, version]) => `  ${name} ${version}`),
  `  verdict: ${verdict}`,
  ...reasons.map((reason) => `    ${reason}`),
];

/** What an inference server's entry should hold. */
function recordText(reading: ImageReading): string[] {
  const lines = [
    "For the stack file (--write puts it there):",
    `          image: ${reading.image}`,
  ];
  const { vllm, transformers, ...record } = recordOf(reading);
  if (vllm === undefined && transformers === undefined) return lines;
  const keys = Object.entries({ ...defined({ vllm, transformers }), ...record });
  return [...lines, "          versions:", ...keys.map((each) => `            ${each.join(": ")}`)];
}

function writtenText(written: Written | undefined, options: PinOptions): string[] {
  if (written === undefined) return ["Nothing was written: the image is refused."];
  return pinnedLines(written, options);
}
