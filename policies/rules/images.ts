import {
  type ImageReference,
  imageReference,
  referenceFault,
} from "@local-serving/machines/docker/imageReference";
import { isText, text } from "@local-serving/vllm/argv/unknown";
import { satisfies } from "@renovatebot/pep440";
import { TYPE } from "../../components/planned";
import { knownRelease, taggedVersion, versionsOf } from "../../components/supply";
import {
  isPep440,
  KNOWN_SERIES,
  REFUSED_IN_SERVERS,
  refusalOf,
  transformersFor,
} from "../../components/supply/releases";
import { nameOf } from "../lib/block";
import { type DeclaredResource, type LaunchInputs, launchOf } from "../lib/container";
import { imageRecord } from "../lib/imageRecord";
import { readContainer, serversIn } from "../lib/inferenceServer";
import { packagesOf, roleOf } from "../lib/role";
import { advice, type Finding, type Rule, violation } from "./rule";

/**
 * Tags that name a track, alone or as the start of a longer tag (`main-latest`, `nightly-aarch64`).
 */
const TRACK =
  /^(latest|nightly|main|master|dev|edge|stable|rolling|git|cuda|ollama|openai)([-_.]|$)/i;
/** A tag with a release number stays where it is, as far as a tag does. */
const RELEASE = /\d+\.\d+/;

/** A tag that moves makes tomorrow's `up` another program than today's preview. */
export const movingTag: Rule = {
  name: "moving-tag",
  description:
    "Images of servers, the chat UI and the bridge don't use a moving tag without a digest.",
  level: "mandatory",
  saidBy: "inference-image",
  of: TYPE.container,
  judgeResource(resource) {
    const image = text(resource.props.image);
    // An unrelated container, or an image that is not known, is not this rule's business.
    if (typeof image !== "string" || roleOf(resource) === undefined) return [];
    // In a server's image something else may run, such as a download.
    if (roleOf(resource) === "inference-server" && readContainer(resource).kind === "no") return [];
    const reference = imageReference(image);
    if (reference === undefined) return unreadable(resource, image);
    const moves = movingTagText(reference);
    if (moves === undefined) return [];
    const message = `The image of ${nameOf(resource)} can change by itself: ${moves}. Name a release and its digest, \`${reference.repository}:<release>@sha256:...\`. It is \`${image}\`.`;
    return violation(resource, message, { setting: "image" });
  },
};

/** Says that a tag may name another image tomorrow, as a clause; `undefined` where a digest counts. */
export function movingTagText({ tag, digest }: ImageReference): string | undefined {
  if (digest !== undefined) return undefined;
  if (tag === undefined) return "it has no tag, which means `latest`";
  return RELEASE.test(tag) && !TRACK.test(tag) ? undefined : `its tag \`${tag}\` moves`;
}

/** What Docker doesn't take for an image; a server's own is refused by the rule for its image. */
function unreadable(resource: DeclaredResource, image: string): Finding[] {
  if (readContainer(resource).kind !== "no") return [];
  const message = `The image of ${nameOf(resource)} is none: ${referenceFault(image)}. Write it as \`repository:<release>@sha256:...\`. It is \`${image}\`.`;
  return [violation(resource, message, { setting: "image" })];
}

/** How the name of a record of ours ends, behind its server's. */
const OF_RECORD = /-image-record$/;

/** Known-bad releases stay out, whatever else is right about an image. */
export const denyList: Rule = {
  name: "deny-list",
  description:
    "Nothing runs that the supply list refuses: a release known to be bad, or a variable or option that opens a server, moves it or changes what it is.",
  level: "mandatory",
  judgeResource(resource) {
    if (resource.type === TYPE.imageRecord) {
      const { versions } = imageRecord(resource);
      const known = [...versions].flatMap(([name, version]) =>
        typeof version === "string" ? [[name, version] as const] : [],
      );
      return denied(resource, new Map(known));
    }
    if (resource.type !== TYPE.container) return [];
    const image = text(resource.props.image);
    const held = typeof image === "string" ? heldBy(image, resource) : [];
    return [
      ...held.flatMap((each) => denied(resource, each, ` It is \`${String(image)}\`.`)),
      ...openedBy(resource),
    ];
  },
};

/**
 * Finds what opens, moves or changes a server: variables, also those that a command sets, and
 * options. An empty value is vLLM's default.
 */
