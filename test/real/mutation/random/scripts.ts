import { spawnSync } from "node:child_process";
import type { Mutant } from "../mutants";

/** A mutant of a script, and the whole script with it. */
export interface ScriptMutant extends Mutant {
  readonly text: string;
}

/** How a language writes what the mutants of its lines change. */
interface Language {
  /** Begins a function and names it. */
  readonly named: RegExp;
  /** Word and condition of a line that asks. */
  readonly asks: RegExp;
  readonly not: (condition: string) => string;
  /** Lines that do nothing by themselves. */
  readonly frame: RegExp;
  readonly nothing: string;
  /** Fails where the text on stdin is no script. */
  readonly parse: readonly [string, ...string[]];
}

const SHELL: Language = {
  named: /^([a-z_]+)\(\)/,
  asks: /^(\s*(?:if|elif|while|until) )(.+?)(; (?:then|do).*)$/,
  not: (condition) => `! { ${condition}; }`,
  frame: /^(if|elif|else|fi|for|while|until|do|done|case|esac|then)\b|^[{}]|^;;|^[a-z_]+\(\) \{/,
  nothing: ":",
  parse: ["sh", "-n"],
};

const PYTHON: Language = {
  named: /^(?:def|class) (\w+)/,
  asks: /^(\s*(?:if|elif|while) )(.+)(:)$/,
  not: (condition) => `not (${condition})`,
  frame: /^(if|elif|else|for|while|try|except|finally|with|def|class|pass|import|from)\b|^"""|^@/,
  nothing: "pass",
  parse: ["python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())"],
};

/** The mutants of a script's lines: a condition negated, a command left out, a number one more. */
export function scriptMutants(file: string, source: string): ScriptMutant[] {
  const language = languageOf(file);
  const lines = source.split("\n");
  const mutants: ScriptMutant[] = [];
  let within = "";
  let isQuoted = false;
  for (const [index, line] of lines.entries()) {
    within = language.named.exec(line)?.[1] ?? (/^\S/.test(line) ? "" : within);
    const quotes = line.split('"""').length - 1;
    const isProse = isQuoted || quotes > 0 || /^\s*(#|$)/.test(line);
    if (quotes % 2 === 1) isQuoted = !isQuoted;
    if (isProse) continue;
    for (const changed of changesOf(line, language)) {
      const text = lines.with(index, changed).join("\n");
      const to = changed.trim() === language.nothing ? "" : squeezed(changed);
      mutants.push({ file, line: index + 1, within, from: squeezed(line), to, text });
    }
  }
  return mutants;
}

const squeezed = (line: string): string => line.trim().replace(/\s+/g, " ");

function changesOf(line: string, { asks, not, frame, nothing }: Language): string[] {
  const [, before, condition, after] = asks.exec(line) ?? [];
  const negated = condition === undefined ? [] : [`${before}${not(condition)}${after}`];
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  const leftOut = frame.test(line.trim()) ? [] : [indent + nothing];
  const numbers = [...line.matchAll(/(?<![\w.$#{&>])\d+(?![\w.]|>)/g)].map(
    ({ 0: number, index }) =>
      line.slice(0, index) + (Number(number) + 1) + line.slice(index + number.length),
  );
  return [...negated, ...leftOut, ...numbers];
}

/** A line out of the middle of a command, left out, leaves no script. */
export function isScript(file: string, text: string): boolean {
  const [program, ...args] = languageOf(file).parse;
  return spawnSync(program, args, { input: text }).status === 0;
}

const languageOf = (file: string): Language => (file.endsWith(".py") ? PYTHON : SHELL);
