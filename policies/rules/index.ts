import { aggregateUtilization } from "./aggregateUtilization";
import { bridgePrefix } from "./bridgePrefix";
import { clientBaseUrl, clientServer, clientTiers } from "./clients";
import { denyList } from "./denyList";
import { engineNames } from "./engineNames";
import { hostPorts } from "./hostPorts";
import { inferenceContainer } from "./inferenceContainer";
import { inferenceImage } from "./inferenceImage";
import { lanExposure } from "./lanExposure";
import { memorySum } from "./memorySum";
import { movingTag } from "./movingTag";
import { otherGpuMemory } from "./otherGpuMemory";
import { reasoningParser } from "./reasoningParser";
import type { Rule } from "./rule";
import { secretValues } from "./secretValues";
import { servedModelName } from "./servedModelName";
import { serverStarts } from "./serverStarts";
import { simpleServerPlace } from "./simpleServerPlace";
import { toolCalling } from "./toolCalling";
import { transformersRange } from "./transformersRange";

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
