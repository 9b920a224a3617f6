import { engineBench } from "./engineBench";
import { planBench } from "./planBench";
import { worstInputs } from "./worstInputs";

async function main(): Promise<void> {
  await planBench();
  worstInputs();
  await engineBench();
}

void main();
