import { counted } from "@local-serving/base/faults/quoting";
import { imageReference, shortDigest } from "@local-serving/machines/docker/imageReference";
import type { MachineChange } from "../../components/change";
import type { MachinePlan } from "../../components/plan";
import { serviceNamed } from "../../components/services";
import { knownRelease, taggedVersion, versionsOf } from "../../components/supply";
import { packagesOf } from "../../policies/lib/role";
import {
  type EngineChanges,
  type LaunchedVersions,
  launchedVersions,
  type ServerEngineChanges,
} from "./engineChanges";

/** A container that gets another image, and what is known of that. */
export interface ImageChange {
  readonly machine: string;
  readonly key: string;
  /** The package that it is made for, such as `vllm`; `null` where its name doesn't tell. */
  readonly package: string | null;
  /** `before` is `null` for a container that is new. */
  readonly image: { readonly before: string | null; readonly after: string };
  /** Of the package; `null` where nothing tells it. */
  readonly version: { readonly before: string | null; readonly after: string | null };
  readonly digest: string | null;
  /** What has the new digest: the supply list, the plan that was applied, or the base's file. */
  readonly knownBy: "supply" | "applied" | "base" | null;
  /** How a server's record says that its versions are known; `null` of a service. */
  readonly evidence: "published" | "read" | "none" | null;
}

/** Two states of a stack, and the plans that were applied, as far as they are here. */
export interface States {
  readonly before: readonly MachinePlan[];
  readonly after: readonly MachinePlan[];
  readonly applied: readonly MachinePlan[];
  /** What the earlier state is. */
  readonly base: "applied" | "base";
}

/** Returns every container that gets another image, machine by machine. */
export function imageChanges(changes: readonly MachineChange[], states: States): ImageChange[] {
  const [then, now] = [states.before, states.after].map(launchedVersions);
  return changes.flatMap(({ machine, containers }) =>
    containers.flatMap(({ key, resource, pulls }): ImageChange[] => {
      if (pulls === null) return [];
      const [old, own] = [states.before, states.after].map((plans) =>
        plans.find(({ name }) => name === machine),
      );
      const container = own?.containers.find((each) => each.resource === resource);
      const before = old?.containers.find((each) => each.resource === resource)?.image ?? null;
      const [name] = packagesOf(
        pulls,
        serviceNamed(container?.role ?? "")?.name ?? "inference-server",
      );
      const version = (image: string | null, known: LaunchedVersions | undefined) =>
        image === null ? null : (known?.(machine, key) ?? versionIn(image, name) ?? null);
      const digest = imageReference(pulls)?.digest ?? null;
      const server = own?.inferenceServers.find((each) => each.key === key);
      return [
        {
          machine,
          key,
          package: name ?? null,
          image: { before, after: pulls },
          version: { before: version(before, then), after: version(pulls, now) },
          digest,
          knownBy: digest === null ? null : knownBy(digest, states),
          evidence: server?.imageRecord.evidence ?? null,
        },
      ];
    }),
  );
}

/** The version of a package in an image, by its digest or its tag. */
function versionIn(image: string, name: string | undefined): string | undefined {
  const reference = imageReference(image);
  if (name === undefined || reference === undefined) return undefined;
  return versionsOf(knownRelease(reference.digest))[name] ?? taggedVersion(name, reference);
}

function knownBy(digest: string, { before, applied, base }: States): ImageChange["knownBy"] {
  if (knownRelease(digest) !== undefined) return "supply";
  const has = (plans: readonly MachinePlan[]) =>
    plans.some(({ containers }) =>
      containers.some(({ image }) => imageReference(image)?.digest === digest),
    );
  if (has(applied)) return "applied";
  return has(before) ? base : null;
}

const PROVES = "`serving pin --check` proves it";

const KNOWN_BY = {
  supply: "the list of known images has it",
  applied: "it is applied already",
  base: "the base's file has it, too",
};

/** What each change of an image is, for people: what happens, and what a reviewer has to ask. */
export function imageHead(change: ImageChange, engine: EngineChanges | undefined) {
  const name = `${change.machine}: ${change.key}`;
  const { digest, knownBy, version } = change;
  const known =
    digest !== null && knownBy !== null
      ? [` Its digest ${shortDigest(digest)} is known: ${KNOWN_BY[knownBy]}.`]
      : [];
  const isUnknown = version.after === null && change.package !== null;
  return {
    happens: [
      `${name} ${fromToText(change)}.${known.join("")}`,
      ...(engine === undefined ? [] : defaultsText(name, engine)),
    ],
    asks: [
      ...unknownDigest(name, change),
      ...(isUnknown
        ? [`${name}: nothing tells which version of ${shown(change.package)} is inside.`]
        : []),
      ...(engine === undefined ? [] : lacksText(name, engine)),
    ],
  };
}

const shown = (name: string | null): string => (name === "vllm" ? "vLLM" : (name ?? "image"));

