/** `organisation/name`, or `name` alone as the hub's oldest models have it. */
const HUB_ID = /^[\w.-]+(?:\/[\w.-]+)?$/;

/** A form of a GGUF file behind an id, which vLLM takes: `org/name-GGUF:Q4_K_M`. */
const GGUF_FORM = /:(?:UD-)?(?:I?Q\d|TQ\d|BF16|F16|F32|MXFP4)\w*$/;

/** The hub's addresses, as a browser and huggingface_hub write them. */
const ADDRESS =
  /^(?:https?:\/\/)?(?:www\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com)\/(?:models\/)?|^hf:\/*/i;

/** Where Ollama's own models are. */
const OLLAMA_ADDRESS = /^(?:https?:\/\/)?(?:www\.|registry\.)?ollama\.(?:com|ai)\//i;

/** What of a page's path is behind the id: a branch or commit, and a file. */
const PAGE = /\/(?:tree|blob|resolve|raw|commit)\/([^/]+).*$|\/(?:tree|blob|discussions)\/?$/;

const COMMIT = /^[0-9a-f]{40}$/;

const revisionBeside = (revision: string | undefined): string =>
  revision !== undefined && COMMIT.test(revision) ? ` and \`revision: ${revision}\`` : "";

/** Forms of another name for a model, each with what is said of it. */
const FORMS: readonly ((id: string) => string | undefined)[] = [
  ofAddress,
  ofRevision,
  ofOllama,
  ofBackslashes,
  ofCacheFolder,
  ofSlashes,
];

/**
 * Why a text is no id of the hub's, and what to write in its place; `undefined` for an id, and for
 * a path.
 */
export function notAHubId(id: string): string | undefined {
  if (isIdOrPath(id)) return undefined;
  return (
    nameElsewhere(id) ??
    (id.split("/").length > 2
      ? undefined
      : `\`${id}\` isn't a hub id, which has letters, digits, \`-\`, \`_\` and \`.\` around one \`/\`.`)
  );
}

/**
 * What to write in place of a model's name of another form, such as an address of the hub or a name
 * of Ollama's; `undefined` for any other text.
 */
export function nameElsewhere(id: string): string | undefined {
  if (isIdOrPath(id)) return undefined;
  for (const form of FORMS) {
    const said = form(id);
    if (said !== undefined) return `\`${id}\` ${said}`;
  }
  return undefined;
}

const isIdOrPath = (id: string): boolean =>
  /^[/~.]/.test(id) || (HUB_ID.test(id.replace(GGUF_FORM, "")) && ofCacheFolder(id) === undefined);

function ofAddress(id: string): string | undefined {
  const path = id.replace(ADDRESS, "").replace(/[?#].*$/, "");
  const plain = path.replace(PAGE, "").replace(/[:@][^/]*$|\/+$/g, "");
  const isAddress = ADDRESS.test(id);
  if (!/^[\w.-]+\/[\w.-]+$/.test(plain) || !(isAddress || PAGE.test(path))) return undefined;
  const what = isAddress ? "is an address of the hub" : "is the path of a page";
  return `${what}: write \`${plain}\`${revisionBeside(PAGE.exec(path)?.[1])}.`;
}

function ofRevision(id: string): string | undefined {
  const [, plain, revision = ""] = /^([\w.-]+\/[\w.-]+)@(.*)$/.exec(id) ?? [];
  if (plain === undefined) return undefined;
  const beside = revisionBeside(revision);
  const pinned = beside === "" ? ", and to pin it a commit of 40 hex digits as `revision`" : beside;
  return `names a revision, which no id has: write \`${plain}\`${pinned}.`;
}

/** Whether a text has the form of a name of Ollama's, with a tag: `gpt-oss:20b`. */
export const isOllamaName = (id: string): boolean =>
  /^[\w.-]+:[\w.-]+$/.test(id.trim()) && !isIdOrPath(id.trim());

function ofOllama(id: string): string | undefined {
  const [, plain] = /^([\w.-]+(?:\/[\w.-]+)?):[\w.-]*$/.exec(id) ?? [];
  const isTheirs = OLLAMA_ADDRESS.test(id);
  if (plain === undefined && !isTheirs) return undefined;
  return plain?.includes("/") && !isTheirs
    ? `has a tag, as names of Ollama's have: write \`${plain}\`.`
    : "is a name of Ollama's: write the model's hub id (`organisation/name`), or declare it in `simpleServer.models`.";
}

function ofBackslashes(id: string): string | undefined {
  if (!id.includes("\\")) return undefined;
  const plain = id.replaceAll("\\", "/");
  return HUB_ID.test(plain)
    ? `has a backslash: write \`${plain}\`.`
    : "is a path as Windows writes it. For a folder of the machine, write the whole path, which starts with `/` or `~/`.";
}

function ofCacheFolder(id: string): string | undefined {
  const [, organisation, name] = /^models--([\w.-]+?)--([\w.-]+)$/.exec(id) ?? [];
  return name === undefined
    ? undefined
    : `is the name of a folder in the model cache: write \`${organisation}/${name}\`.`;
}

function ofSlashes(id: string): string | undefined {
  const plain = id.replace(/\/+$/, "").replace(/\/{2,}/g, "/");
  return plain !== id && HUB_ID.test(plain)
    ? `has a slash too many: write \`${plain}\`.`
    : undefined;
}
