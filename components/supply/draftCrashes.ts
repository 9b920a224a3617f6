import { objectOr } from "@local-serving/base/faults/json";
import reports from "./draftCrashes.json";
import { atLeast, isPep440 } from "./releases";

/** A report of a server that its drafts broke. */
interface DraftCrash {
  readonly family: string;
  /** A regular expression. */
  readonly method: string;
  /** Tokens a step that it ran with; one that makes as many or more is like it. */
  readonly drafts: number;
  readonly vllm: string;
  readonly machine: string;
  readonly seen: string;
  readonly source: string;
  readonly date: string;
}

/** Models of one kind of layers. */
interface Family {
  /** How their names begin, as a regular expression. */
  readonly names: string;
  /** `model_type` of their config.json. */
  readonly types: readonly string[];
}

const CRASHES: readonly DraftCrash[] = reports.crashes;
const FAMILIES: Readonly<Record<string, Family>> = reports.families;

/** A server's drafts, and the model that makes them or has them checked. */
interface Drafts {
  readonly id: string;
  readonly config?: unknown;
  readonly method: string;
  readonly count: number;
  /** The server's vLLM, where that is known. */
  readonly vllm?: string | undefined;
}

/** Says with which drafts, versions and counts servers like this one broke; `undefined` without any report. */
export function draftCrashes(drafts: Drafts): string | undefined {
  const { method, count, vllm } = drafts;
  const known = CRASHES.filter(
    (each) => new RegExp(each.method).test(method) && each.drafts <= count && isLike(drafts, each),
  );
  if (known.length === 0) return undefined;
  const said = known.map(
    (each) =>
      `${each.seen} (${each.drafts} drafts, vLLM ${each.vllm}, ${each.machine}: ${each.source}, ${each.date})`,
  );
  const isNewer =
    vllm !== undefined &&
    isPep440(vllm) &&
    known.every((each) => isPep440(each.vllm) && !atLeast(each.vllm, vllm));
  const newer = isNewer ? ` No report of vLLM ${vllm} is known, for or against.` : "";
  return `drafts by ${method} have broken servers of such a model. If it dies of a CUDA fault, delete \`speculative\`. Seen: ${said.join("; ")}.${newer}`;
}

function isLike({ id, config }: Drafts, { family }: DraftCrash): boolean {
  const { names = "(?!)", types = [] } = FAMILIES[family] ?? {};
  const type = String(objectOr(config).model_type).replace(/_text$/, "");
  const name = id.slice(id.lastIndexOf("/") + 1).toLowerCase();
  return types.includes(type) || new RegExp(names).test(name);
}
