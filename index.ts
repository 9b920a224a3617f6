import "./faults/interpretSchemas";
import { declareMachines, stackInForce, tellingBugs } from "./components/program";

/** The Pulumi program: every machine of the stack file in force, and its outputs. */
export = tellingBugs(async () => declareMachines(stackInForce()));
