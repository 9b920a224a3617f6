import { createHash } from "node:crypto";
import type { RequestListener } from "node:http";
import { httpServer } from "../../layers/httpServer";

export interface StandInRegistry {
  /** `localhost:PORT`, as it begins an image's name. */
  readonly address: string;
  /** Every request as `METHOD /path?query`, with ` (token)` where it carried the token. */
  readonly asked: string[];
}

export const digestOf = (tag: string): string =>
  `sha256:${createHash("sha256").update(tag).digest("hex")}`;

interface Behaviour {
  /** Tags on one page; all by default. */
  readonly pageSize?: number;
  /** What it asks a public reader for: nothing, a token that anybody gets, or a login. */
  readonly wants?: "token" | "login" | "token-refused";
  /** Tags that it gives no digest of. */
  readonly without?: readonly string[];
  /** Digests that are known, by tag. */
  readonly digests?: Readonly<Record<string, string>>;
  /** Platforms of each image; a single one is no index. */
  readonly platforms?: readonly string[];
  /** Variables that each image sets. */
  readonly variables?: readonly string[];
}

/** The digest of a tag's image for one platform. */
export const partOf = (tag: string, platform: string): string => digestOf(`${tag} ${platform}`);

const CONFIGURATION = digestOf("configuration");
const IMAGE = { config: { digest: CONFIGURATION } };

/** What a manifest holds: an index of all platforms, or one image. */
function manifestOf(digest: string, tag: string | undefined, platforms: readonly string[]) {
  if (platforms.some((each) => tag !== undefined && partOf(tag, each) === digest)) return IMAGE;
  if (platforms.length === 1) return IMAGE;
  const manifests = platforms.map((each) => {
    const [os, architecture] = each.split("/");
    return { digest: partOf(tag ?? "", each), platform: { os, architecture } };
  });
  const attests = {
    digest: digestOf("attests"),
    platform: { os: "unknown", architecture: "unknown" },
  };
  return { manifests: [...manifests, attests] };
}

/** As much of a registry's HTTP API as `serving pin` reads, with the tags of one repository. */
export async function standInRegistry(
  repository: string,
  tags: readonly string[],
  {
    pageSize = Number.MAX_SAFE_INTEGER,
    wants,
    without = [],
    digests = {},
    platforms = ["linux/amd64", "linux/arm64"],
    variables = [],
  }: Behaviour = {},
): Promise<StandInRegistry> {
  const asked: string[] = [];
  const listener: RequestListener = ({ method, url = "", headers }, response) => {
    const keyed = headers.authorization === "Bearer anybody";
    asked.push(`${method} ${url}${keyed ? " (token)" : ""}`);
    const at = new URL(url, "http://localhost");
    const json = (status: number, value: unknown) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(method === "HEAD" ? undefined : JSON.stringify(value));
    };
    // Needs no token, and is shown none.
    if (!keyed && at.pathname === `/elsewhere/${CONFIGURATION}`) {
      const [os, architecture] = (platforms[0] ?? "").split("/");
      return json(200, { os, architecture, config: { Env: variables } });
    }
    if (at.pathname === "/token") return json(wants === "token" ? 200 : 403, { token: "anybody" });
    if (wants === "login") response.setHeader("www-authenticate", 'Basic realm="registry"');
    if (wants?.startsWith("token"))
      response.setHeader(
        "www-authenticate",
        `Bearer realm="http://${headers.host}/token",service="stand-in",scope="x"`,
      );
    if (wants !== undefined && !keyed) return json(401, { errors: [{ code: "UNAUTHORIZED" }] });
    const [, kind, name] =
      new RegExp(`^/v2/${repository}/(manifests|blobs)/(.+)$`).exec(at.pathname) ?? [];
    if (kind === "blobs") {
      response.setHeader("location", `/elsewhere/${name}`);
      return json(307, {});
    }
    const pinned = tags.find((each) =>
      [digests[each] ?? digestOf(each), ...platforms.map((one) => partOf(each, one))].includes(
        name ?? "",
      ),
    );
    if (name !== undefined && pinned !== undefined)
      return json(200, manifestOf(name, pinned, platforms));
    const tag = name;
    if (tag !== undefined) {
      if (!tags.includes(tag)) return json(404, { errors: [{ code: "MANIFEST_UNKNOWN" }] });
      // Without the newer forms in `accept`, registries answer with the digest of another manifest.
      const index = headers.accept?.includes("application/vnd.oci.image.index.v1+json");
      if (!without.includes(tag))
        response.setHeader(
          "docker-content-digest",
          index ? (digests[tag] ?? digestOf(tag)) : digestOf("old form"),
        );
      return json(200, {});
    }
    if (at.pathname !== `/v2/${repository}/tags/list`)
      return json(404, { errors: [{ code: "NAME_UNKNOWN" }] });
    const from = tags.indexOf(at.searchParams.get("last") ?? "") + 1;
    const page = tags.slice(from, from + pageSize);
    if (from + pageSize < tags.length)
      response.setHeader(
        "link",
        `</v2/${repository}/tags/list?n=1000&last=${page.at(-1)}>; rel="next"`,
      );
    return json(200, { name: repository, tags: page });
  };
  const { port } = await httpServer(listener);
  return { address: `localhost:${port}`, asked };
}
