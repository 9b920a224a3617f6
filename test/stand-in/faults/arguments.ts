/** Servers that were started with other arguments than the plan's. */
export const argumentFaults = {
  /** The hub id comes first, so every answer carries a name that no coding client can address. */
  "slash-in-id": (argv: readonly string[]) =>
    names(argv, ([first = "", ...aliases]) => [...aliases, first]),
  "alias-missing": (argv: readonly string[]) => names(argv, ([first = ""]) => [first]),
  "wrong-max-model-len": (argv: readonly string[]) => [...argv, "--max-model-len", "65536"],
  /** Without a reasoning parser the thoughts arrive in the text. */
  "no-reasoning-parser": (argv: readonly string[]) => [...argv, "--reasoning-parser", ""],
  "no-prefix-caching": (argv: readonly string[]) => [...argv, "--no-enable-prefix-caching"],
};

/** The argv with other values behind `--served-model-name`. */
function names(argv: readonly string[], change: (names: string[]) => string[]): string[] {
  const at = argv.indexOf("--served-model-name") + 1;
  const end = argv.findIndex((word, index) => index >= at && word.startsWith("--"));
  return [...argv.slice(0, at), ...change(argv.slice(at, end)), ...argv.slice(end)];
}
