/** Longest piece of a line that is handed on: a line without an end must not fill the memory. */
const LONGEST_LINE = 8192;

/** Hands each line of a program's output on, whatever its size. Progress bars end their lines with a carriage return. */
export function eachLine(stream: NodeJS.ReadableStream, line: (text: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const parts = (rest + chunk).split(/\r\n|\n|\r/);
    rest = (parts.pop() ?? "").slice(0, LONGEST_LINE);
    for (const part of parts) line(part.slice(0, LONGEST_LINE));
  });
  stream.on("end", () => {
    if (rest !== "") line(rest);
  });
}
