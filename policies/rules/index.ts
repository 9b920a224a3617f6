import { aggregateUtilization } from "./aggregateUtilization";
import { bridgePrefix } from "./bridgePrefix";
import { clientBaseUrl, clientServer, clientTiers } from "./clients";
import { engineNames } from "./engineNames";
import { hostPorts } from "./hostPorts";
import { denyList, movingTag, transformersRange } from "./images";
import { inferenceContainer } from "./inferenceContainer";
import { inferenceImage } from "./inferenceImage";
import { lanExposure } from "./lanExposure";
import { memorySum, otherGpuMemory } from "./memorySum";
import { modelsOnDemand } from "./onDemand";
import { adapterNames, serverMounts } from "./ownModels";
import { reasoningParser, toolCalling } from "./parsers";
import { ranksAgree } from "./ranksAgree";
import type { Rule } from "./rule";
import { secretValues } from "./secretValues";
import { servedModelName } from "./servedModelName";
import { serverStarts } from "./serverStarts";
import { simpleServerPlace } from "./simpleServerPlace";

/** Every rule, in the order in which verdicts are shown. The first three can't be lowered. */
export const rules: readonly Rule[] = [
  aggregateUtilization,
  servedModelName,
  inferenceImage,
  memorySum,
  serverStarts,
  otherGpuMemory,
  movingTag,
  denyList,
  transformersRange,
  engineNames,
  inferenceContainer,
  serverMounts,
  adapterNames,
  hostPorts,
  ranksAgree,
  toolCalling,
  reasoningParser,
  clientBaseUrl,
  clientTiers,
  clientServer,
  bridgePrefix,
  simpleServerPlace,
  modelsOnDemand,
  secretValues,
  lanExposure,
];
