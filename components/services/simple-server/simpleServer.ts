import { readFileSync } from "node:fs";
import { join } from "node:path";
import { local } from "@pulumi/command";
import { ComponentResource, type ComponentResourceOptions, type Resource } from "@pulumi/pulumi";
import { SystemdDropIn } from "../../host";
import type { HostSimpleServerPlan } from "./plannedSimpleServer";
import { simpleServer } from "./service";

/** Pulls one model with progress. The model and the address travel in the environment. */
export const PULL_MODEL = readFileSync(join(__dirname, "pullModel.sh"), "utf8");

/** Seconds that a restarted Ollama gets to listen; it takes one or two. */
const ANSWER_WITHIN_SECONDS = 20;

/** A model of 40 GB over a slow line takes hours. */
const PULL_TIMEOUT = "6h";

export interface SimpleServerArgs {
  /** Machine that Ollama runs on. */
  readonly machine: string;
  readonly server: HostSimpleServerPlan;
  readonly elevate: "none" | readonly string[];
}

/** Ollama on the host: the drop-in of its unit, and the models that are to be there. */
export class SimpleServer extends ComponentResource {
  constructor(name: string, args: SimpleServerArgs, opts?: ComponentResourceOptions) {
    const { machine, server, elevate } = args;
    const { unit, listen, port, models, pull } = server;
    const facts = { machine, mode: server.mode, unit, listen, port, models: [...models], pull };
    super(simpleServer.component, name, facts, opts);
    const dropIn: Resource[] =
      elevate === "none"
        ? []
        : [
            new SystemdDropIn(
              server.dropIn.resource,
              { unit, file: server.dropIn, elevate },
              { parent: this },
            ),
          ];
    for (const model of pull ? models : []) {
      new local.Command(
        `${name}-pull-${model}`,
        {
          // There is no `delete`: models are never removed.
          create: 'sh -c "$PULL_MODEL"',
          environment: {
            PULL_MODEL,
            MODEL: model,
            BASE_URL: server.baseUrl,
            ANSWER_WITHIN_SECONDS: String(ANSWER_WITHIN_SECONDS),
          },
          addPreviousOutputInEnv: false,
        },
        {
          parent: this,
          dependsOn: dropIn,
          customTimeouts: { create: PULL_TIMEOUT, update: PULL_TIMEOUT },
        },
      );
    }
    this.registerOutputs();
  }
}
