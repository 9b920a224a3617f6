import type { Mount } from "../planned/container";
import type { FileRole, PlannedFile } from "../planned/file";
import { isLoopback, originFromContainer } from "../planned/reach";
import { VLLM_DEFAULT_UTILIZATION } from "../planned/utilization";
import type { MachineSettings } from "../settings/machine";

/** Where the gate finds what is declared of instance A, inside the container: a folder, so that a new file is seen. */
const FOLDER_INSIDE = "/run/local-serving";
const FILE = "instance-a";

const SECONDS_PER_MINUTE = 60;

/**
 * What a server's container runs first. After a reboot Docker starts it at once, perhaps before instance A has its
 * memory: so it starts the server when there is room for both, or when instance A answers and there is room for its own
 * share, or, once instance A has had its time, when there has been room for its own share for a minute without a fall of
 * more than 1 GiB. Until then it sleeps, and says why once a minute. An unreadable meminfo holds nobody up: vLLM checks
 * for itself.
 *
 * POSIX sh, since the image decides which shell there is; times are counted in sleeps, since a clock may jump after a
 * boot; sleep and curl run in the background, so that TERM is taken at once. What is declared of instance A is read from a
 * file each time, so that a correction restarts nothing and is heard by one that waits. The words `set` and `shift` and any second
 * assignment of the arguments stay out: the policies follow `"$@"` to the arguments that vLLM gets.
 */
export const START_GATE = `trap 'exit 143' TERM INT
share=${VLLM_DEFAULT_UTILIZATION}
for word do
  case $last in --gpu-memory-utilization) share=$word ;; esac
  last=$word
done
answers() {
  [ -n "$a_url" ] || return 1
  curl -fsS -m 3 -o /dev/null "$a_url" 2>/dev/null &
  wait $!
}
waited=0 steady=0 held=0
while :; do
  room= a_share=0 a_url= a_seconds=0
  [ -r ${FOLDER_INSIDE}/${FILE} ] && . ${FOLDER_INSIDE}/${FILE}
  eval "$(LC_ALL=C awk -v share="$share" -v a="$a_share" '
    $1 == "MemTotal:" { total = $2 / 1048576 }
    $1 == "MemAvailable:" { free = $2 / 1048576 }
    END {
      own = share * total; both = own + a * total; room = "none"
      if (free >= own) room = "own"
      if (free >= both) room = "all"
      if (total > 0) printf "room=%s free=%.2f mib=%d own=%.2f both=%.2f\\n", room, free, free * 1024, own, both
    }' /proc/meminfo 2>/dev/null)"
  [ "$room" = all ] && break
  [ -n "$room" ] || { echo "start gate: MemAvailable is not readable here; starting without it"; break; }
  if [ "$room" = own ]; then
    answers && break
    [ "$mib" -ge $((held - 1024)) ] && [ "$held" -gt 0 ] && steady=$((steady + 5)) || { steady=0 held=$mib; }
    [ "$waited" -ge "$a_seconds" ] && [ "$steady" -ge 60 ] && {
      echo "start gate: instance A did not answer for $waited s, and $free GiB have been available for a minute: starting without it"
      break
    }
  else
    steady=0 held=0
  fi
  if [ $((waited % 60)) -eq 0 ]; then
    if [ "$room" = none ]; then
      echo "start gate: waiting for $own GiB ($share of the memory), $free GiB are available"
    else
      echo "start gate: $free GiB are available, $own are needed; waiting for instance A, which does not answer \${a_url:-(it listens on loopback only)}, or for $both GiB"
    fi
  fi
  sleep 5 &
  wait $!
  waited=$((waited + 5))
done
[ "$waited" -eq 0 ] || echo "start gate: open after $waited s, $free GiB are available"
trap - TERM INT
exec vllm serve "$@"
`;

/** The entrypoint that puts the gate before `vllm serve`; the container's command stays vLLM's own arguments. */
export function gatedEntrypoint(): string[] {
  return ["/bin/sh", "-c", START_GATE, "start-gate"];
}

/** What the gate has to know of instance A, as a file on the machine that a shell reads. */
export function gateFile({ instanceA }: MachineSettings, folder: string): PlannedFile<FileRole> {
  const url = instanceA === "none" ? undefined : instanceAFromContainer(instanceA);
  const facts =
    instanceA === "none"
      ? ["# There is none."]
      : [
          `a_share=${instanceA.gpuMemoryUtilization}`,
          `a_seconds=${instanceA.readyWithinMinutes * SECONDS_PER_MINUTE}`,
          ...(url === undefined ? [] : [`a_url=${url}/health`]),
        ];
  const about =
    "# Made by local-serving from instanceA in the stack file, for the start gate: change it there.";
  return {
    role: "start-gate",
    path: `${folder}/${FILE}`,
    mode: "0644",
    text: `${[about, ...facts].join("\n")}\n`,
  };
}

/** The folder of that file in a container. */
export function gateMount(folder: string): Mount {
  return { type: "bind", source: folder, target: FOLDER_INSIDE, readOnly: true };
}

/** Where a container reaches instance A; `undefined` when it listens on loopback only. */
export function instanceAFromContainer(instanceA: {
  readonly listen: string;
  readonly port: number;
}): string | undefined {
  const { listen, port } = instanceA;
  return isLoopback(listen) ? undefined : originFromContainer({ address: listen, port });
}
