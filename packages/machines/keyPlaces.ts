import { posix } from "node:path";
import { defined } from "@local-serving/base/faults/defined";
import { isIn } from "./home";

/** A place below a home where a program keeps keys, tokens or passwords. */
interface KeyPlace {
  /** Whose keys they are, or in what; left out where the name says it. */
  readonly of?: string;
  /** It lies in a folder that servers are given for another reason, so only itself counts. */
  readonly alone?: true;
}

/**
 * Files and folders below a home, by what their programs document. One that lies in another stands
 * before it.
 */
const BELOW_HOME: Readonly<Record<string, KeyPlace>> = {
  ".ssh": {},
  ".gnupg": {},
  ".aws": {},
  ".azure": {},
  ".config/gh": { of: "the GitHub CLI's" },
  ".config/gcloud": { of: "Google Cloud's" },
  ".config/op": { of: "1Password's" },
  ".config": {},
  ".docker": {},
  ".kube": {},
  ".pulumi": {},
  ".codex": { of: "Codex's" },
  ".claude": { of: "Claude Code's" },
  ".claude.json": { of: "Claude Code's" },
  ".copilot": { of: "Copilot's" },
  ".cursor": { of: "Cursor's" },
  ".gemini": { of: "Gemini CLI's" },
  ".qwen": { of: "Qwen Code's" },
  ".pi": { of: "pi's" },
  ".anthropic": { of: "Anthropic's" },
  ".openai": { of: "OpenAI's" },
  ".continue": { of: "Continue's" },
  ".aider.conf.yml": { of: "aider's" },
  ".ollama/id_ed25519": { of: "Ollama's" },
  ".local/share/opencode": { of: "opencode's" },
  ".local/share/crush": { of: "Crush's" },
  ".local/share/keyrings": { of: "the desktop's" },
  ".local/share/kwalletd": { of: "the desktop's" },
  ".local/share/gnupg": {},
  ".local/share/pass": { of: "pass's" },
  ".password-store": { of: "pass's" },
  ".pki": { of: "the browsers'" },
  ".mozilla": { of: "Firefox's" },
  ".thunderbird": { of: "Thunderbird's" },
  ".netrc": { of: "curl's and git's" },
  _netrc: { of: "curl's and git's" },
  ".git-credentials": { of: "git's" },
  ".npmrc": { of: "npm's" },
  ".yarnrc.yml": { of: "yarn's" },
  ".pypirc": { of: "PyPI's" },
  ".cargo/credentials": { of: "cargo's" },
  ".cargo/credentials.toml": { of: "cargo's" },
  ".gem/credentials": { of: "RubyGems'" },
  ".m2/settings.xml": { of: "Maven's" },
  ".gradle/gradle.properties": { of: "Gradle's" },
  ".modelscope/credentials": { of: "ModelScope's" },
  ".huggingface": { of: "Hugging Face's" },
  ".cache/huggingface/token": { of: "Hugging Face's", alone: true },
  ".cache/huggingface/stored_tokens": { of: "Hugging Face's", alone: true },
  ".ngc": { of: "NVIDIA NGC's" },
  ".kaggle": { of: "Kaggle's" },
  ".terraform.d": { of: "Terraform's" },
  ".terraformrc": { of: "Terraform's" },
  ".vault-token": { of: "Vault's" },
  ".oci": { of: "Oracle Cloud's" },
  ".boto": { of: "Google Cloud's" },
  ".s3cfg": { of: "s3cmd's" },
  ".rclone.conf": { of: "rclone's" },
  ".minikube": { of: "minikube's" },
  ".wrangler": { of: "Cloudflare's" },
  ".local/share/com.vercel.cli": { of: "Vercel's" },
  ".cloudflared": { of: "Cloudflare's" },
  ".fly": { of: "Fly.io's" },
  ".databrickscfg": { of: "Databricks'" },
  ".pgpass": { of: "PostgreSQL's" },
  ".my.cnf": { of: "MySQL's" },
  ".mylogin.cnf": { of: "MySQL's" },
  ".jupyter": { of: "Jupyter's" },
  ".vnc": { of: "VNC's" },
  ".electrum": { of: "Electrum's" },
  ".bitcoin": { of: "Bitcoin Core's" },
  ".bash_history": { of: "in typed commands" },
  ".zsh_history": { of: "in typed commands" },
  ".env": { of: "in variables" },
};

/** A home as people write it: `~`, root's and those of users. */
const HOME = /^(?:~|\/root|(?:\/var)?\/home\/[^/]+)(?=\/|$)/;

/** What of a path is below a home; `undefined` elsewhere, and "" is the home itself. */
function belowHome(path: string, home?: string): string | undefined {
  const plain = posix
    .normalize(path)
    .replace(/^\/+/, "/")
    .replace(/(.)\/$/, "$1");
  const own = home === undefined || !isIn(plain, home) ? HOME.exec(plain)?.[0] : home;
  return own === undefined ? undefined : plain.slice(own.length).replace(/^\//, "");
}

/** What a folder has to do with keys. */
export interface KeysFound {
  /** `in`: the path is such a place or lies in one; `below`: one lies in the path; or a whole home. */
  readonly is: "in" | "below" | "home";
  /** The place, as `~/.codex`. */
  readonly place: string;
  readonly of?: string;
}

/**
 * The place of keys that whoever is given a path of a machine can read; `undefined` if none is
 * known. `home` is the operator's, where it isn't one of the usual ones.
 */
export function keysAt(path: string, home?: string): KeysFound | undefined {
  const own = belowHome(path, home);
  if (own === undefined) return undefined;
  if (own === "") return { is: "home", place: "~" };
  const places = Object.keys(BELOW_HOME);
  const around = places.find((place) => isIn(own, place));
  if (around !== undefined) return found("in", around);
  const inside = places.find((place) => !BELOW_HOME[place]?.alone && isIn(place, own));
  return inside === undefined ? undefined : found("below", inside);
}

const found = (is: "in" | "below", place: string): KeysFound => ({
  is,
  place: `~/${place}`,
  ...defined({ of: BELOW_HOME[place]?.of }),
});

/** What such a place is, in words. */
export const whereKeysAre = ({ of }: KeysFound): string =>
  `where programs keep keys${of === undefined ? "" : ` (${of})`}`;
