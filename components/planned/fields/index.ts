/**
 * The door of the fields: forms that settings and facts take, and the names of servers that aren't
 * ours.
 */
export {
  AN_OPTION,
  bridgedServer,
  bytes,
  containerImage,
  containerPath,
  count,
  gibibytes,
  gigabytes,
  hostPath,
  INSTANCE_A,
  isPlainPath,
  isProto,
  listenAddress,
  nonEmptyText,
  oneAddress,
  oneLine,
  PLAIN_PATH,
  PROTO,
  plainWord,
  port,
  required,
  SIMPLE_SERVER,
  servedName,
  serverReference,
  shortName,
  textMatching,
  usual,
  utilization,
  variableName,
  word,
} from "./fields";
export { isOllamaName, nameElsewhere, notAHubId } from "./hubId";
