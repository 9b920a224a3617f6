import "@local-serving/base/faults/interpretSchemas";
import { PolicyPack } from "@pulumi/policy";
import { runtime } from "@pulumi/pulumi";
import { projectAbove } from "../bundle/project.cjs";
import { stackFileOf } from "../components/settings";
import { enginePolicies } from "./enginePolicies";
import { keepFixedLevels } from "./fixedLevels";
import { PACK_VARIABLE } from "./levels";
import { rules } from "./rules";

keepFixedLevels(rules);

// The engine tells the pack its configuration and no folder: the project's is above the pack.
const project = process.env[PACK_VARIABLE] ?? projectAbove(process.cwd()) ?? "";
const document = stackFileOf(runtime.allConfig(), project, runtime.getStack());

new PolicyPack("local-serving", {
  enforcementLevel: "mandatory",
  policies: enginePolicies(rules, (path) => document?.locate(path) ?? {}),
});
