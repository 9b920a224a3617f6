export function utilizationOf(argv: readonly string[]): number | undefined {
  const at = argv.indexOf("--gpu-memory-utilization");
  return at < 0 ? undefined : Number(argv[at + 1]);
}
