import { Argument, type Command, Option } from "commander";
import { command } from "../../commandLine/command";
import { TYPE } from "../../components/planned/type";
import { parseStackFile } from "../../components/settings/load";
import { readTextFile } from "../../faults/textFile";
import { judge } from "../../policies/judge";
import { type ImageReading, readImage, splitReference } from "../pin/readImage";
import { chooseEntry, imageEntries, pinSource, type Written, writePin } from "../pin/writePin";
import { type StackFileOptions, stackFile, stackFileOptions } from "../stack/stackFile";

type PinOptions = StackFileOptions & { readonly write?: true; readonly entry?: string };

/** Rules that judge an image by itself; the others need to know the machine. */
const IMAGE_RULES = ["inference-image", "moving-tag", "deny-list", "transformers-range"];

export function pinCommand(): Command {
  return command({
    name: "pin",
    description: "Read an image's digests and the versions inside it, and judge them. Pulls the image.",
    arguments: [new Argument("<image:tag>", "image to read, with its tag")],
    options: [
      ...stackFileOptions(),
      new Option("--write", "write digest and versions into the stack file, unless the image is refused"),
      new Option(
        "--entry <path>",
        "entry to write to, such as inferenceServers.b, bridge or chatUi (default: the only one that runs this repository)",
      ),
    ],
    notes: `The image is pulled and one short-lived container without network reads the package versions. --write changes the
lines concerned and nothing else, in one step; the old file is kept beside it as FILE.bak.

Exit code: 0 read, and written where that was asked for, 1 the image is refused or can't be read, 2 wrong use.`,
    example: "pin vllm/vllm-openai:v0.30.0 --write && npm run preview",
    run: async (options: PinOptions, reference: string) => {
      const entry = options.write === true ? entryFor(reference, options) : undefined;
      const reading = await readImage(reference);
      const { verdict, reasons } = judgeImage(reading);
      const refused = verdict === "refused";
      const written = entry === undefined || refused ? undefined : writePin(stackFile(options), entry, reading);
      const done = { written: written !== undefined && written.diff !== "", ...written };
      const result = { ...reading, verdict, reasons, ...(entry === undefined ? {} : done) };
      const record = entry === undefined ? recordText(reading) : writtenText(written);
      const text = [...imageText(reading, verdict, reasons), "", ...record].join("\n");
      return { result, text, failed: refused };
    },
  });
}

/** Checked before anything is pulled: nobody should wait for 20 GB to be told that the entry is unknown. */
function entryFor(reference: string, options: PinOptions) {
  const { repository } = splitReference(reference);
  const file = stackFile(options);
  const entries = imageEntries(parseStackFile(file, readTextFile(file)));
  return chooseEntry(file, entries, repository, options.entry);
}

/** Judges an image by the same rules that judge a stack, as if a server ran it. */
export function judgeImage(reading: ImageReading) {
  const { image, digest, versions } = reading;
  const container = { name: image, image, entrypoints: [], command: [], envs: [] };
  const record = { image, digest, versions, evidence: "read", source: "serving pin" };
  const verdicts = judge([
    { type: TYPE.container, name: "image", props: container },
    { type: TYPE.imageRecord, name: "image-record", props: record },
  ]).filter((each) => IMAGE_RULES.includes(each.name) && each.verdict !== "pass");
  const isRefused = verdicts.some((each) => each.verdict === "refused");
  const verdict = isRefused ? "refused" : verdicts.length > 0 ? "warned" : "pass";
  return { verdict, reasons: verdicts.map((each) => each.message) } as const;
}

function imageText(reading: ImageReading, verdict: string, reasons: readonly string[]): string[] {
  return [
    reading.image,
    `  this machine's image: ${reading.platformDigest}`,
    ...Object.entries(reading.versions).map(([name, version]) => `  ${name} ${version}`),
    `  verdict: ${verdict}`,
    ...reasons.map((reason) => `    ${reason}`),
  ];
}

/** What an inference server's entry should hold. */
function recordText({ image, versions, platformDigest }: ImageReading): string[] {
  const lines = ["For the stack file (--write puts it there):", `          image: ${image}`];
  const recorded = Object.entries(versions).filter(([name]) => name === "vllm" || name === "transformers");
  if (recorded.length === 0) return lines;
  const record = [...recorded, ["evidence", "read"], ["source", pinSource(platformDigest)]];
  return [...lines, "          versions:", ...record.map((each) => `            ${each.join(": ")}`)];
}

function writtenText(written: Written | undefined): string[] {
  if (written === undefined) return ["Nothing was written: the image is refused."];
  const { file, entry, diff, backup } = written;
  if (diff === "") return [`${file} has all of this already (${entry}).`];
  return [diff.trimEnd(), "", `${file} is written (${entry}); the old file is ${backup}.`, "Next: npm run preview"];
}