function openedBy(resource: DeclaredResource): Finding[] {
  const launch = launchOf(resource.props);
  const texts = textsOf(launch);
  const set = (name: string) => [launch.variables.get(name), ...assignedIn(texts, name)];
  const variables = REFUSED_IN_SERVERS.variables.flatMap(({ name, ...why }) => {
    if (set(name).every((value) => value === undefined || value === "0")) return [];
    return opened(resource, `sets ${name}`, why, `environment.${name}`);
  });
  const options = REFUSED_IN_SERVERS.options.flatMap(({ name, ...why }) => {
    const given = serversIn(resource).some((server) =>
      [...server.options].some(
        ([option, [value]]) =>
          (option === name && value !== "off" && value !== "") || option.startsWith(`${name}.`),
      ),
    );
    return given ? opened(resource, `is started with --${name}`, why, "extraArgs") : [];
  });
  return [...variables, ...options];
}

type Why = Readonly<Record<"reason" | "source" | "remedy", string>>;

function opened(
  resource: DeclaredResource,
  what: string,
  { reason, source, remedy }: Why,
  setting: string,
): Finding {
  return violation(
    resource,
    `${nameOf(resource)} ${what}, which is refused. ${remedy} The cause: ${reason} (${source}).`,
    {
      setting,
    },
  );
}

/** Every text in which a command, a script, a health check or an uploaded file may set a variable. */
const textsOf = ({ entrypoint = [], command, checks, files }: LaunchInputs): string[] =>
  [...entrypoint, ...command, ...checks.flat(), ...files].filter(isText);

/** Values that a variable is given inside texts. */
function assignedIn(texts: readonly string[], name: string): string[] {
  return texts.flatMap((each) =>
    each.includes(name)
      ? [
          ...each.matchAll(new RegExp(`(?<![\\w$])${name}["']?[=:]\\s*["']?([^\\s"';&|)]*)`, "g")),
        ].map(([, value = ""]) => value)
      : [],
  );
}

/**
 * Returns what an image holds according to its known digest and its tag:
 * `litellm:main-v1.82.7-stable` holds litellm 1.82.7.
 */
function heldBy(image: string, resource: DeclaredResource): ReadonlyMap<string, string>[] {
  const reference = imageReference(image);
  if (reference === undefined) return [];
  const byTag = packagesOf(image, roleOf(resource)).flatMap((name) => {
    const tagged = taggedVersion(name, reference);
    return tagged === undefined ? [] : [new Map([[name, tagged]])];
  });
  return [new Map(Object.entries(versionsOf(knownRelease(reference.digest)))), ...byTag];
}

function denied(
  resource: DeclaredResource,
  held: ReadonlyMap<string, string>,
  image = "",
): Finding[] {
  const who = nameOf(resource).replace(OF_RECORD, "");
  return [...held].flatMap(([name, version]) => {
    const why = refusalOf(name, version, held);
    return why === undefined
      ? []
      : violation(
          resource,
          `${who}'s image holds ${name} ${version}, which must not run. ${why.remedy} The cause: ${why.reason} (${why.source}).${image}`,
          { setting: "image" },
        );
  });
}

/**
 * The transformers library of an image suits its vLLM: the ceiling goes with the release, it is
 * never one number.
 */
export const transformersRange: Rule = {
  name: "transformers-range",
  description:
    "The transformers release in an image is in the range that its vLLM release requires.",
  level: "mandatory",
  advises: true,
  of: TYPE.imageRecord,
  judgeResource(resource) {
    const { versions, digest, of } = imageRecord(resource);
    // A record of another image is refused by the rule for images.
    if (of !== undefined && of !== digest) return [];
    const vllm = versions.get("vllm");
    const transformers = versions.get("transformers");
    // Missing, unknown and unreadable versions are refused by the rule for images.
    if (typeof vllm !== "string" || typeof transformers !== "string") return [];
    if (!isPep440(vllm) || !isPep440(transformers)) return [];
    const range = transformersFor(vllm);
    const server = resource.name.replace(OF_RECORD, "");
    if (range === undefined)
      return advice(
        resource,
        `Transformers ${transformers} in the image of ${server} was not checked. Which range vLLM ${vllm} takes is known of ${KNOWN_SERIES[0]} to ${KNOWN_SERIES.at(-1)} only.`,
      );
    if (satisfies(transformers, range, { prereleases: true })) return [];
    return `Transformers ${transformers} doesn't suit vLLM ${vllm} in the image of ${server}. Pin an image whose two versions belong together: that vLLM asks for ${range}. If the record is wrong, \`serving pin IMAGE:TAG --write\` reads them in the image.`;
  },
};
