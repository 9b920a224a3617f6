import { Command } from "commander";
import { judge } from "../../policies/judge";
import { EXIT } from "../exit";
import { type Format, formatOption, printResult } from "../output";
import { type ImageReading, readImage } from "../pin/readImage";

/** Rules that judge an image by itself; the others need to know the machine. */
const IMAGE_RULES = ["inference-image", "moving-tag", "deny-list", "transformers-range"];

/** `serving pin`: what a tag points at today, and the versions inside. Writes nothing. */
export function pinCommand(): Command {
  return new Command("pin")
    .description("Read an image's digests and the versions inside it, and judge them. Pulls the image.")
    .argument("<image:tag>", "image to read, with its tag")
    .addOption(formatOption())
    .addHelpText(
      "after",
      "\nThe image is pulled and one short-lived container without network reads the package versions.\n\nExample:\n  serving pin vllm/vllm-openai:v0.30.0",
    )
    .action(async (reference: string, options: { format: Format }) => {
      const reading = await readImage(reference);
      const { verdict, reasons } = judgeImage(reading);
      printResult(options.format, { ...reading, verdict, reasons }, () => pinText(reading, verdict, reasons));
      if (verdict === "refused") process.exitCode = EXIT.faults;
    });
}

/** Judges an image by the very rules that judge a stack, as if a server ran it. */
export function judgeImage(reading: ImageReading) {
  const verdicts = judge([
    {
      type: "docker:index/container:Container",
      name: "image",
      props: { name: reading.image, image: reading.image, entrypoints: [], command: [], envs: [] },
    },
    {
      type: "local-serving:index:ImageRecord",
      name: "image-record",
      props: {
        image: reading.image,
        digest: reading.digest,
        versions: reading.versions,
        evidence: "read",
        source: "serving pin",
      },
    },
  ]).filter((each) => IMAGE_RULES.includes(each.name) && each.verdict !== "pass");
  const verdict = verdicts.some((each) => each.verdict === "refused")
    ? "refused"
    : verdicts.length > 0
      ? "warned"
      : "pass";
  return { verdict, reasons: verdicts.map((each) => each.message) } as const;
}

function pinText(reading: ImageReading, verdict: string, reasons: readonly string[]): string {
  const versions = Object.entries(reading.versions).map(
    ([name, version]) => `            ${name}: ${version}`,
  );
  return [
    `${reading.image}`,
    `  this machine's image: ${reading.platformDigest}`,
    `  verdict: ${verdict}`,
    ...reasons.map((reason) => `    ${reason}`),
    "",
    "For the stack file:",
    `          image: ${reading.image}`,
    "          versions:",
    ...versions.filter((line) => /^\s+(vllm|transformers):/.test(line)),
    "            evidence: read",
    `            source: serving pin, ${reading.platformDigest.slice(0, "sha256:".length + 12)}`,
  ].join("\n");
}
