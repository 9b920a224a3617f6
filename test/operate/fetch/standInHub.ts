import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export const MODEL = "org/model";
export const COMMIT = "c".repeat(40);

/** A file of the stand-in's only model. */
interface Content {
  readonly body: Buffer;
  readonly etag: string;
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
  /** Answers nothing but this. */
  status?: number;
}

/**
 * The paths that huggingface_hub asks of the hub: one model, with every byte counted that is sent
 * of its large files.
 */
export class StandInHub {
  readonly files: ReadonlyMap<string, Content>;
  /** `GET path bytes=FROM-` of each request for a large file. */
  readonly asked: string[] = [];
  readonly tokens = new Set<string>();
  sent = 0;
  behaviour: HubBehaviour = {};

  /** What it says that its model is for. */
  task = "text-generation";

  /** Files in `own` stand beside the usual ones, or alone with `only`. */
  constructor(largeBytes = 4_000_000, own: Readonly<Record<string, string>> = {}, only = false) {
    const file = (body: Buffer): Content => ({
      body,
      etag: createHash("sha256").update(body).digest("hex"),
    });
    const shard = "model-00001-of-00002.safetensors";
    const index = {
      metadata: { total_size: 2 * largeBytes },
      weight_map: { a: shard, b: shard.replace("1", "2") },
    };
    const usual: [string, Content][] = [
      ["config.json", file(Buffer.from("{}"))],
      ["model.safetensors.index.json", file(Buffer.from(JSON.stringify(index)))],
      [shard, file(randomBytes(largeBytes))],
      [shard.replace("1", "2"), file(randomBytes(largeBytes))],
      ["original/weights.bin", file(randomBytes(1000))],
    ];
    const given = Object.entries(own).map(
      ([path, text]) => [path, file(Buffer.from(text))] as const,
    );
    this.files = new Map([...(only ? [] : usual), ...given]);
  }

  readonly answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://hub");
    const given = request.headers.authorization?.replace("Bearer ", "");
    if (given !== undefined) this.tokens.add(given);
    const { token, gated, status } = this.behaviour;
    const fail = (code: number, error: string, words: string) => {
      response.writeHead(code, {
        "x-error-code": error,
        "x-error-message": words,
        "content-type": "application/json",
      });
      response.end(request.method === "HEAD" ? undefined : JSON.stringify({ error: words }));
    };
    if (status !== undefined)
      return fail(status, "", status === 429 ? "Too Many Requests" : "Internal Error");
    if (token !== undefined && given !== token)
      return fail(401, "RepoNotFound", "Invalid username or password.");
    const [, revision, more = ""] =
      new RegExp(`^/api/models/${MODEL}/(?:revision|tree)/([^/?]+)(.*)$`).exec(url.pathname) ?? [];
    const [, at, path] = new RegExp(`^/${MODEL}/resolve/([^/]+)/(.+)$`).exec(url.pathname) ?? [];
    const asked = revision ?? at;
    if (asked === undefined) return fail(404, "RepoNotFound", "Repository not found");
    if (!["main", COMMIT].includes(asked))
      return fail(404, "RevisionNotFound", `Invalid rev id: ${asked}`);
    if (path === undefined)
      return this.list(url.pathname.includes("/tree/") && more === "", response);
    if (gated)
      return fail(
        403,
        "GatedRepo",
        `Access to model ${MODEL} is restricted and you are not in the authorized list.`,
      );
    const content = this.files.get(decodeURIComponent(path));
    if (content === undefined) return fail(404, "EntryNotFound", "Entry not found");
    await this.send(request, response, path, content);
  };

  private list(tree: boolean, response: ServerResponse): void {
    const files = [...this.files].map(([path, { body, etag }]) => ({
      path,
      size: body.length,
      etag,
    }));
    const siblings = files.map(({ path, size, etag }) => ({
      rfilename: path,
      size,
      blobId: etag.slice(0, 40),
      lfs: { sha256: etag, size, pointerSize: 130 },
    }));
    const entries = files.map(({ path, size, etag }) => ({
      type: "file",
      path,
      size,
      oid: etag.slice(0, 40),
      lfs: { oid: etag, size, pointerSize: 130 },
    }));
    const model = {
      id: MODEL,
      modelId: MODEL,
      pipeline_tag: this.task,
      sha: COMMIT,
      private: false,
      gated: false,
      tags: [],
      downloads: 0,
      siblings,
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(tree ? entries : model));
  }

  private async send(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    { body, etag }: Content,
  ) {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const isLarge = path.endsWith(".safetensors");
    response.writeHead(from > 0 ? 206 : 200, {
      ...{
        etag: `"${etag}"`,
        "x-linked-etag": `"${etag}"`,
        "x-repo-commit": COMMIT,
        "accept-ranges": "bytes",
      },
      ...{ "x-linked-size": body.length, "content-length": body.length - from },
      ...(from > 0 ? { "content-range": `bytes ${from}-${body.length - 1}/${body.length}` } : {}),
    });
    if (request.method === "HEAD") return void response.end();
    if (isLarge) this.asked.push(`${path} from ${from}`);
    const cut = isLarge ? this.behaviour.cuts?.shift() : undefined;
    const end = cut === undefined ? body.length : Math.min(body.length, from + cut);
    const step = 50_000;
    for (let at = from; at < end && !response.destroyed; at += step) {
      const piece = body.subarray(at, Math.min(at + step, end));
      response.write(piece);
      if (isLarge) this.sent += piece.length;
      const { bytesPerSecond } = this.behaviour;
      if (bytesPerSecond !== undefined) await sleep((piece.length / bytesPerSecond) * 1000);
    }
    if (cut === undefined) response.end();
    else setTimeout(() => response.destroy(), 100);
  }
}