/** `gets another image: vLLM 0.30.0 -> 0.33.0 (...)`. */
function fromToText(change: ImageChange): string {
  const { package: name, image, version } = change;
  const [old, now] = [image.before, image.after].map((each) => each && unpinned(each));
  const [was, is] = [version.before ?? "not known", version.after ?? "not known"];
  if (image.before === null) return `is new and runs ${shown(name)} ${is} (\`${now}\`)`;
  const reference = imageReference(image.after);
  const byTag = name && reference ? taggedVersion(name, reference) : undefined;
  const source =
    change.knownBy === null ? ` by its ${byTag === version.after ? "tag" : "record"}` : "";
  const versions = was === is ? `${is}${source}, as before` : `${was} -> ${is}${source}`;
  const other = image.after === now ? "without a digest" : "with another digest";
  const images = old === now ? `\`${now}\` ${other}` : `\`${old}\` -> \`${now}\``;
  return `gets another image: ${shown(name)} ${versions} (${images})`;
}

const unpinned = (image: string): string => image.replace(/(?<=:[^/@]+)@.*/, "");

/** What is to be proved of an image whose digest nothing here has. */
function unknownDigest(name: string, change: ImageChange): string[] {
  const { digest, knownBy, evidence } = change;
  if (digest === null)
    return [`${name}: its image has no digest, so what will run may be another image tomorrow.`];
  if (knownBy !== null) return [];
  const claim = evidence === "read" ? [claimText(name)] : [];
  const unknown = `${name}: no list has its digest ${shortDigest(digest)}: ${PROVES}.`;
  return [`${unknown}${editedDigest(change) || otherDigest(change)}`, ...claim];
}

/** Says that something here has the same tag with another digest. */
function otherDigest({ image: { before, after } }: ImageChange): string {
  const tagged = unpinned(after);
  const listed = tagged === after ? undefined : knownRelease(tagged)?.digest;
  const own =
    before !== null && unpinned(before) === tagged ? imageReference(before)?.digest : undefined;
  const other = listed ?? own;
  if (other === undefined) return "";
  const where = listed === undefined ? "The base's file" : "The list of known images";
  return ` ${where} has ${shortDigest(other)} for \`${tagged}\`: the tag was moved, or this digest is wrong.`;
}

/** Of two digests that have nothing to do with each other, 60 of 64 digits differ. */
const FEW_DIGITS = 32;

/** Says that a digest was made by hand from another one. */
function editedDigest({ image: { before, after } }: ImageChange): string {
  const [old, now] = [before ?? "", after].map((image) => imageReference(image)?.digest);
  if (old === undefined || now === undefined) return "";
  const differ = [...now].filter((digit, index) => digit !== old[index]).length;
  return differ > 0 && differ < FEW_DIGITS
    ? ` Only ${counted(differ, "digit")} of 64 differ from the digest before: it looks edited by hand, not like another image.`
    : "";
}

const claimText = (name: string): string =>
  `${name}: its record says \`evidence: read\`, which anybody can type. Nothing here shows that somebody looked inside, so it is worth no more than \`published\`: ask the author for the output of \`serving pin\`.`;

/** Servers that keep an image of no list, and of which somebody now says that he looked inside. */
export const claimLines = ({ before, after }: Pick<States, "before" | "after">): string[] =>
  after.flatMap(({ name, inferenceServers }) =>
    inferenceServers.flatMap(({ key, container, imageRecord }) => {
      const old = before
        .find((each) => each.name === name)
        ?.inferenceServers.find((each) => each.key === key);
      const isNew = imageRecord.evidence === "read" && old?.imageRecord.evidence !== "read";
      const isKept = old?.container.image === container.image;
      return isNew && isKept && knownRelease(imageReference(container.image)?.digest) === undefined
        ? [claimText(`${name}: ${key}`)]
        : [];
    }),
  );

/** What another vLLM brings a server: what it lacks, then what changes by itself. */
export const engineHead = (change: ServerEngineChanges): string[] => [
  ...lacksText(change.key, change),
  ...defaultsText(change.key, change),
];

/** What a server loses with another vLLM. */
function lacksText(name: string, { version, known, nearest, gone }: EngineChanges): string[] {
  if (known === "none")
    return [
      `${name}: there is no data here for vLLM ${version}, so it may lack flags that are set; the nearest data are for ${nearest}.`,
    ];
  if (gone.length === 0) return [];
  const names = gone.map((each) => `\`${each.name}\``).join(", ");
  return [`${name}: vLLM ${version} lacks what is set here: ${names}.`];
}

/** What changes by itself with another vLLM. */
function defaultsText(name: string, { version, known, gone, defaults }: EngineChanges): string[] {
  if (known === "none" || defaults === null) return [];
  const kept = gone.length === 0 ? `vLLM ${version} has every flag that is set here` : undefined;
  const { changed, unrecorded } = defaults;
  const names = changed.map((each) => `\`--${each.name}\``).join(", ");
  const others =
    unrecorded.length > 0
      ? `which defaults change isn't recorded (vLLM ${unrecorded.join(", ")})`
      : changed.length === 0
        ? "no default changes of a flag that isn't set"
        : `these flags aren't set and get another default: ${names}`;
  return [`${name}: ${[kept, others].filter((each) => each !== undefined).join("; ")}.`];
}
