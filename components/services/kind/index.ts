export {
  askingOnDemand,
  type FromFiles,
  ON_DEMAND_KEY_INSIDE,
  type OnDemandAccess,
  serviceContainer,
  serviceMemory,
  settingFromFiles,
  textOfFile,
} from "./container";
export { RunningService, type RunningServiceArgs } from "./runningService";
export { otherKind } from "./servers";
export {
  type DeclaredServer,
  type PlannedService,
  type ServiceContext,
  type ServiceFault,
  service,
} from "./service";
