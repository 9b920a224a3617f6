import { aggregateUtilization } from "./aggregateUtilization";
import { bridgePrefix } from "./bridgePrefix";
import { clientBaseUrl, clientServer, clientTiers } from "./clients";
import { engineNames } from "./engineNames";
import { hostPorts } from "./hostPorts";
import { denyList, inferenceImage, movingTag, transformersRange } from "./images";
import { inferenceContainer } from "./inferenceContainer";
import { lanExposure } from "./lanExposure";
import { memorySum } from "./memorySum";
import { otherGpuMemory } from "./otherGpuMemory";
import { ranksAgree } from "./ranksAgree";
import { reasoningParser } from "./reasoningParser";
import type { Rule } from "./rule";
import { secretValues } from "./secretValues";
import { servedModelName } from "./servedModelName";
import { serverStarts } from "./serverStarts";
import { simpleServerPlace } from "./simpleServerPlace";
import { toolCalling } from "./toolCalling";

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
  hostPorts,
  ranksAgree,
  toolCalling,
  reasoningParser,
  clientBaseUrl,
  clientTiers,
  clientServer,
  bridgePrefix,
  simpleServerPlace,
  secretValues,
  lanExposure,
];
