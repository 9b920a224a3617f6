import "@local-serving/base/faults/interpretSchemas";
import { declareMachines, stackInForce, tellingBugs } from "./components/program";

// What the package gives to other programs (component.cjs), and to its own plugin.
export { LocalServing, Serving } from "./components/program";

/** The Pulumi program: every machine of the stack file in force, and its outputs. */
export default tellingBugs(async () => declareMachines(stackInForce()));
