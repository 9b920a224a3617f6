import { shellWord } from "../../../components/host/shellWords";
import { isLoopback } from "../../../components/planned/reach";
import { APPLY, type Diagnosis } from "../diagnosis";
import { type Evidence, machineEdit, seen, seenAny, setting, textSetting } from "../evidence";
import { sign, startSign } from "../sign";

/** Port of the simple server unless the stack file says otherwise. */
const PORT = 11434;

/** Ollama's own word of where it listens. */
const LISTENING = sign("Listening on ", /Listening on (\[?[\d.:a-f]+\]?):(\d+) \(version/);
const REFUSED_FROM_AFAR = sign(
  ["11434", "declared for the network, it does not answer"],
  /(?:dial tcp |connect to |ECONNREFUSED )(?!127\.|0\.0\.0\.0|localhost)[\w.-]+(?: port |:)11434\b|declared for the network, it does not answer on/,
);
const PORT_TAKEN = startSign(
  ["address already in use", "port is already allocated"],
  /(?:listen tcp |bind: |Bind for |address \(')?([\d.]+|\[::\]|\*)?(?:', |:)(\d{2,5})\)?[:)]?.{0,60}(?:address already in use|port is already allocated)|(?:address already in use|port is already allocated).{0,60}?[:(' ](\d{4,5})\b/,
);
const IN_A_VOLUME = sign(
  ["OLLAMA_MODELS:/root/.ollama", "/var/lib/docker/volumes/"],
  /OLLAMA_MODELS:\/root\/\.ollama|\/var\/lib\/docker\/volumes\/[\w.-]*(?:ollama|webui)[\w.-]*\/_data/,
);
const ON_CPU = sign(
  ["library=cpu", "no compatible GPUs", "offloaded 0/", "100% CPU"],
  /"?inference compute"?.{0,40}library=cpu|no compatible GPUs were discovered|offloaded 0\/\d+ layers to GPU|\b100% CPU\b/,
);
const NO_ACCESS = startSign(
  ["ensure path elements are traversable", "permission denied"],
  /mkdir (\S+?): (?:permission denied\S* ?)?-? ?ensure path elements are traversable|Error: (?:mkdir|open|stat) (\/\S*(?:ollama|models)\S*): permission denied/,
);

/** The simple server is asked for by something that is not on the machine, or by a container. */
function wantedFromAfar(evidence: Evidence): boolean {
  const host = textSetting(evidence, "clients", "host");
  const asked = setting(evidence, "chatUi", "connections");
  const byChatUi =
    setting(evidence, "chatUi") !== undefined && (!Array.isArray(asked) || asked.includes("simple-server"));
  return byChatUi || (host !== undefined && !isLoopback(host));
}

/** Ollama on every address; one that isn't declared yet is declared with it. */
function openToAll(evidence: Evidence) {
  const everywhere = "0.0.0.0";
  return textSetting(evidence, "simpleServer", "mode") === "none"
    ? machineEdit(evidence, ["simpleServer"], { mode: "host", listen: everywhere })
    : machineEdit(evidence, ["simpleServer", "listen"], everywhere);
}

const onLoopback: Diagnosis = {
  id: "ollama-on-loopback",
  source: 'specification, Errors: "Reachable locally but not from another machine (simple server)"',
  caughtBy: "the plan's warning `loopback-only`, where a container is to reach it",
  signs: [LISTENING, REFUSED_FROM_AFAR],
  judge(evidence) {
    const port = Number(setting(evidence, "simpleServer", "port") ?? PORT);
    const said = seen(evidence, LISTENING);
    const socket = evidence.sockets?.filter((each) => each.port === port) ?? [];
    const bySocket = socket.length > 0 && socket.every((each) => isLoopback(each.address));
    const byLog = said !== undefined && isLoopback(said.groups[0] ?? "");
    const refused = seen(evidence, REFUSED_FROM_AFAR);
    if (!bySocket && !byLog && refused === undefined) return undefined;
    const declared = textSetting(evidence, "simpleServer", "listen") ?? textSetting(evidence, "listen");
    const open = declared !== undefined && !isLoopback(declared);
    const known = evidence.stack !== undefined;
    // Loopback by choice is no trouble.
    if (refused === undefined && known && !open && !wantedFromAfar(evidence)) return undefined;
    const shown =
      refused?.line ??
      (byLog ? said.line : `${socket.map((each) => each.address).join(", ")}:${port} is all that listens`);
    return {
      cause: open
        ? `Ollama listens on loopback although ${declared} is declared: the override was not applied, or the service was not restarted.`
        : "Ollama listens on loopback only, so no other machine and no container reaches it.",
      evidence: shown,
      ...(open
        ? {
            advice:
              "Nothing in the stack file: write the drop-in that the plan prints and restart the service.",
          }
        : { edits: [openToAll(evidence)] }),
      command: open ? "serving plan && sudo systemctl daemon-reload && sudo systemctl restart ollama" : APPLY,
    };
  },
};

const portTaken: Diagnosis = {
  id: "port-taken",
  source: 'specification, Errors: "Port 11434 already in use"',
  caughtBy: "the preflight of `up`, which asks what listens on each port",
  signs: [PORT_TAKEN],
  judge(evidence) {
    const hit = seen(evidence, PORT_TAKEN);
    const failed = evidence.containers?.find(({ error }) =>
      /port is already allocated|address already in use/.test(error),
    );
    if (hit === undefined && failed === undefined) return undefined;
    const said = hit ?? {
      groups: [...(/:(\d{2,5})\b/.exec(failed?.error ?? "") ?? [])],
      line: failed?.error ?? "",
    };
    const port = Number(said.groups.filter((group) => /^\d+$/.test(group)).at(-1) ?? 0);
    const simple = port === Number(setting(evidence, "simpleServer", "port") ?? PORT);
    return {
      cause: simple
        ? `Port ${port} is taken: by an earlier container, by the chat UI's integrated image or by a second Ollama.`
        : `Port ${port} is taken by another program.`,
      evidence: said.line,
      advice:
        "Nothing in the stack file: see who listens and stop it, by container name or by port. Instance A stays.",
      command: `ss -lntp 'sport = :${port}'; ps -ef | grep -i [o]llama; docker ps --filter publish=${port}`,
    };
  },
};

const modelsInVolume: Diagnosis = {
  id: "ollama-models-in-volume",
  source: 'specification, Errors: "Models written to a container volume path"',
  caughtBy: "the preflight of `up`, which asks the port who answers",
  signs: [IN_A_VOLUME],
  judge(evidence) {
    if (setting(evidence, "simpleServer", "mode") === "integrated") return undefined;
    const hit = seen(evidence, IN_A_VOLUME);
    const container = evidence.containers?.find(
      ({ status, mounts }) =>
        status === "running" && mounts.some(({ target }) => target.startsWith("/root/.ollama")),
    );
    if (hit === undefined && container === undefined) return undefined;
    const name = container?.name ?? hit?.log.container ?? "<container>";
    return {
      cause:
        "An Ollama in a container answers, and keeps its models in a volume: what is pulled there is invisible to the one on the host.",
      evidence:
        hit?.line ??
        `container ${name}: ${container?.mounts.find(({ target }) => target.startsWith("/root/.ollama"))?.source} at /root/.ollama`,
      advice:
        "Nothing in the stack file: stop that container and pull the models on the host. Its volume is left as it is.",
      command: `docker ps --filter name=${shellWord(name)}; docker stop ${shellWord(name)} && sudo systemctl restart ollama`,
    };
  },
};

const onCpu: Diagnosis = {
  id: "ollama-on-cpu",
  source: "NVIDIA/dgx-spark-playbooks #16, PR #23: Ollama fell back to the CPU",
  caughtBy: false,
  signs: [ON_CPU],
  judge(evidence) {
    const hit = seen(evidence, ON_CPU);
    if (hit === undefined) return undefined;
    return {
      cause:
        "Ollama computes on the CPU: it found no GPU, or the servers left too little memory for the model when it was loaded.",
      evidence: hit.line,
      advice:
        "Nothing in the stack file: see that the driver answers, start Ollama after the servers, and take a smaller `simpleServer.contextLength` if the memory is short.",
      command: "nvidia-smi -L && sudo systemctl restart ollama && ollama ps",
    };
  },
};

const noAccess: Diagnosis = {
  id: "ollama-models-unreachable",
  source: "ollama docs/faq: the model directory must be open to the user `ollama`, parents included",
  caughtBy: "the preflight of `up`, which follows the directory from the root",
  signs: [NO_ACCESS],
  judge(evidence) {
    const hit = seenAny(evidence, NO_ACCESS);
    if (hit === undefined) return undefined;
    const user = textSetting(evidence, "simpleServer", "serviceUser") ?? "ollama";
    const path =
      textSetting(evidence, "simpleServer", "modelsDirectory") ??
      hit.groups.find((group) => group !== "")?.replace(/:$/, "") ??
      "";
    return {
      cause: `Ollama can't make or open its model directory: it runs as ${user}, and the directory or one of its parents is closed to that user.`,
      evidence: hit.line,
      advice: "Nothing in the stack file, unless another `simpleServer.modelsDirectory` is wanted.",
      // The path may be from a log, and a log from anybody.
      command: `sudo install -d -o ${user} -g ${user} -m 0755 ${shellWord(path)} && namei -l ${shellWord(path)}`,
    };
  },
};

export const simpleServer: readonly Diagnosis[] = [onLoopback, portTaken, modelsInVolume, onCpu, noAccess];
