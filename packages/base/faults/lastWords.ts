/**
 * What programs print behind their reason: docker's and our own hint at the help, which containers
 * docker's reason is about, how `tar` ends, and where npm wrote more. A form that `grep -E` and
 * Python take, too: the scripts on a machine read this table (`NO_REASON`, `noReason`).
 */
export const NO_REASON = `^(${[
  "(See|Run) '.+ --help'( for more information)?\\.?",
  "\\(add --help for an example\\)",
  // Since version 28 without its first word.
  "(Error: )?failed to [a-z]+ containers?: .+",
  "tar: (Exiting|Error is not recoverable).*",
  ".*A complete log of this run.*",
].join("|")})$`;

/**
 * What vLLM says because one of its processes ended: at most where to look for the cause. The reader
 * of logs and llama-swap's wrapper pass over it by this table, which Python takes, too.
 */
export const POINTS_ELSEWHERE =
  "See (the )?(root cause|stack trace)|in a background process|EngineDead|EngineCore encountered an issue|Engine core initialization failed|check the stack trace";

const NONE = new RegExp(NO_REASON);

/** Docker shows how a command is used behind what is wrong with it. */
const USAGE = /^Usage:\s/;

/** How a reason of docker's begins, which may have several lines. */
const BEGINS = /^(?:docker: |Error response from daemon: |error during connect: )/;

/**
 * The reason in what a failed program printed: its last line that gives one, and of docker's the
 * whole of it. Where no line does, it is the last one; `""` of nothing.
 */
export function lastWords(printed: string): string {
  const said = printed.split(/[\r\n]+/).filter((line) => /\S/.test(line));
  const usage = said.findIndex((line) => USAGE.test(line));
  const lines = (usage > 0 ? said.slice(0, usage) : said).filter((line) => !NONE.test(line));
  const begin = lines.findLastIndex((line) => BEGINS.test(line));
  const reason =
    begin < 0
      ? lines.at(-1)
      : lines
          .slice(begin)
          .map((line) => line.trim())
          .join(" ");
  return (reason ?? said.at(-1) ?? "").trim().replace(/^docker: /, "");
}
