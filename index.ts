import "./faults/interpretSchemas";
import {
  declareMachines,
  LocalServing,
  Serving,
  stackInForce,
  tellingBugs,
} from "./components/program";

const program = tellingBugs(async () => declareMachines(stackInForce()));

/**
 * The Pulumi program: every machine of the stack file in force, and its outputs. Beside it stands
 * what the package gives to other programs (component.cjs).
 */
export = Object.assign(program, { LocalServing, Serving });
