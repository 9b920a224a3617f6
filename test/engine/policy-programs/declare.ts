import * as docker from "@pulumi/docker";
import * as pulumi from "@pulumi/pulumi";

/** A Docker host that nobody reaches: a preview needs no daemon. */
export const provider = new docker.Provider("nowhere", { host: "ssh://nobody@nowhere.invalid" });

export const DIGEST = `sha256:${"8a69ffad".repeat(8)}`;
export const IMAGE = `vllm/vllm-openai:v0.30.0@${DIGEST}`;

export function container(name: string, args: Partial<docker.ContainerArgs>) {
  return new docker.Container(name, { image: IMAGE, ...args }, { provider });
}

/** An inference server with all that its container must have. */
export function server(
  name: string,
  command: pulumi.Input<pulumi.Input<string>[]>,
  more: object = {},
) {
  return container(name, {
    command,
    gpus: "all",
    ipcMode: "host",
    restart: "unless-stopped",
    ...more,
  });
}

/** A declaration that is nothing but its inputs. */
export class Declaration extends pulumi.ComponentResource {
  constructor(type: string, name: string, inputs: pulumi.Inputs) {
    super(`local-serving:index:${type}`, name, inputs);
    this.registerOutputs(inputs);
  }
}

export function record(name: string, digest: string, versions: object, evidence = "read") {
  return new Declaration("ImageRecord", name, { digest, versions, evidence, source: "test" });
}
