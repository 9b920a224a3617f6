import { text } from "../../components/inference-server/argv/unknown";
import { TYPE } from "../../components/planned/type";
import { displayName } from "../lib/container";
import { imageReference, roleOf } from "../lib/imageReference";
import { type Rule, violation } from "./rule";

/** Tags that name a track, alone or as the start of a longer tag (`main-latest`, `nightly-aarch64`). */
const TRACK = /^(latest|nightly|main|master|dev|edge|stable|rolling|git|cuda|ollama|openai)([-_.]|$)/i;
/** A tag with a release number stays where it is, as far as a tag does. */
const RELEASE = /\d+\.\d+/;

/** A tag that moves makes tomorrow's `up` another program than today's preview. */
export const movingTag: Rule = {
  name: "moving-tag",
  description: "An image that serves models, chats or the bridge is not taken from a moving tag without a digest.",
  level: "mandatory",
  of: TYPE.container,
  judgeResource(resource) {
    const image = text(resource.props.image);
    // An unrelated container, or an image that is not known, is not this rule's business.
    if (typeof image !== "string" || roleOf(image) === undefined) return [];
    const reference = imageReference(image);
    if (reference === undefined || reference.digest !== undefined) return [];
    const { tag } = reference;
    if (tag !== undefined && RELEASE.test(tag) && !TRACK.test(tag)) return [];
    const what = tag === undefined ? "has no tag, which means `latest`," : `has the tag \`${tag}\`, which`;
    const message = `${displayName(resource)}: the image \`${image}\` ${what} moves from release to release. Name a release and its digest, \`${reference.repository}:<release>@sha256:...\`.`;
    return violation(resource, message, { setting: "image" });
  },
};
