import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export const MODEL = "org/model";
/** What the model was called before; the hub points on. */
export const OLD_NAME = "org/old-name";
export const COMMIT = "c".repeat(40);

/** A file of the stand-in's only model. */
interface Content {
  readonly body: Buffer;
  /** Its hash, by which a cache names its blob: SHA-256 of a large file, else git's SHA-1. */
  readonly etag: string;
  readonly isLarge: boolean;
}

export interface HubBehaviour {
  /** The token that it wants of everybody. */
  token?: string;
  /** Shows its listing to everybody, and its files to nobody. */
  gated?: boolean;
  /** Bytes a second of each answer. */
  bytesPerSecond?: number;
  /** Bytes of large files after which it closes the next connections, one figure each. */
  cuts?: number[];
  /** The same of all files. */
  cutsOfAll?: number[];
  /** Answers nothing but this. */
  status?: number;
  /** Answers this to the next requests, one each. */
  statuses?: number[];
  /** Headers of each such answer, such as `retry-after`. */
  headers?: Readonly<Record<string, string>>;
  /** Where it points for the content of files: a path of its own, or an address elsewhere. */
  contentAt?: string;
  /** Files on a page of the tree. */
  pageSize?: number;
}

const WORDS: Readonly<Record<number, string>> = {
  429: "Too Many Requests",
  500: "Internal Error",
  503: "<html>\n<body>Service Unavailable</body>\n</html>",
};

/**
 * The paths that huggingface_hub asks of the hub: one model, with every byte counted that is sent
 * of its large files.
 */
export class StandInHub {
  readonly files: ReadonlyMap<string, Content>;
  /** `GET path bytes=FROM-` of each request for a large file. */
  readonly asked: string[] = [];
  readonly tokens = new Set<string>();
  /** Tokens that came where only content is. */
  readonly strayTokens = new Set<string>();
  sent = 0;
  behaviour: HubBehaviour = {};

  /** What it says that its model is for. */
  task = "text-generation";

