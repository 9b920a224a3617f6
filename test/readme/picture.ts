import { hanging } from "@local-serving/base/commandLine/layout";

/** A command as somebody typed it, and the lines of its output that a picture shows. */
export interface Shown {
  readonly typed: string;
  readonly lines: readonly string[];
}

const COLUMNS = 96;
const LINE_HEIGHT = 17;
const CHARACTER_WIDTH = 7.25;
const MARGIN = 18;

/** Colours of a light and a dark page, by the class of a line. */
const STYLE = `
    .page { fill: #f8fafc; stroke: #cbd5e1 }
    text { fill: #1e293b }
    .typed { fill: #0369a1; font-weight: 700 }
    .refused { fill: #b91c1c }
    .gone { fill: #b45309 }
    .heading { font-weight: 700 }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #30363d }
      text { fill: #d1d9e0 }
      .typed { fill: #58a6ff }
      .refused { fill: #ff7b72 }
      .gone { fill: #e3b341 }
    }`;

/**
 * From the first line that matches `from` to the one before `to`. A picture never shows less than
 * it was made for: text that is not there is an error.
 */
export function cut(output: string, from: RegExp, to?: RegExp): string[] {
  const lines = output.trimEnd().split("\n");
  const start = lines.findIndex((line) => from.test(line));
  if (start < 0) throw new Error(`no line ${from} in:\n${output}`);
  const end =
    to === undefined ? start + 1 : lines.findIndex((line, at) => at > start && to.test(line));
  if (end < 0) throw new Error(`no line ${to} behind ${from} in:\n${output}`);
  return lines.slice(start, end);
}

/** A terminal as a picture: the commands with what they print, as plain text. */
export const terminal = (title: string, steps: readonly Shown[]): string =>
  drawn(
    title,
    steps.flatMap(({ typed, lines }, at) => [
      ...(at === 0 ? [] : [""]),
      `$ ${typed}`,
      ...lines.flatMap(wrapped),
    ]),
  );

/** Markdown as a page shows it, in one type of letters. */
export const comment = (title: string, lines: readonly string[]): string =>
  drawn(title, lines.join("\n").trimEnd().split("\n").flatMap(wrapped));

function drawn(title: string, lines: readonly string[]): string {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH) + 2 * MARGIN;
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN;
  const rows = lines.flatMap((line, at) => {
    const kind = kindOf(line);
    const y = MARGIN + (at + 0.75) * LINE_HEIGHT;
    const style = kind === "" ? "" : ` class="${kind}"`;
    const text = escaped(line.replace(HEADING, ""));
    return line === "" ? [] : [`  <text x="${MARGIN}" y="${y}"${style}>${text}</text>`];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12" xml:space="preserve" role="img" aria-labelledby="t">`,
    `  <title id="t">${escaped(title)}</title>`,
    `  <style>${STYLE}\n  </style>`,
    `  <rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...rows,
    "</svg>\n",
  ].join("\n");
}

/** The lines of one that is wider than the picture. */
function wrapped(line: string): string[] {
  const [lead = ""] = /^\s*(?:- )?/.exec(line) ?? [];
  return (lead + hanging(line.slice(lead.length), lead.length, COLUMNS)).split("\n");
}

const HEADING = /^#+ /;

function kindOf(line: string): string {
  if (line.startsWith("$ ")) return "typed";
  if (HEADING.test(line)) return "heading";
  if (/REFUSED|^Refused|^ {2}x |TOO MUCH/.test(line)) return "refused";
  return /\bis gone (?:for|until)\b|^- Ask before/.test(line) ? "gone" : "";
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
