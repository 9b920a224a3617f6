import "./faults/interpretSchemas";
import { declareMachines } from "./components/program/declareMachines";
import { stackInForce } from "./components/program/stackInForce";
import { tellingBugs } from "./components/program/tellingBugs";

/** The Pulumi program: every machine of the stack file in force, and its outputs. */
export = tellingBugs(async () => declareMachines(stackInForce()));