  /** Files in `own` stand beside the usual ones, or alone with `only`. */
  constructor(largeBytes = 4_000_000, own: Readonly<Record<string, string>> = {}, only = false) {
    const shard = "model-00001-of-00002.safetensors";
    const index = {
      metadata: { total_size: 2 * largeBytes },
      weight_map: { a: shard, b: shard.replace("1", "2") },
    };
    const usual = {
      "config.json": "{}",
      "model.safetensors.index.json": JSON.stringify(index),
      [shard]: randomBytes(largeBytes),
      [shard.replace("1", "2")]: randomBytes(largeBytes),
      "original/weights.bin": randomBytes(1000),
    };
    const all = Object.entries({ ...(only ? {} : usual), ...own });
    this.files = new Map(all.map(([path, body]) => [path, contentOf(path, Buffer.from(body))]));
  }

  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://hub");
    if (url.pathname.startsWith("/content/")) {
      // Its own answer still says whose the file is; one elsewhere doesn't.
      response.setHeader("x-repo-commit", COMMIT);
      return this.content(request, response);
    }
    const given = request.headers.authorization?.replace("Bearer ", "");
    if (given !== undefined) this.tokens.add(given);
    const { token, gated, status, statuses } = this.behaviour;
    const fail = refusal(request, response);
    const now = statuses?.shift() ?? status;
    if (now !== undefined) {
      for (const [name, value] of Object.entries(this.behaviour.headers ?? {}))
        response.setHeader(name, value);
      return fail(now, "", WORDS[now] ?? "");
    }
    if (url.pathname.includes(OLD_NAME)) {
      response.writeHead(307, {
        location: `${url.pathname}${url.search}`.replace(OLD_NAME, MODEL),
      });
      return void response.end();
    }
    if (token !== undefined && given !== token)
      return fail(401, "RepoNotFound", "Invalid username or password.");
    const [, list, asRevision, more = ""] =
      new RegExp(`^/api/models/${MODEL}(?:/(revision|tree)/([^/?]+)(.*))?$`).exec(url.pathname) ??
      [];
    const [, asFile, path] =
      new RegExp(`^/${MODEL}/resolve/([^/]+)/(.+)$`).exec(url.pathname) ?? [];
    const isListed = url.pathname === `/api/models/${MODEL}` || list !== undefined;
    if (!isListed && path === undefined) return fail(404, "RepoNotFound", "Repository not found");
    const asked = decodeURIComponent(asRevision ?? asFile ?? "main");
    if (!["main", COMMIT].includes(asked))
      return fail(404, "RevisionNotFound", `Invalid rev id: ${asked}`);
    if (path === undefined)
      return list === "tree" && more === ""
        ? this.tree(url, request.headers.host, response)
        : this.info(url, response);
    if (gated)
      return given === undefined
        ? fail(401, "GatedRepo", `${RESTRICTED}. You must have access to it and be authenticated.`)
        : fail(403, "GatedRepo", `${RESTRICTED} and you are not in the authorized list.`);
    const content = this.files.get(decodeURIComponent(path));
    if (content === undefined) return fail(404, "EntryNotFound", "Entry not found");
    await this.send(request, response, path, content);
  };

  /** What answers at `contentAt`: files by their hashes, to everybody. */
  readonly content = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization } = request.headers;
    const isElsewhere = response.getHeader("x-repo-commit") === undefined;
    if (authorization !== undefined && isElsewhere)
      this.strayTokens.add(authorization.replace("Bearer ", ""));
    const etag = request.url?.split("/").at(-1);
    const [path, content] = [...this.files].find(([, each]) => each.etag === etag) ?? [];
    if (path === undefined || content === undefined)
      return refusal(request, response)(404, "", "no such content");
    await this.stream(request, response, path, content);
  };

  private info(url: URL, response: ServerResponse): void {
    const isWithSizes = url.searchParams.get("blobs") === "true";
    const siblings = [...this.files].map(([path, { body, etag, isLarge }]) => ({
      rfilename: path,
      ...(isWithSizes && {
        ...{ size: body.length, blobId: etag.slice(0, 40) },
        ...(isLarge && { lfs: { sha256: etag, size: body.length, pointerSize: 130 } }),
      }),
    }));
    const { task: pipeline_tag } = this;
    const gated = this.behaviour.gated === true && "manual";
    const names = { id: MODEL, modelId: MODEL, sha: COMMIT, pipeline_tag, gated };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...names, private: false, tags: [], downloads: 0, siblings }));
  }

  private tree(url: URL, host = "", response: ServerResponse): void {
    const entries = [...this.files].map(([path, { body, etag, isLarge }]) => ({
      ...{ type: "file", path, size: body.length, oid: etag.slice(0, 40) },
      ...(isLarge && { lfs: { oid: etag, size: body.length, pointerSize: 130 } }),
    }));
    const from = Number(url.searchParams.get("cursor") ?? 0);
    const end = from + (this.behaviour.pageSize ?? entries.length);
    if (end < entries.length) {
      url.searchParams.set("cursor", String(end));
      response.setHeader("link", `<http://${host}${url.pathname}${url.search}>; rel="next"`);
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(entries.slice(from, end)));
  }

  private async send(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    content: Content,
  ) {
    const { body, etag } = content;
    const quoted = `"${etag}"`;
    response.setHeader("x-repo-commit", COMMIT);
    response.setHeader("x-linked-etag", quoted);
    response.setHeader("x-linked-size", body.length);
    const { contentAt } = this.behaviour;
    if (contentAt === undefined) return this.stream(request, response, path, content);
    const code = content.isLarge ? 302 : 307;
    response.writeHead(code, { location: `${contentAt}/content/${etag}`, "content-length": 0 });
    response.end();
  }

  private async stream(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    { body, etag }: Content,
  ) {
    const [, first, last] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? "") ?? [];
    const from = Number(first ?? 0);
    const whole = last ? Math.min(Number(last) + 1, body.length) : body.length;
    response.writeHead(first === undefined ? 200 : 206, {
      ...{ etag: `"${etag}"`, "accept-ranges": "bytes", "content-length": whole - from },
      ...(first !== undefined && {
        "content-range": `bytes ${from}-${whole - 1}/${body.length}`,
      }),
    });
    if (request.method === "HEAD") return void response.end();
    const isCounted = path.endsWith(".safetensors");
    if (isCounted) this.asked.push(`${path} from ${from}`);
    const { cuts, cutsOfAll } = this.behaviour;
    const cut = (isCounted ? cuts?.shift() : undefined) ?? cutsOfAll?.shift();
    const end = cut === undefined ? whole : Math.min(whole, from + cut);
    const step = 50_000;
    for (let at = from; at < end && !response.destroyed; at += step) {
      const piece = body.subarray(at, Math.min(at + step, end));
      response.write(piece);
      if (isCounted) this.sent += piece.length;
      const { bytesPerSecond } = this.behaviour;
      if (bytesPerSecond !== undefined) await sleep((piece.length / bytesPerSecond) * 1000);
    }
    if (cut === undefined) response.end();
    else setTimeout(() => response.destroy(), 100);
  }
}

const RESTRICTED = `Access to model ${MODEL} is restricted`;

/** The hub keeps text with the repository's history, and everything else by its own hash. */
function contentOf(path: string, body: Buffer): Content {
  const isLarge = !/\.(json|jinja|md|txt)$/.test(path);
  const hash = isLarge ? createHash("sha256") : createHash("sha1").update(`blob ${body.length}\0`);
  return { body, isLarge, etag: hash.update(body).digest("hex") };
}

/** Refuses as the hub does: what went wrong is in two headers, and in the body of all but HEAD. */
const refusal =
  (request: IncomingMessage, response: ServerResponse) =>
  (status: number, error: string, words: string): void => {
    const isPage = words.startsWith("<");
    response.writeHead(status, {
      ...(error && { "x-error-code": error }),
      ...(!isPage && { "x-error-message": words }),
      "content-type": isPage ? "text/html" : "application/json",
    });
    const body = isPage ? words : JSON.stringify({ error: words });
    response.end(request.method === "HEAD" ? undefined : body);
  };
