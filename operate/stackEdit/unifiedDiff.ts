/** Unchanged lines shown around a change, as `diff -u` has it. */
const CONTEXT = 3;

const NO_NEWLINE = "\\ No newline at end of file";

interface DiffLine {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

/** The difference of two texts as `git apply` and `patch -p1` take it; empty where there is none. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return "";
  const lines = diffLines(splitLines(before), splitLines(after));
  const hunks = hunksOf(lines).map((hunk) => hunkText(lines, hunk));
  return [`--- a/${name}`, `+++ b/${name}`, ...hunks].join("\n").concat("\n");
}

/** Lines with their newlines, so that a missing last one is a difference. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    before[before.length - 1 - tail] === after[after.length - 1 - tail]
  )
    tail++;
  const same = (text: string): DiffLine => ({ kind: " ", text });
  return [
    ...before.slice(0, head).map(same),
    ...changedLines(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** Longest common subsequence: quadratic, and a stack file is short. */
function changedLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const old = before[i];
    const fresh = after[j];
    if (old !== undefined && old === fresh) {
      lines.push({ kind: " ", text: old });
      i++;
      j++;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "-", text: old });
      i++;
    } else if (fresh !== undefined) {
      lines.push({ kind: "+", text: fresh });
      j++;
    }
  }
  return lines;
}

interface Hunk {
  readonly from: number;
  readonly to: number;
}

/** Changes closer than twice the context share a hunk. */
function hunksOf(lines: readonly DiffLine[]): Hunk[] {
  const hunks: { from: number; to: number }[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.kind === " ") continue;
    const from = Math.max(0, index - CONTEXT);
    const to = Math.min(lines.length, index + CONTEXT + 1);
    const last = hunks.at(-1);
    if (last !== undefined && from <= last.to) last.to = to;
    else hunks.push({ from, to });
  }
  return hunks;
}

function hunkText(lines: readonly DiffLine[], { from, to }: Hunk): string {
  const shown = lines.slice(from, to);
  const range = (kind: "-" | "+") => {
    const count = shown.filter((line) => line.kind !== (kind === "-" ? "+" : "-")).length;
    const earlier = lines.slice(0, from).filter((line) => line.kind !== (kind === "-" ? "+" : "-")).length;
    return `${kind}${count === 0 ? earlier : earlier + 1},${count}`;
  };
  const body = shown.map(({ kind, text }) =>
    text.endsWith("\n") ? `${kind}${text.slice(0, -1)}` : `${kind}${text}\n${NO_NEWLINE}`,
  );
  return [`@@ ${range("-")} ${range("+")} @@`, ...body].join("\n");
}
