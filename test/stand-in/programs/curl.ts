/** curl's exit codes for what a healthcheck meets. */
const EXIT = { usage: 2, connect: 7, status: 22, timeout: 28 };

/**
 * `curl` of the image, as far as a healthcheck needs it: `-f`, `-s`, `-S`, `-o FILE`, `-m SECONDS`,
 * one URL.
 */
async function main(argv: readonly string[]): Promise<number> {
  const url = argv.find((word) => word.startsWith("http://"));
  if (url === undefined) return EXIT.usage;
  const after = (...names: string[]) => argv[argv.findIndex((word) => names.includes(word)) + 1];
  const limited = argv.some((word) => word === "-m" || word === "--max-time");
  const seconds = limited ? Number(after("-m", "--max-time")) : 30;
  const fail = argv.some((word) => word === "--fail" || /^-[a-zA-Z]*f/.test(word));
  const quiet = argv.some(
    (word) => word === "-o" || word === "--output" || /^-[a-zA-Z]*o$/.test(word),
  );
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(seconds * 1000) });
    const text = await response.text();
    if (fail && !response.ok) return EXIT.status;
    if (!quiet) process.stdout.write(text);
    return 0;
  } catch (error) {
    return error instanceof Error && error.name === "TimeoutError" ? EXIT.timeout : EXIT.connect;
  }
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
