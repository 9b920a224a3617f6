import { PolicyPack } from "@pulumi/policy";
import { enginePolicies } from "./enginePolicies";
import { keepFixedLevels } from "./fixedLevels";
import { rules } from "./rules";

keepFixedLevels(rules);

new PolicyPack("local-serving", { enforcementLevel: "mandatory", policies: enginePolicies(rules) });
