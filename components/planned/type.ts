/** Type tokens of the resources: ours, and the one of others that is judged. */
export const TYPE = {
  localServing: "local-serving:index:LocalServing",
  machine: "local-serving:index:Machine",
  hostInstance: "local-serving:index:HostInstance",
  inferenceServer: "local-serving:index:InferenceServer",
  imageRecord: "local-serving:index:ImageRecord",
  onDemand: "local-serving:index:OnDemand",
  monitoring: "local-serving:index:Monitoring",
  client: "local-serving:index:Client",
  harnessFiles: "local-serving:index:HarnessFiles",
  containerService: "local-serving:index:ContainerService",
  hostFile: "local-serving:index:HostFile",
  systemdDropIn: "local-serving:index:SystemdDropIn",
  container: "docker:index/container:Container",
} as const;
