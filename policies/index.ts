import { join } from "node:path";
import { PolicyPack } from "@pulumi/policy";
import { runtime } from "@pulumi/pulumi";
import { stackFileOf } from "../components/settings";
import { enginePolicies } from "./enginePolicies";
import { keepFixedLevels } from "./fixedLevels";
import { rules } from "./rules";

keepFixedLevels(rules);

// The engine tells the pack its configuration and no folder: the project's is the one that holds
// the pack.
const document = stackFileOf(runtime.allConfig(), join(__dirname, ".."), runtime.getStack());

new PolicyPack("local-serving", {
  enforcementLevel: "mandatory",
  policies: enginePolicies(rules, (path) => document?.locate(path) ?? {}),
});
