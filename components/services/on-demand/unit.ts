import { HERE, isOverSsh } from "@local-serving/machines/address";
import { environmentLine } from "../../host";
import type { OnDemandPlan } from "./onDemandPlan";

/** What starting and stopping may take beside the longest grace, in seconds. */
const MORE_SECONDS = 90;

/**
 * The systemd user unit of llama-swap. Every server that starts on request is stopped before it
 * starts and after it ended, however it ended: nothing runs that it doesn't know.
 */
export function unitText(
  planned: OnDemandPlan,
  { machine, dockerHost }: { readonly machine: string; readonly dockerHost: string },
): string {
  const { address, port, folder, program, keyPath = "", servers } = planned;
  const wrapper = `/usr/bin/env python3 -I "${folder.replaceAll("%", "%%")}/on-demand.py"`;
  const seconds = MORE_SECONDS + Math.max(0, ...servers.map((each) => each.graceSeconds));
  const environment = {
    LOCAL_SERVING_MACHINE: machine,
    LOCAL_SERVING_LISTEN: `${address}:${port}`,
    LOCAL_SERVING_KEY_FILE: keyPath,
    LOCAL_SERVING_PROGRAM: program.path,
    LOCAL_SERVING_CONFIG: `${folder}/config.yaml`,
    LOCAL_SERVING_DECLARED: `${folder}/on-demand.json`,
    LOCAL_SERVING_STATE: `${folder}/state`,
    // An engine of its own, such as a rootless one; over ssh it is the machine's usual one.
    ...(dockerHost === HERE || isOverSsh({ dockerHost }) ? {} : { DOCKER_HOST: dockerHost }),
  };
  const lines = [
    "# Made by local-serving from the stack file: change it there.",
    "[Unit]",
    `Description=Models on demand of ${machine} (llama-swap)`,
    "StartLimitIntervalSec=0",
    "",
    "[Service]",
    ...Object.entries(environment).map(([name, value]) => environmentLine(name, value)),
    `ExecStartPre=${wrapper} stop-all`,
    `ExecStart=${wrapper} run`,
    `ExecStopPost=${wrapper} stop-all`,
    "Restart=always",
    "RestartSec=2",
    "KillMode=mixed",
    `TimeoutStartSec=${seconds}`,
    `TimeoutStopSec=${seconds}`,
    "",
    "[Install]",
    "WantedBy=default.target",
  ];
  return `${lines.join("\n")}\n`;
}
