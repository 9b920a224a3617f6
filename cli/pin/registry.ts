import { Failed } from "@local-serving/base/faults/fault";
import { type JsonObject, jsonIn, objectOr, textOr } from "@local-serving/base/faults/json";
import { type Asking, ask, NoAnswer } from "@local-serving/base/http/ask";

/** Tags that are asked for at once: as many as ghcr.io gives. */
const TAGS_PER_PAGE = 1000;
/** Pages that are read. A repository with a tag for each of its commits has dozens. */
const MOST_PAGES = 60;

/** What a registry answers, or why it says nothing. */
export const answerOrFailed = <T>(asked: Promise<T>): Promise<T | Failed> =>
  asked.catch((error: unknown) => {
    if (error instanceof Failed) return error;
    throw error;
  });

/** What a tag may point to; without these a registry answers with the digest of an older form. */
const MANIFESTS = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/**
 * What a registry of images (its HTTP API, version 2) says of one repository. Without Docker, and
 * without a key of anybody's.
 */
export class Registry {
  private readonly host: string;
  private readonly origin: string;
  private readonly path: string;
  private token: string | undefined;

  /**
   * @param repository as an image's name begins: `vllm/vllm-openai`, `ghcr.io/berriai/litellm`,
   * `localhost:5000/a/b`.
   */
  constructor(repository: string) {
    const [first = "", ...rest] = repository.split("/");
    const named = rest.length > 0 && /[.:]|^localhost$/.test(first);
    const onHub = !named || /^(index\.)?docker\.io$/.test(first);
    const path = named ? rest.join("/") : repository;
    this.host = onHub ? "registry-1.docker.io" : first;
    this.path = onHub && !path.includes("/") ? `library/${path}` : path;
    // As Docker itself does.
    this.origin = `${/^(localhost|127\.)/.test(this.host) ? "http" : "https"}://${this.host}`;
  }

  /** All tags. Throws `Failed` with a sentence where the registry doesn't give them. */
  async tags(): Promise<string[]> {
    const tags: string[] = [];
    let next: string | undefined = `tags/list?n=${TAGS_PER_PAGE}`;
    for (let page = 0; next !== undefined; page += 1) {
      if (page === MOST_PAGES)
        throw new Failed(
          `${this.host} has more than ${tags.length} tags of ${this.path}: too many to read.`,
        );
      const { text, headers } = await this.get(next);
      const { tags: some } = objectOr(jsonIn(text));
      if (!Array.isArray(some))
        throw new Failed(`${this.host} gave no list of the tags of ${this.path}.`);
      tags.push(...some.map(String));
      // The next page lies beside this one, whatever the registry calls its host and path.
      const [, query] =
        /<[^>]*\?([^>]*)>;\s*rel="?next/.exec([headers.link ?? []].flat().join()) ?? [];
      next = query && `tags/list?${query}`;
    }
    return tags;
  }

  /**
   * Digest of what a tag points to, the index of all platforms where there is one; `undefined`
   * where there is no such tag.
   */
  async digest(tag: string): Promise<string | undefined> {
    const { status, headers } = await this.get(`manifests/${tag}`, "HEAD");
    if (status === 404) return undefined;
    const digest = String(headers["docker-content-digest"]);
    if (!/^sha256:[0-9a-f]{64}$/.test(digest))
      throw new Failed(`${this.host} gives no digest of ${this.path}:${tag}.`);
    return digest;
  }

  /** The manifest with this digest, or what a tag points to; `undefined` where there is none. */
  async manifest(named: string): Promise<JsonObject | undefined> {
    const { status, text } = await this.get(`manifests/${named}`, "GET");
    return status === 404 ? undefined : objectOr(jsonIn(text));
  }

  /** What an image says of itself: its platform, its labels, its environment. */
  async configuration(manifest: JsonObject): Promise<JsonObject> {
    const { digest } = objectOr(manifest.config);
    const answer = await this.get(`blobs/${textOr(digest)}`);
    const { location } = answer.headers;
    // Registries keep such data elsewhere, behind an address that needs no token.
    const found = location === undefined ? answer : await this.elsewhere(location);
    return objectOr(jsonIn(found.text));
  }

  private elsewhere(location: string) {
    if (this.origin.startsWith("https:") && !location.startsWith("https:"))
      throw new Failed(`${this.host} sends its readers to an address without TLS.`);
    return this.ask(new URL(location, this.origin).href);
  }

  private async get(what: string, method?: "HEAD" | "GET") {
    const url = `${this.origin}/v2/${this.path}/${what}`;
    const accept = method ? MANIFESTS : "application/json";
    const send = () => {
      const authorization = this.token && { authorization: `Bearer ${this.token}` };
      const head = method === "HEAD" ? { method } : {};
      return this.ask(url, { ...head, headers: { accept, ...authorization } });
    };
    let answer = await send();
    if (answer.status === 401 && this.token === undefined) {
      this.token = await this.anonymousToken(answer.headers["www-authenticate"] ?? "");
      answer = await send();
    }
    const { status } = answer;
    const isElsewhere = [302, 307].includes(status) && method === undefined;
    if (status === 200 || isElsewhere || (status === 404 && method !== undefined)) return answer;
    if (status === 401 || status === 403) throw this.isPrivate();
    if (status === 404) throw new Failed(`${this.host} has no repository ${this.path}.`);
    const limit = status === 429 ? ": it limits how often it is asked. Try again later" : "";
    throw new Failed(`${this.host} answered ${status}${limit}.`);
  }

  /** Most registries want a token from public readers, too, and give it to anybody who asks. */
  private async anonymousToken(challenge: string): Promise<string> {
    const field = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
    const realm = field("realm");
    const inTheClear = this.origin.startsWith("https:") && !realm?.startsWith("https:");
    if (!/^bearer /i.test(challenge) || realm === undefined || inTheClear) throw this.isPrivate();
    const scope = `repository:${this.path}:pull`;
    const query = new URLSearchParams({ service: field("service") ?? this.host, scope });
    const { status, text } = await this.ask(`${realm}?${query}`);
    const { token, access_token } = objectOr(jsonIn(text));
    const given = textOr(token) || textOr(access_token);
    if (status !== 200 || given === "") throw this.isPrivate();
    return given;
  }

  private async ask(url: string, asking: Asking = {}) {
    try {
      return await ask(url, asking);
    } catch (error) {
      if (error instanceof NoAnswer)
        throw new Failed(`${this.host} is not reachable: ${error.message}.`);
      throw error;
    }
  }

  private isPrivate = () =>
    new Failed(
      `${this.host} shows ${this.path} only to users with a key, and this program uses none: look there yourself.`,
    );
}
