import type { LeftOut } from "../command/words";

/** A block of code on a page, by the lines between its fences. */
interface CodeBlock {
  readonly language: string;
  readonly from: number;
  readonly to: number;
}

/** What is read of a page, in the lines that it has there, and its blocks that aren't. */
export interface PageRead {
  readonly text: string;
  readonly leftOut: readonly LeftOut[];
}

/** A text in YAML has its fences inside of values, which are indented. */
const FENCE = /^(```+|~~~+)[ \t]*([\w.+-]*)/;
const SHELL = /^(?:|bash|sh|shell|zsh|console|shell-session|terminal|text|plaintext)$/i;

/** What a script has outside of the fences that it writes; prose has it as code in its lines, if at all. */
const COMMAND_OUTSIDE =
  /^[ \t]*(?:#!|[A-Za-z_]\w*=|(?:\$ |sudo )*(?:docker|podman|nerdctl|vllm|python3?|cat|exec|export|set)(?:\s|$))|vllm serve|api_server|(?:docker|podman) run/;
const CODE_IN_LINE = /`[^`]*`/g;

const NOT_READ = "the page's commands are read: give this block alone if it starts your server.";

/** The commands of a page with prose around its blocks of code; `undefined` for any other text. */
export function pageRead(text: string): PageRead | undefined {
  const lines = text.split("\n");
  const blocks = blocksOf(lines);
  const isOutside = (at: number) => !blocks.some(({ from, to }) => at >= from && at < to);
  const prose = lines.filter(
    (line, at) => isOutside(at) && !FENCE.test(line) && line.trim() !== "",
  );
  if (blocks.length === 0 || prose.length === 0) return undefined;
  if (prose.some((line) => COMMAND_OUTSIDE.test(line.replace(CODE_IN_LINE, "")))) return undefined;
  const speaks = ({ from, to }: CodeBlock) => /vllm/i.test(lines.slice(from, to).join("\n"));
  const shells = blocks.filter(({ language }) => SHELL.test(language));
  const others = blocks.filter((block) => !shells.includes(block) && speaks(block));
  const read = shells.some(speaks) ? shells : others.splice(0, 1);
  if (read.length === 0) return undefined;
  const isRead = (at: number) => read.some(({ from, to }) => at >= from && at < to);
  return {
    text: lines.map((line, at) => (isRead(at) ? line : "")).join("\n"),
    leftOut: others.map(({ language, from }) => ({
      what: `the page's block of ${language}`,
      why: NOT_READ,
      line: from,
    })),
  };
}

function blocksOf(lines: readonly string[]): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open:
    | { readonly fence: string; readonly language: string; readonly from: number }
    | undefined;
  for (const [at, line] of lines.entries()) {
    const [, fence = "", language = ""] = FENCE.exec(line) ?? [];
    if (fence === "") continue;
    if (open === undefined) open = { fence, language, from: at + 1 };
    else if (fence.startsWith(open.fence)) {
      blocks.push({ language: open.language, from: open.from, to: at });
      open = undefined;
    }
  }
  return blocks;
}
