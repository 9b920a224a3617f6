import { engineBench } from "./engineBench";
import { planBench } from "./planBench";

async function main(): Promise<void> {
  await planBench();
  await engineBench();
}

void main();
