import { engineBench } from "./engineBench";
import { planBench } from "./planBench";

/** Prints the figures of the design's table; asserts none of them. */
async function main(): Promise<void> {
  await planBench();
  await engineBench();
}

void main();
