import { engineBench } from "./engineBench";
import { furtherMachines } from "./furtherMachines";
import { planBench } from "./planBench";
import { worstInputs } from "./worstInputs";

async function main(): Promise<void> {
  await planBench();
  furtherMachines();
  worstInputs();
  await engineBench();
}

void main();
