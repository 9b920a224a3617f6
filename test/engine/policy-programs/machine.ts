import * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { IMAGE } from "./declare";

/** A machine component whose child leaves a mark when it is made. */
class Machine extends pulumi.ComponentResource {
  constructor(name: string, inputs: pulumi.Inputs) {
    super("local-serving:index:Machine", name, inputs);
    new command.local.Command(
      "mark",
      { create: `touch ${process.cwd()}/touched` },
      { parent: this },
    );
    this.registerOutputs(inputs);
  }
}

new Machine("dgx", {
  machine: "dgx",
  totalGiB: 121.63,
  hostInstance: { port: 8000, gpuMemoryUtilization: 0.5, maxModelLen: 131072, model: "a" },
  servers: [
    {
      name: "b",
      image: IMAGE,
      command: ["m", "--gpu-memory-utilization", process.env.MACHINE_SHARE ?? "0.45"],
      environment: {},
    },
  ],
});
