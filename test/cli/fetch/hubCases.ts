import { createServer } from "node:http";
import { explained } from "../../../components/preflight/fetch/causes";
import { askHub, hubText } from "../../../components/preflight/fetch/hub";
import { listening } from "../../stand-in/listening";
import { COMMIT, type HubBehaviour, MODEL, OLD_NAME, StandInHub } from "./standInHub";

/** A model at a made-up hub, what our reader says of it, and what huggingface_hub does. */
export interface HubCase {
  readonly name: string;
  /** What the hub does; `elsewhere` is a second server with the content alone. */
  readonly behaviour?: (elsewhere: string) => HubBehaviour;
  readonly id?: string;
  readonly revision?: string;
  readonly token?: string;
  /** A file that is asked for by itself. Default: config.json. */
  readonly file?: string;
  readonly offline?: true;
  /** A word of our sentence, or that everything came. */
  readonly ours: string;
  /** The exception, or that everything came. */
  readonly theirs: string;
  /** The same of its release 1.16, where that is another. */
  readonly older?: string;
}

export const GOOD = "hf_GoodGoodGood1";
export const CAME = "it came";

const THROTTLED = { status: 429, headers: { "retry-after": "1" } };

export const HUB_CASES: readonly HubCase[] = [
  { name: "a model as it is", ours: CAME, theirs: CAME },
  { name: "by its commit", revision: COMMIT, ours: CAME, theirs: CAME },
  { name: "under the name that it had", id: OLD_NAME, ours: CAME, theirs: CAME },
  {
    name: "files at another path of the hub",
    behaviour: () => ({ contentAt: "" }),
    ...{ ours: CAME, theirs: CAME },
  },
  {
    name: "files at another address, which gets no token",
    behaviour: (elsewhere) => ({ token: GOOD, contentAt: elsewhere }),
    ...{ token: GOOD, ours: CAME, theirs: CAME },
  },
  {
    name: "a tree of many pages",
    behaviour: () => ({ pageSize: 2 }),
    ...{ ours: CAME, theirs: CAME },
  },
  {
    name: "a private model, with its token",
    behaviour: () => ({ token: GOOD }),
    ...{ token: GOOD, ours: CAME, theirs: CAME },
  },
  {
    name: "a private model, with another token",
    behaviour: () => ({ token: GOOD }),
    token: "hf_BadBadBad1",
    ours: "the hub has no such model, or it is private (the token in MY_TOKEN is not accepted)",
    theirs: "RepositoryNotFoundError",
  },
  {
    name: "a private model, without a token",
    behaviour: () => ({ token: GOOD }),
    ours: "the hub has no such model, or it is private (no token is declared)",
    theirs: "RepositoryNotFoundError",
  },
  {
    name: "a gated model, without a token",
    behaviour: () => ({ gated: true }),
    ours: "the model is gated, and the hub refuses access",
    theirs: "GatedRepoError",
  },
  {
    name: "a gated model, with the token of a stranger",
    behaviour: () => ({ gated: true }),
    token: GOOD,
    ours: "the model is gated, and the hub refuses access",
    theirs: "GatedRepoError",
  },
  {
    name: "no such model",
    id: "org/none",
    ours: "the hub has no such model",
    theirs: "RepositoryNotFoundError",
  },
  {
    name: "no such revision",
    revision: "refs/pr/7",
    ours: "the hub has no revision refs/pr/7 of this model",
    theirs: "RevisionNotFoundError",
  },
  {
    name: "no such file",
    file: "none.json",
    ours: "the hub has no such file in revision main of this model",
    theirs: "RemoteEntryNotFoundError",
  },
  {
    name: "a hub that lets nothing more through",
    behaviour: () => THROTTLED,
    ours: "the hub refuses further requests for now (rate limit). Wait 1 s, or",
    theirs: "HfHubHTTPError",
  },
  {
    name: "a hub that answers with the error page of a proxy",
    behaviour: () => ({ status: 503 }),
    ours: "the hub answers with a server error. Wait some minutes, then",
    theirs: "HfHubHTTPError",
  },
  // It asks for files again by itself, but not what there is.
  {
    name: "a hub that is busy once",
    behaviour: () => ({ statuses: [429], headers: { ratelimit: '"api";r=0;t=1' } }),
    ours: "the hub refuses further requests for now (rate limit). Wait 1 s, or",
    theirs: "HfHubHTTPError",
  },
  {
    name: "a line that is cut in the middle of a small file",
    behaviour: () => ({ cutsOfAll: [1] }),
    ours: "the hub can't be reached",
    ...{ theirs: CAME, older: "RemoteProtocolError" },
  },
  {
    name: "a line that is cut in the middle of the weights",
    behaviour: () => ({ cuts: [70_000] }),
    ...{ ours: CAME, theirs: CAME, older: "RemoteProtocolError" },
  },
  {
    name: "a slow line",
    behaviour: () => ({ bytesPerSecond: 400_000 }),
    ...{ ours: CAME, theirs: CAME },
  },
  { name: "no hub", offline: true, ours: "the hub can't be reached", theirs: "ConnectError" },
];

/** What came of a model: the commit, and each file with its size. */
export interface Came {
  readonly commit: string;
  readonly files: Readonly<Record<string, number>>;
}

/** The files that both should have, with their sizes. */
export const wholeOf = (hub: StandInHub): Came => ({
  commit: COMMIT,
  files: Object.fromEntries(
    [...hub.files].flatMap(([path, { body }]) =>
      path.startsWith("original/") ? [] : [[path, body.length]],
    ),
  ),
});

/** A case's hub, with the address at which it answers. */
export async function hubOf({ behaviour, offline }: HubCase, largeBytes: number) {
  const hub = new StandInHub(largeBytes);
  const at = await listening(createServer((...request) => void hub.answer(...request)));
  const elsewhere = await listening(createServer((...request) => void hub.content(...request)));
  hub.behaviour = behaviour?.(elsewhere.url) ?? {};
  const close = () => Promise.all([at.close(), elsewhere.close()]);
  return { hub, url: offline ? "http://127.0.0.1:9" : at.url, close };
}

/** What our reader says: the files that it would load, or why nothing comes. */
export async function ourReading(given: HubCase): Promise<Came | string> {
  const { id = MODEL, revision, token, file = "config.json" } = given;
  const why = (words: string) =>
    explained(
      { kind: "model", name: id, revision, ...(token && { tokenVariable: "MY_TOKEN" }) },
      words,
    );
  const listing = await askHub({ id, ...(revision && { revision }) }, token);
  if (typeof listing === "string") return why(listing);
  const text = await hubText(listing, file, token);
  if (text instanceof Error) return why(text.message);
  const { commit, files } = listing;
  return { commit, files: Object.fromEntries(files.map(({ path, bytes }) => [path, bytes])) };
}
