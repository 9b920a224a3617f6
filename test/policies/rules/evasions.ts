import { TYPE } from "../../../components/planned/type";
import {
  container,
  DIGEST,
  declared,
  hostInstance,
  IMAGE,
  UNKNOWN_LIST,
  UNKNOWN_TEXT,
} from "../declared";

type Props = Record<string, unknown>;

/**
 * The fixed rules that refuse an attempt: `sum` aggregate-utilization, `name` served-model-name,
 * `image` inference-image.
 */
export type By = "sum" | "name" | "image";

/** What is attempted, what is declared, and which fixed rules refuse it. */
export type Attempt = readonly [what: string, declares: Props | readonly Props[], ...by: By[]];

/** What the fixed rules let through on purpose, and why. */
export type OutOfScope = readonly [what: string, declares: Props, why: string];

/** Somebody's own image, which says nothing of what is in it. */
const OWN = `own/server:1@${DIGEST}`;
const ALL = { gpus: "all" };
/** Too large a share, and a first name with a slash. */
const BAD = "org/m --gpu-memory-utilization 0.95";
const FINE = "--served-model-name m --gpu-memory-utilization 0.4";

const words = (text: string) => (text === "" ? [] : text.split(" "));
/** Arguments of vLLM's own image. */
const own = (text: string, more: Props = {}) => ({
  image: IMAGE,
  ...ALL,
  command: words(text),
  ...more,
});
/** A command of somebody's own image. */
const runs = (command: string | readonly unknown[], more: Props = {}) => ({
  image: OWN,
  ...ALL,
  command: typeof command === "string" ? words(command) : command,
  ...more,
});
const sh = (script: string, more: Props = {}) => runs(["sh", "-c", script], more);
const bash = (script: string, more: Props = {}) => runs(["bash", "-c", script], more);
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Spellings of vLLM's own arguments. */
// biome-ignore format: one row a line
const SPELLINGS: readonly Attempt[] = [
  ["plain", own(BAD), "sum", "name"],
  ["nothing at all: vLLM's defaults", own(""), "sum", "name"],
  ["a model alone", own("org/m"), "sum", "name"],
  ["equals sign", own("m --gpu-memory-utilization=0.95"), "sum"],
  ["underscores", own("m --gpu_memory_utilization 0.95"), "sum"],
  ["underscores and dashes mixed", own("m --gpu_memory-utilization=0.95"), "sum"],
  ["an abbreviation", own("m --gpu-mem 0.95"), "sum"],
  ["the shortest abbreviation", own("m --gpu 0.95"), "sum"],
  ["an abbreviation with underscores", own("m --gpu_mem=0.95"), "sum"],
  ["an abbreviation that fits two options", own(`m ${FINE} --max-num 8`), "sum", "name"],
  ["the other name of the option", own("m --device-memory-utilization 0.95"), "sum"],
  ["the other name, abbreviated", own("m --device-mem 0.95"), "sum"],
  ["repeated, the last one large", own(`m ${FINE} --gpu-memory-utilization 0.95`), "sum"],
  ["repeated under its other name", own(`m ${FINE} --device-memory-utilization=0.95`), "sum"],
  ["repeated as an abbreviation", own(`m ${FINE} --gpu-mem=0.95`), "sum"],
  ["a name repeated", own(`m ${FINE} --served-model-name org/m`), "name"],
  ["a name abbreviated", own(`m ${FINE} --served org/m`), "name"],
  ["a name with underscores", own(`m ${FINE} --served_model_name=org/m`), "name"],
  ["a good name second", own("m --gpu-memory-utilization 0.4 --served-model-name org/m m"), "name"],
  ["an empty name", own(["m --gpu-memory-utilization 0.4 --served-model-name="].join("")), "name"],
  ["a name that is a path", own(`m ${FINE} --served-model-name /models/m`), "name"],
  ["a local model without a name", own("/models/m --gpu-memory-utilization 0.4"), "name"],
  ["the model behind the options", own("--gpu-memory-utilization 0.4 org/m"), "name"],
  ["the model as an option", own("--model org/m --gpu-memory-utilization=0.4"), "name"],
  ["the model behind --", own("--gpu-memory-utilization 0.4 -- org/m"), "name"],
  ["another model behind the first", own("--model=org/m --gpu-memory-utilization=0.4 m"), "name"],
  ["scientific notation", own("m --gpu-memory-utilization 9.5e-1"), "sum"],
  ["a point in front", own("m --gpu-memory-utilization .95"), "sum"],
  ["a sign in front", own("m --gpu-memory-utilization +0.95"), "sum"],
  ["spaces around", own("", { command: ["m", "--gpu-memory-utilization", " 0.95 "] }), "sum"],
  ["digits of another script", own("m --gpu-memory-utilization ０.９５"), "sum"],
  ["digits with an underscore", own("m --gpu-memory-utilization 0.9_5"), "sum"],
  ["a percentage", own("m --gpu-memory-utilization 95%"), "sum"],
  ["infinity", own("m --gpu-memory-utilization inf"), "sum"],
  ["no number", own("m --gpu-memory-utilization nan"), "sum"],
  ["negative, to make room for another", own("m --gpu-memory-utilization -0.5"), "sum"],
  ["a file of options", own(`m ${FINE} --config /etc/vllm.yaml`), "sum", "name"],
  ["a file of options, equals sign", own(`m ${FINE} --config=/etc/vllm.yaml`), "sum", "name"],
  ["a file of options, abbreviated", own(`m ${FINE} --conf /etc/vllm.yaml`), "sum", "name"],
  ["a fixed KV cache beside a small share", own(`m ${FINE} --kv-cache-memory-bytes 120G`), "sum"],
  ["a fixed KV cache, abbreviated", own(`m ${FINE} --kv-cache-mem=120G`), "sum"],
  ["a switch that swallows nothing", own("m --enforce-eager --gpu-memory-utilization 0.95"), "sum"],
  ["a list that ends at an option", own("m --served-model-name m n --gpu-memory-utilization 0.95"), "sum"],
  ["entrypoint without arguments", own("", { entrypoints: ["vllm", "serve"] }), "sum", "name"],
  ["entrypoint and command split", own(`serve ${BAD}`, { entrypoints: ["vllm"] }), "sum", "name"],
  ["an empty entrypoint", own(`vllm serve ${BAD}`, { entrypoints: [""] }), "sum", "name"],
  ["an entrypoint that hides the arguments", own("", { entrypoints: ["/start.sh"] }), "sum", "name"],
];

/** Programs in front of vLLM, in an image whose name says nothing. */
// biome-ignore format: one row a line
const PROGRAMS: readonly Attempt[] = [
  ["vllm serve", runs(`vllm serve ${BAD}`), "sum", "name"],
  ["by its path", runs(`/opt/venv/bin/vllm serve ${BAD}`), "sum", "name"],
  ["by a relative path", runs(`./vllm serve ${BAD}`), "sum", "name"],
  ["entrypoint and command split", runs(`serve ${BAD}`, { entrypoints: ["vllm"] }), "sum", "name"],
  ["python runs the script", runs(`python3 /usr/local/bin/vllm serve ${BAD}`), "sum", "name"],
  ["python -m", runs(`python3 -m vllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["python -m of the command", runs(`python -m vllm.entrypoints.cli.main serve ${BAD}`), "sum", "name"],
  ["python -m vllm", runs(`python -m vllm serve ${BAD}`), "sum", "name"],
  ["-m without a space", runs(`python -mvllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["-m of the command without a space", runs(`python -mvllm.entrypoints.cli.main serve ${BAD}`), "sum", "name"],
  ["-m among other letters", runs(`python -Im vllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["-m among letters, without a space", runs(`python -Imvllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["the plain server of vLLM", runs("python -m vllm.entrypoints.api_server --model org/m"), "sum", "name"],
  ["vLLM's gRPC server", runs("python -m vllm.entrypoints.grpc_server --model org/m"), "sum", "name"],
  ["vLLM's batch runner", runs("python -m vllm.entrypoints.openai.run_batch --model org/m"), "sum", "name"],
  ["a module under a profiler", runs(`python -m cProfile -m vllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["a module that runs a module", runs(`python -m runpy vllm.entrypoints.openai.api_server --model ${BAD}`), "sum", "name"],
  ["the file of the server", runs(`python /x/vllm/entrypoints/openai/api_server.py --model ${BAD}`), "sum", "name"],
  ["the file of the plain server", runs("python /x/vllm/entrypoints/api_server.py --model org/m"), "sum", "name"],
  ["the file of the command", runs(`python /x/vllm/entrypoints/cli/main.py serve ${BAD}`), "sum", "name"],
  ["gunicorn", runs("gunicorn vllm.entrypoints.openai.api_server:app"), "sum", "name"],
  ["python -c", runs(["python", "-c", "from vllm.entrypoints.cli.main import main; main()", "serve", "m"]), "sum", "name"],
  ["python -c with the library", runs(["python", "-c", "import vllm; vllm.LLM('org/m')"]), "sum", "name"],
  ["python -c, from vllm", runs(["python", "-c", "from vllm import LLM\nLLM('org/m')"]), "sum", "name"],
  ["python -c with runpy", runs(["python", "-c", "import runpy; runpy.run_module('vllm.entrypoints.openai.api_server')"]), "sum", "name"],
  ["python -c with __import__", runs(["python", "-c", "__import__('vllm').LLM('org/m')"]), "sum", "name"],
  ["python -c with a child", runs(["python", "-c", "import os; os.execvp('vllm', ['vllm', 'serve', 'org/m'])"]), "sum", "name"],
  ["env", runs(`env A=1 vllm serve ${BAD}`), "sum", "name"],
  ["env -S", runs(["env", "-S", `vllm serve ${BAD}`]), "sum", "name"],
  ["nice", runs(`nice -n 5 vllm serve ${BAD}`), "sum", "name"],
  ["timeout", runs(`timeout 1d vllm serve ${BAD}`), "sum", "name"],
  ["tini", runs(`vllm serve ${BAD}`, { entrypoints: ["/usr/bin/tini", "--"] }), "sum", "name"],
  ["dumb-init", runs(`dumb-init -- vllm serve ${BAD}`), "sum", "name"],
  ["numactl", runs(`numactl --membind 0 vllm serve ${BAD}`), "sum", "name"],
  ["stdbuf", runs(`stdbuf -oL vllm serve ${BAD}`), "sum", "name"],
  ["setsid and nohup", runs(`setsid nohup vllm serve ${BAD}`), "sum", "name"],
  ["chroot", runs(`chroot /x vllm serve ${BAD}`), "sum", "name"],
  ["su -c", runs(["su", "user", "-c", `vllm serve ${BAD}`]), "sum", "name"],
  ["runuser", runs(["runuser", "-u", "user", "--", ...words(`vllm serve ${BAD}`)]), "sum", "name"],
  ["taskset", runs(`taskset -c 0-9 vllm serve ${BAD}`), "sum", "name"],
  ["watch", runs(["watch", "-n1", `vllm serve ${BAD}`]), "sum", "name"],
  ["xargs", runs(["sh", "-c", "echo org/m | xargs vllm serve"]), "sum", "name"],
  ["uv run", runs(`uv run --with vllm vllm serve ${BAD}`), "sum", "name"],
  ["conda run", runs(`conda run -n x vllm serve ${BAD}`), "sum", "name"],
  ["nsys profile", runs(`nsys profile -o x vllm serve ${BAD}`), "sum", "name"],
  ["Ray's own start in front", sh(`ray start --head && vllm serve ${BAD}`), "sum", "name"],
  ["busybox's shell", runs(["busybox", "sh", "-c", `vllm serve ${BAD}`]), "sum", "name"],
  ["a whole command line as one word", runs([`vllm serve ${BAD}`]), "sum", "name"],
  ["a wrapper with vLLM's flags", runs(BAD, { entrypoints: ["/start.sh"] }), "sum", "name"],
  ["a wrapper without an entrypoint", runs(`/start.sh ${BAD}`), "sum", "name"],
  ["a wrapper, underscores", runs("/start.sh --gpu_memory_utilization=0.95"), "sum", "name"],
  ["a wrapper, the option's other name", runs("/start.sh --device-memory-utilization 0.95"), "sum", "name"],
  ["a wrapper, the option cut short", runs("/start.sh --gpu-memory-util 0.95"), "sum", "name"],
  ["a wrapper in a shell", sh(`exec /start.sh ${BAD}`), "sum", "name"],
  ["a wrapper in a login shell", runs(["bash", "-lc", `/start.sh ${BAD}`]), "sum", "name"],
  ["a wrapper of another library", runs("trl vllm-serve --model org/m --gpu_memory_utilization 0.95"), "sum", "name"],
];

/** Shells, in an image whose name says nothing. */
// biome-ignore format: one row a line
const SHELLS: readonly Attempt[] = [
  ["sh -c", sh(`vllm serve ${BAD}`), "sum", "name"],
  ["sh -c in the entrypoint", runs([`vllm serve ${BAD}`], { entrypoints: ["/bin/sh", "-c"] }), "sum", "name"],
  ["bash -lc", runs(["bash", "-lc", `vllm serve ${BAD}`]), "sum", "name"],
  ["bash -euxo pipefail -c", runs(["bash", "-euxo", "pipefail", "-c", `vllm serve ${BAD}`]), "sum", "name"],
  ["bash --norc -c", runs(["bash", "--norc", "-c", `vllm serve ${BAD}`]), "sum", "name"],
  ["bash --rcfile FILE -c", runs(["bash", "--rcfile", "/x", "-c", `vllm serve ${BAD}`]), "sum", "name"],
  ["exec", sh(`exec vllm serve ${BAD}`), "sum", "name"],
  ["exec -a", bash(`exec -a nginx vllm serve ${BAD}`), "sum", "name"],
  ["command", sh(`command vllm serve ${BAD}`), "sum", "name"],
  ["eval", sh(`eval vllm serve ${BAD}`), "sum", "name"],
  ["eval of one word", sh(`eval "vllm serve ${BAD}"`), "sum", "name"],
  ["trap", sh(`trap 'vllm serve ${BAD}' EXIT`), "sum", "name"],
  ['"$@"', runs(["sh", "-c", 'exec vllm serve "$@"', "x", ...words(BAD)]), "sum", "name"],
  ["$0 and $1", runs(["sh", "-c", '"$0" serve "$1"', "vllm", "org/m"]), "sum", "name"],
  ['exec "$@" in the entrypoint', runs(`vllm serve ${BAD}`, { entrypoints: ["sh", "-c", 'exec "$@"', "x"] }), "sum", "name"],
  ['eval "$*"', runs(["sh", "-c", 'eval "$*"', "x", ...words(`vllm serve ${BAD}`)]), "sum", "name"],
  ["the parameters one by one", runs(["sh", "-c", 'eval "$1 $2 $3"', "x", "vllm", "serve", "org/m"]), "sum", "name"],
  ["a command of vLLM that is not known", sh('read M; vllm "$M" org/m', { gpus: undefined }), "sum", "name"],
  ["a condition", sh(`if true; then vllm serve ${BAD}; fi`), "sum", "name"],
  ["a loop", sh(`while :; do vllm serve ${BAD}; done`), "sum", "name"],
  ["a group", sh(`{ vllm serve ${BAD}; }`), "sum", "name"],
  ["a subshell in the background", sh(`(vllm serve ${BAD}) & nginx`), "sum", "name"],
  ["a function", sh('f() { vllm "$@"; }; f serve org/m'), "sum", "name"],
  ["an alias", sh("alias x=vllm; x serve org/m"), "sum", "name"],
  ["a variable of the script", sh("A=vllm; $A serve org/m"), "sum", "name"],
  ["a variable of the container", sh("$A serve org/m", { envs: ["A=vllm"] }), "sum", "name"],
  ["the whole line in a variable", sh("exec $RUN", { envs: [`RUN=vllm serve ${BAD}`] }), "sum", "name"],
  ["eval of a variable", sh('eval "$RUN"', { envs: [`RUN=vllm serve ${BAD}`] }), "sum", "name"],
  ["the share in a variable", sh(`vllm serve m ${FINE} --gpu-memory-utilization $S`, { envs: ["S=0.95"] }), "sum"],
  ["the share in the script", sh(`S=0.95; vllm serve m ${FINE} --gpu-memory-utilization "$S"`), "sum"],
  ["more arguments in a variable", sh(`vllm serve m ${FINE} $MORE`), "sum", "name"],
  ["a file's content as arguments", sh(`vllm serve m ${FINE} $(cat /args)`), "sum", "name"],
  ["backticks as an option's value", sh(`vllm serve m ${FINE} --seed \`cat /x\``), "sum", "name"],
  ["set --", sh(`set -- ${BAD}; vllm serve "$@"`), "sum", "name"],
  ["quotes inside the name", sh("v''ll\"m\" ser'v'e org/m"), "sum", "name"],
  ["a backslash inside the name", sh("vl\\lm serve org/m"), "sum", "name"],
  ["a line broken inside the name", sh("vl\\\nlm serve org/m"), "sum", "name"],
  ["characters by number", bash("$'\\x76llm' $'\\163erve' org/m"), "sum", "name"],
  [`\${IFS} for spaces`, sh(`vllm\${IFS}serve\${IFS}org/m`), "sum", "name"],
  ["$IFS for spaces", sh("vllm$IFS'serve'$IFS'org/m'"), "sum", "name"],
  ["braces for spaces", bash("{vllm,serve,org/m}"), "sum", "name"],
  ["an array", bash(`a=(vllm serve org/m); "$\{a[@]}"`), "sum", "name"],
  ["the path by which", sh("$(which vllm) serve org/m"), "sum", "name"],
  ["a copy under another name", sh("cp /usr/local/bin/vllm /x && /x serve org/m"), "sum", "name"],
  ["a quoted variable of the script", sh("P='vllm'\nexec \"$P\" serve org/m"), "sum", "name"],
  ["a link under another name", sh("ln -s $(command -v vllm) /x; /x serve org/m"), "sum", "name"],
  ["a here-document", sh(`sh <<'E'\nvllm serve ${BAD}\nE`), "sum", "name"],
  ["a script written first", sh(`cat >/x <<E\nvllm serve ${BAD}\nE\nsh /x`), "sum", "name"],
  ["a here-string", bash(`bash <<< 'vllm serve ${BAD}'`), "sum", "name"],
  ["a process substitution", bash(`cat <(vllm serve ${BAD})`), "sum", "name"],
  ["a command substitution", sh(`x="$(vllm serve ${BAD})"`), "sum", "name"],
  ["backticks", sh(`x=\`vllm serve ${BAD}\``), "sum", "name"],
  ["printed into a shell", sh(`echo 'vllm serve ${BAD}' | sh`), "sum", "name"],
  ["printed into a shell by a group", sh(`{ echo 'vllm serve ${BAD}'; } | sh`), "sum", "name"],
  ["printed into a file", sh(`printf 'vllm serve ${BAD}'; sh /x`), "sum", "name"],
  ["Python from a here-document", sh("python - <<E\nimport vllm\nvllm.LLM('org/m')\nE"), "sum", "name"],
  ["base64 into a shell", sh(`echo ${base64(`vllm serve ${BAD}`)} | base64 -d | sh`), "sum", "name"],
  ["base64 in eval", sh(`eval "$(base64 -d <<E\n${base64(`exec vllm serve ${BAD}`)}\nE\n)"`), "sum", "name"],
  ["base64 in Python", runs(["python", "-c", `import base64; exec(base64.b64decode('${base64("import vllm; vllm.LLM('org/m')")}'))`]), "sum", "name"],
  ["shells within shells", sh("sh -c \"bash -c 'vllm serve org/m'\""), "sum", "name"],
  ["six shells", runs(["sh", "-c", 'sh -c "$1" x "$1"', "x", 'sh -c "$1" x "$1"']), "sum", "name"],
  ["python in a shell", sh("python -c 'import vllm; vllm.LLM(\"org/m\")'"), "sum", "name"],
  ["ssh to itself", runs(["ssh", "localhost", `vllm serve ${BAD}`]), "sum", "name"],
  ["installed first", sh("pip install vllm==0.30.0 && vllm serve org/m"), "sum", "name"],
  ["a small server for show", sh(`vllm serve m ${FINE} & vllm serve ${BAD}`), "sum", "name"],
  ["a small one, and one in a here-string", bash(`vllm serve m ${FINE} & bash <<< 'vllm serve ${BAD}'`), "sum", "name"],
  ["a small one, and one in a substitution", sh(`vllm serve m ${FINE} & x="$(vllm serve ${BAD})"`), "sum", "name"],
  ["a small one, and one in backticks", sh(`vllm serve m ${FINE} & x=\`vllm serve ${BAD}\``), "sum", "name"],
  ["a small one, and one in eval", sh(`vllm serve m ${FINE} & eval 'vllm serve ${BAD}'`), "sum", "name"],
  ["a small one, and one through a pipe", sh(`vllm serve m ${FINE} & cat /x | sh`), "sum", "name"],
  ["a small one, and one in base64", sh(`vllm serve m ${FINE} & eval "$(echo ${base64(`vllm serve ${BAD}`)} | base64 -d)"`), "sum", "name"],
  ["a shell for vLLM's own image, small flags behind it", own("", { command: ["bash", "-c", "cat /x | bash", "x", ...words(FINE)] }), "sum", "name"],
];

/** A container that only its GPUs and vLLM's flags or variables give away. */
// biome-ignore format: one row a line
const SIGNS: readonly Attempt[] = [
  ["gpus", runs("/s --max-num-batched-tokens 8192"), "sum", "name"],
  ["some GPUs", runs("/s --max-num-batched-tokens 8192", { gpus: "device=0" }), "sum", "name"],
  ["GPUs that are not known", runs("/s --max-num-batched-tokens 8192", { gpus: UNKNOWN_TEXT }), "sum", "name"],
  ["deviceRequests", runs("/s --enforce-eager", { gpus: undefined, deviceRequests: [{ count: -1 }] }), "sum", "name"],
  ["deviceRequests that are not known", runs("/s --enforce-eager", { gpus: undefined, deviceRequests: UNKNOWN_LIST }), "sum", "name"],
  ["deviceRequests by capability", runs("/s --enforce-eager", { gpus: undefined, deviceRequests: [{ capabilities: [["gpu"]] }] }), "sum", "name"],
  ["the runtime", runs("/s --enforce-eager", { gpus: undefined, runtime: "nvidia" }), "sum", "name"],
  ["device files", runs("/s --enforce-eager", { gpus: undefined, devices: [{ hostPath: "/dev/nvidia0" }] }), "sum", "name"],
  ["a device by its CDI name", runs("/s --enforce-eager", { gpus: undefined, devices: [{ hostPath: "nvidia.com/gpu=all" }] }), "sum", "name"],
  ["devices that are not known", runs("/s --enforce-eager", { gpus: undefined, devices: UNKNOWN_LIST }), "sum", "name"],
  ["privileged", runs("/s --enforce-eager", { gpus: undefined, privileged: true }), "sum", "name"],
  ["a rule of the device cgroup", runs("/s --enforce-eager", { gpus: undefined, deviceCgroupRules: ["c 195:* rwm"] }), "sum", "name"],
  ["the variable of the default runtime", runs("/s --enforce-eager", { gpus: undefined, envs: ["NVIDIA_VISIBLE_DEVICES=all"] }), "sum", "name"],
  ["no GPUs, but the share", runs(`/s ${BAD}`, { gpus: undefined }), "sum", "name"],
  ["a switch that is turned off", runs("/s --no-async-scheduling"), "sum", "name"],
  ["underscores", runs("/s --max_num_batched_tokens=8192"), "sum", "name"],
  ["one key of an option", runs("/s --compilation-config.mode 3"), "sum", "name"],
  ["an option that only an older version had", runs("/s --max-num-partial-prefills 2"), "sum", "name"],
  ["an option cut short inside its last word", runs("/s --max-num-batched-tok 8192"), "sum", "name"],
  ["a flag in a script", sh("/s --max-num-batched-tokens 8192"), "sum", "name"],
  ["flags in a variable", runs("", { envs: ["ARGS=--model org/m --gpu-memory-utilization 0.95"] }), "sum", "name"],
  ["a command line in a variable", runs("", { envs: [`START=vllm serve ${BAD}`] }), "sum", "name"],
  ["a variable of vLLM", runs("", { envs: ["VLLM_USE_V2_MODEL_RUNNER=1"] }), "sum", "name"],
  ["a variable of vLLM and a model", runs("org/m", { envs: ["VLLM_LOGGING_LEVEL=DEBUG"] }), "sum", "name"],
  ["a variable that vLLM dropped", runs("", { envs: ["VLLM_USE_V1=1"] }), "sum", "name"],
  ["a variable of vLLM and a script", runs("/s", { entrypoints: ["sh"], envs: ["VLLM_CACHE_ROOT=/x"] }), "sum", "name"],
  ["a variable of the image for SageMaker", runs("", { envs: ["SM_VLLM_MODEL=org/m"] }), "sum", "name"],
  ["a container that starts another one by Docker's socket", { image: "docker:28-cli", command: words(`docker run --gpus all own/server ${BAD}`) }, "sum", "name", "image"],
  ["a file that is uploaded", runs("/s", { uploads: [{ file: "/s", content: `#!/bin/sh\nexec vllm serve ${BAD}` }] }), "sum", "name"],
  ["an uploaded program in Python", runs("/s", { uploads: [{ file: "/s", content: "from vllm import LLM\nLLM('org/m')" }] }), "sum", "name"],
  ["an uploaded file in base64", runs("/s", { uploads: [{ file: "/s", contentBase64: base64(`exec vllm serve ${BAD}`) }] }), "sum", "name"],
  ["the health check starts it", runs("nginx", { healthcheck: { tests: ["CMD-SHELL", `vllm serve ${BAD} &`] } }), "sum", "name"],
  ["flags, a good share and a good name, in an image without a record", runs(`/s ${FINE}`, { image: `own/other@sha256:${"0".repeat(64)}` }), "image"],
];

/** Names of images. Nothing here is wrong but the image. */
// biome-ignore format: one row a line
const IMAGES: readonly Attempt[] = [
  ["a tag alone", own(`m ${FINE}`, { image: "vllm/vllm-openai:v0.30.0" }), "image"],
  ["no tag", own(`m ${FINE}`, { image: "vllm/vllm-openai" }), "image"],
  ["Docker Hub written out", own(`m ${FINE}`, { image: "docker.io/vllm/vllm-openai:v0.30.0" }), "image"],
  ["another registry", own(`m ${FINE}`, { image: "localhost:5000/x/vllm-openai:v0.30.0" }), "image"],
  ["NVIDIA's build", own(`m ${FINE}`, { image: "nvcr.io/nvidia/vllm:25.10-py3" }), "image"],
  ["capitals", own(`m ${FINE}`, { image: "own/VLLM:1" }), "image"],
  ["vllm at the end of the name", own(`m ${FINE}`, { image: "own/spark-vllm:1" }), "image"],
  ["vllm in the middle of the name", own("m", { image: "own/spark-vllm-docker:1" }), "sum", "image"],
  ["vllm in the owner's name", own("org/m", { image: "my-vllm/server:1" }), "sum", "name", "image"],
  ["vllm in the tag", own("org/m", { image: `own/server:vllm-0.30@${DIGEST}` }), "sum", "name"],
  ["a short digest", own(`m ${FINE}`, { image: "vllm/vllm-openai@sha256:8a69ffad" }), "image"],
  ["a digest in capitals", own(`m ${FINE}`, { image: `vllm/vllm-openai@${DIGEST.toUpperCase()}` }), "image"],
  ["two digests", own(`m ${FINE}`, { image: `vllm/vllm-openai@${DIGEST}@${DIGEST}` }), "image"],
  ["another digest behind a good tag", own(`m ${FINE}`, { image: `vllm/vllm-openai:v0.30.0@sha256:${"0".repeat(64)}` }), "image"],
  ["the digest as a tag", own(`m ${FINE}`, { image: `vllm/vllm-openai:${"8a69ffad".repeat(8)}` }), "image"],
  ["renamed, without a digest", runs(`vllm serve m ${FINE}`, { image: "nginx:1.27" }), "image"],
  ["an image's id", runs("", { image: `sha256:${"ab".repeat(32)}` }), "sum", "name", "image"],
  ["an image's id without its algorithm", runs("", { image: "ab".repeat(32) }), "sum", "name", "image"],
  ["the short id that `docker images` prints", runs("", { image: "8a69ffad12cd" }), "sum", "name", "image"],
  ["an image that is built in the same run (RemoteImage)", runs("", { image: UNKNOWN_TEXT }), "sum", "name", "image"],
  ["the same, with arguments", runs(`m ${FINE}`, { image: UNKNOWN_TEXT }), "image"],
];

/** Values that a preview doesn't know, such as outputs of another stack. */
// biome-ignore format: one row a line
const UNKNOWN: readonly Attempt[] = [
  ["the command", own("", { command: UNKNOWN_LIST }), "sum", "name"],
  ["one argument", own("", { command: ["m", ...words(FINE), UNKNOWN_TEXT] }), "sum", "name"],
  ["the share", own("", { command: ["m", "--served-model-name", "m", "--gpu-memory-utilization", UNKNOWN_TEXT] }), "sum"],
  ["the name", own("", { command: ["m", "--gpu-memory-utilization", "0.4", "--served-model-name", UNKNOWN_TEXT] }), "name"],
  ["the model", own("", { command: [UNKNOWN_TEXT, "--gpu-memory-utilization", "0.4"] }), "sum", "name"],
  ["the entrypoint", own(`m ${FINE}`, { entrypoints: UNKNOWN_LIST }), "sum", "name"],
  ["a script", own("", { entrypoints: ["sh", "-c", UNKNOWN_TEXT] }), "sum", "name"],
  ["the command of any image with GPUs", runs("", { command: UNKNOWN_LIST }), "sum", "name"],
  ["the entrypoint of any image with GPUs", runs("x", { entrypoints: UNKNOWN_LIST }), "sum", "name"],
  ["a word of any image with GPUs", runs([UNKNOWN_TEXT, "serve", "org/m"]), "sum", "name"],
  ["a script of any image with GPUs", runs(["sh", "-c", UNKNOWN_TEXT]), "sum", "name"],
  ["a program, with vLLM's flags", runs([UNKNOWN_TEXT, ...words(BAD)]), "sum", "name"],
  ["the image, with the host's IPC namespace", { image: UNKNOWN_TEXT, ipcMode: "host" }, "sum", "name", "image"],
  ["the image, with a variable of vLLM", { image: UNKNOWN_TEXT, envs: ["VLLM_CACHE_ROOT=/x"] }, "sum", "name", "image"],
  ["the image, with vllm in the container's name", { image: UNKNOWN_TEXT, name: "my-vllm" }, "sum", "name", "image"],
  ["the image, with the device files of a GPU", { image: UNKNOWN_TEXT, devices: [{ hostPath: "/dev/nvidiactl" }] }, "sum", "name", "image"],
  ["the image and the runtime", { image: UNKNOWN_TEXT, runtime: UNKNOWN_TEXT }, "sum", "name", "image"],
];

/**
 * Options that take memory beside a small share, or more GPUs than there are, each with its
 * shortest beginning that is its own.
 */
const BESIDE_OPTIONS: readonly (readonly [option: string, value: string, short: string])[] = [
  ["mm-processor-cache-gb", "64", "mm-processor-cache-g"],
  ["api-server-count", "16", "api-s"],
  ["max-cpu-loras", "64", "max-cp"],
  ["kv-transfer-config", '{"kv_connector":"P2pNcclConnector","kv_role":"kv_both"}', "kv-t"],
  ["ec-transfer-config", '{"ec_connector":"ECCPUConnector","ec_role":"ec_both"}', "ec-t"],
  ["data-parallel-size", "2", "data-parallel-size"],
  ["tensor-parallel-size", "2", "tensor-p"],
  ["pipeline-parallel-size", "2", "pi"],
  ["prefill-context-parallel-size", "2", "prefill-c"],
];

/**
 * The same option in each way that vLLM takes it, in a container's own words and through a shell
 * and its variables.
 */
const BESIDE: readonly Attempt[] = BESIDE_OPTIONS.flatMap(([option, value, short]): Attempt[] => {
  const fine = `m ${FINE}`;
  const [flag, under] = [`--${option}`, `--${option.replaceAll("-", "_")}`];
  return [
    [`${option}, two words`, own(`${fine} ${flag} ${value}`), "sum"],
    [`${option}, an equals sign`, own(`${fine} ${flag}=${value}`), "sum"],
    [`${option}, underscores`, own(`${fine} ${under}=${value}`), "sum"],
    [`${option}, cut short`, own(`${fine} --${short}=${value}`), "sum"],
    [
      `${option}, repeated`,
      own(`${fine} ${flag}=${option.endsWith("config") ? "{}" : "1"} ${flag} ${value}`),
      "sum",
    ],
    [`${option}, in front of the model`, own(`${flag}=${value} ${fine}`), "sum"],
    [`${option}, in a shell`, sh(`exec vllm serve ${fine} ${flag} '${value}'`), "sum"],
    [
      `${option}, in a shell's variable`,
      sh(`exec vllm serve ${fine} ${flag} "$V"`, { envs: [`V=${value}`] }),
      "sum",
    ],
  ];
});

/** Single forms of the same options. */
// biome-ignore format: one row a line
const BESIDE_FORMS: readonly Attempt[] = [
  ["-tp 2", own(`m ${FINE} -tp 2`), "sum"],
  ["-t 2", own(`m ${FINE} -t 2`), "sum"],
  ["-pp=2", own(`m ${FINE} -pp=2`), "sum"],
  ["-dp 2", own(`m ${FINE} -dp 2`), "sum"],
  ["-dp=8, two of them here", own(`m ${FINE} -dp=8 -dpl 2`), "sum"],
  ["-pcp 2", own(`m ${FINE} -pcp 2`), "sum"],
  ["-p, which may be either", own(`m ${FINE} -p 2`), "sum", "name"],
  ["four processes on two machines", own(`m ${FINE} -n2 -tp 4`), "sum"],
  ["-asc 16", own(`m ${FINE} -asc 16`), "sum"],
  ["a cache for four servers", own(`m ${FINE} -asc 4 --mm-processor-cache-gb 20`), "sum"],
  ["a connector key by key", own(`m ${FINE} --kv-transfer-config.kv_connector P2pNcclConnector --kv-transfer-config.kv_role kv_both`), "sum"],
  ["a connector key by key, cut short, underscores", own(`m ${FINE} --kv_t.kv_connector=P2pNcclConnector`), "sum"],
  ["a connector behind its own JSON", own(`m ${FINE} --kv-transfer-config {"kv_connector":"NixlConnector"} --kv-transfer-config.kv_connector=OffloadingConnector`), "sum"],
  ["a connector inside another", own(`m ${FINE} --kv-transfer-config {"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"P2pNcclConnector"}]}}`), "sum"],
  ["a connector of one's own", own(`m ${FINE} --kv-transfer-config {"kv_connector":"NixlConnector","kv_connector_module_path":"x.y"}`), "sum"],
  ["an encoder's connector of one's own", own(`m ${FINE} --ec-transfer-config {"ec_connector":"ECExampleConnector","ec_connector_module_path":"x.y"}`), "sum"],
  ["a connector that nobody knows", own(`m ${FINE} --kv-transfer-config {"kv_connector":"NewConnector"}`), "sum"],
  ["a connector's name in other letters", own(`m ${FINE} --kv-transfer-config {"kv_connector":"nixlconnector"}`), "sum"],
  ["the CPU's buffer in capitals", own(`m ${FINE} --kv-transfer-config {"kv_connector":"NixlConnector","kv_buffer_device":"CPU"}`), "sum"],
  ["the CPU's buffer key by key", own(`m ${FINE} --kv-transfer-config.kv_buffer_device Cpu --kv-transfer-config.kv_connector NixlConnector`), "sum"],
  ["a list of connectors that grows", own(`m ${FINE} --kv-transfer-config.kv_connector_extra_config.connectors+ OffloadingConnector`), "sum"],
  ["an encoder's connector key by key", own(`m ${FINE} --ec-transfer-config.ec_connector=ECMooncakeConnector`), "sum"],
  ["a connector's JSON in a file", sh(`vllm serve m ${FINE} --kv-transfer-config "$(cat /x)"`), "sum"],
  ["a cache whose size is no number", own(`m ${FINE} --mm-processor-cache-gb 1_0`), "sum"],
];

/** Health checks that start a server, beside a good one or another program. */
// biome-ignore format: one row a line
const CHECKS: readonly Attempt[] = [
  ["a shell", own(`m ${FINE}`, { healthcheck: { tests: ["CMD-SHELL", `vllm serve ${BAD} &`] } }), "sum", "name"],
  ["words", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "vllm", "serve", ...words(BAD)] } }), "sum", "name"],
  ["a shell by words", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "sh", "-c", `vllm serve ${BAD}`] } }), "sum", "name"],
  ["a module", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "python3", "-m", "vllm.entrypoints.openai.api_server", "--model", ...words(BAD)] } }), "sum", "name"],
  ["Python", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "python3", "-c", "import vllm; vllm.LLM('org/m')"] } }), "sum", "name"],
  ["base64", own(`m ${FINE}`, { healthcheck: { tests: ["CMD-SHELL", `eval "$(echo ${base64(`vllm serve ${BAD}`)} | base64 -d)"`] } }), "sum", "name"],
  ["env", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "env", "A=1", "vllm", "serve", ...words(BAD)] } }), "sum", "name"],
  ["a wrapper with the share", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "/start.sh", ...words(BAD)] } }), "sum", "name"],
  ["no form of Docker's", own(`m ${FINE}`, { healthcheck: { tests: ["vllm", "serve", ...words(BAD)] } }), "sum", "name"],
  ["a good name, but the share of both", own("m --served-model-name m --gpu-memory-utilization 0.5", { healthcheck: { tests: ["CMD-SHELL", "vllm serve m --served-model-name m --gpu-memory-utilization 0.5"] } }), "sum"],
  ["memory beside a good share", own(`m ${FINE}`, { healthcheck: { tests: ["CMD-SHELL", "vllm serve m --served-model-name m --gpu-memory-utilization 0.1 --mm-processor-cache-gb=64"] } }), "sum"],
  ["a shell in nginx", { image: "nginx:1.27", healthcheck: { tests: ["CMD-SHELL", `vllm serve ${BAD} &`] } }, "sum", "name", "image"],
  ["words in nginx", { image: "nginx:1.27", healthcheck: { tests: ["CMD", "vllm", "serve", ...words(BAD)] } }, "sum", "name", "image"],
];

const VERSIONS = "import vllm; print(vllm.__version__)";
/** vLLM's own image with a program in its entrypoint's place. */
const other = (entrypoint: string, command: string | readonly string[], more: Props = {}) =>
  own("", {
    entrypoints: words(entrypoint),
    command: typeof command === "string" ? words(command) : command,
    ...more,
  });
const mount = (containerPath: string) => ({ volumes: [{ hostPath: "/home/u/x", containerPath }] });

/** What looks like a neighbour, or like a program that starts no server. */
// biome-ignore format: one row a line
const DISGUISES: readonly Attempt[] = [
  ["python -c with one character more", other("python3", ["-c", `${VERSIONS} `]), "sum", "name"],
  ["python -c with a statement more", other("python3", ["-c", `${VERSIONS}; vllm.LLM('org/m')`]), "sum", "name"],
  ["python -c with another import", other("python3", ["-c", `import os, vllm; print(vllm.__version__)`]), "sum", "name"],
  ["python -c that prints a call", other("python3", ["-c", "import vllm; print(vllm.LLM('org/m'))"]), "sum", "name"],
  ["python -c that says nothing of vLLM", other("python3", ["-c", "import os; os.system(open('/x').read())"]), "sum", "name"],
  ["python -c with words behind it", other("python3", ["-c", VERSIONS, "serve"]), "sum", "name"],
  ["python -c in a folder that files appear in", other("python3", ["-c", VERSIONS], mount("/vllm-workspace/vllm")), "sum", "name"],
  ["python -c in a folder of one's own", other("python3", ["-c", VERSIONS], { ...mount("/models"), workingDir: "/models" }), "sum", "name"],
  ["python -c in a folder that is not known", other("python3", ["-c", VERSIONS], { ...mount("/m"), workingDir: UNKNOWN_TEXT }), "sum", "name"],
  ["python -m of a file in its folder", other("python3", "-m dynamo.frontend", mount("/workspace")), "sum", "name"],
  ["python -m of anything else", other("python3", "-m dynamo.frontend2"), "sum", "name"],
  ["a Python path", other("python3", ["-c", VERSIONS], { envs: ["PYTHONPATH=/x"] }), "sum", "name"],
  ["sleep, then a server", other("sh -c", [`sleep 1; vllm serve ${BAD}`]), "sum", "name"],
  ["sleep, then a file", other("sh -c", ["sleep 1; /start.sh"]), "sum", "name"],
  ["sleep, then a file that is read", other("sh -c", ["sleep 1; . /start.sh"]), "sum", "name"],
  ["a download, then a server", other("sh -c", [`hf download org/m && vllm serve ${BAD}`]), "sum", "name"],
  ["a download into a program's folder by a shell", other("sh -c", ["cat /models/x > /usr/bin/nvidia-smi; nvidia-smi"]), "sum", "name"],
  ["a benchmark of a server, then one", other("sh -c", [`vllm bench serve --model m; vllm serve ${BAD}`]), "sum", "name"],
  ["a benchmark beside a server in the background", other("sh -c", [`vllm serve ${BAD} & vllm bench serve --model org/m`]), "sum", "name"],
  ["a command in a variable", other("sh -c", ['"$CMD"']), "sum", "name"],
  ["a command in a variable without quotes", other("sh -c", ["$CMD"]), "sum", "name"],
  ["a server in a known variable", other("sh -c", ['eval "$CMD"'], { envs: [`CMD=vllm serve ${BAD}`] }), "sum", "name"],
  ["a mounted script", other("bash", "/start.sh", mount("/start.sh")), "sum", "name"],
  ["a shell that reads a script from a pipe", other("sh -c", ["cat /start.sh | bash"]), "sum", "name"],
  ["a shell that reads a script by an option", other("bash", "--rcfile /start.sh"), "sum", "name"],
  ["xargs", other("sh -c", [`echo ${BAD} | xargs vllm serve`]), "sum", "name"],
  ["xargs of a program", other("sh -c", ["cat /x | xargs -I{} sh -c {}"]), "sum", "name"],
  ["env -S", other("env", ["-S", `vllm serve ${BAD}`]), "sum", "name"],
  ["env with a program", other("env", "A=1 /start.sh"), "sum", "name"],
  ["timeout 0", other("timeout", `0 vllm serve ${BAD}`), "sum", "name"],
  ["timeout with a program", other("timeout", "0 /start.sh"), "sum", "name"],
  ["an init with a program", other("tini", "-- /start.sh"), "sum", "name"],
  ["an init in a shell's name", other("tini", "-- sh /start.sh"), "sum", "name"],
  ["nvidia-smi in front", other("nvidia-smi", `vllm serve ${BAD}`), "sum", "name"],
  ["nvidia-smi with the share", other("nvidia-smi", "--gpu-memory-utilization 0.95"), "sum", "name"],
  ["a program called nvidia-smi", other("/models/nvidia-smi", "-L", mount("/models")), "sum", "name"],
  ["sleep that is replaced", other("sleep", "infinity", mount("/usr/bin/sleep")), "sum", "name"],
  ["sleep below a folder that is replaced", other("sleep", "infinity", mount("/usr/")), "sum", "name"],
  ["sleep that is replaced by a mount", other("/bin/sleep", "infinity", { mounts: [{ target: "/bin", source: "/x", type: "bind" }] }), "sum", "name"],
  ["sleep that is uploaded", other("sleep", "infinity", { uploads: [{ file: "/usr/local/bin/sleep", content: "x" }] }), "sum", "name"],
  ["sleep beside mounts that are not known", other("sleep", "infinity", { volumes: UNKNOWN_LIST }), "sum", "name"],
  ["sleep beside volumes of another container", other("sleep", "infinity", { volumes: [{ fromContainer: "x" }] }), "sum", "name"],
  ["sleep on another path", other("sleep", "infinity", { envs: ["PATH=/models:/usr/bin"] }), "sum", "name"],
  ["sleep with a library in front", other("sleep", "infinity", { envs: ["LD_PRELOAD=/x.so"] }), "sum", "name"],
  ["a shell with a file that it reads first", other("bash -c", ["sleep 1"], { envs: ["BASH_ENV=/start.sh"] }), "sum", "name"],
  ["sleep with more words", other("sleep", "infinity /start.sh"), "sum", "name"],
  ["sleep with a word that is not known", own("", { entrypoints: ["sleep"], command: [UNKNOWN_TEXT] }), "sum", "name"],
  ["a trap that starts a program", other("sh -c", ["trap /start.sh EXIT; sleep 1"]), "sum", "name"],
  ["a function called sleep", other("sh -c", ["sleep() { /start.sh; }; sleep 1"]), "sum", "name"],
  ["an alias called ls", other("bash -ic", ["alias ls=/start.sh; ls"]), "sum", "name"],
  ["a path that the script sets", other("sh -c", ["export PATH=/models; ls"]), "sum", "name"],
  ["a path in front of a command", other("sh -c", ["PATH=/models ls"]), "sum", "name"],
  ["curl that writes a program", other("sh -c", ["curl -so /usr/bin/ls http://x/s; ls"]), "sum", "name"],
  ["a here-document", other("sh -c", ["cat <<E\n/start.sh\nE"]), "sum", "name"],
  ["a download into a program's folder", other("sh -c", ["hf download x/y --local-dir /usr/local/bin; nvidia-smi"]), "sum", "name"],
  ["a download into a program's folder, once", other("hf", "download x/y --local-dir=/usr/local/bin"), "sum", "name"],
  ["a download into a program's folder, a folder up", other("sh -c", ["modelscope download x/y --local_dir /models/../usr/bin; ls"]), "sum", "name"],
  ["a download into the folder that Python starts in", other("sh -c", ["hf download x/y --local-dir .; python3 -m dynamo.frontend"]), "sum", "name"],
  ["a download into a folder that is not known", other("sh -c", ['hf download x/y --local-dir "$D"; ls']), "sum", "name"],
  ["tee into a program", other("sh -c", ["cat /x | tee /usr/bin/ls; ls"]), "sum", "name"],
  ["tee into a file that is not known", other("sh -c", ['cat /x | tee "$F"; ls']), "sum", "name"],
  ["a file written, then a program of the same folder", other("sh -c", ["cat /x > /models/ls; /models/ls"]), "sum", "name"],
  ["a file that is read first, written", other("sh -c", ["cat /x > /etc/profile.d/x.sh; bash -lc ls"]), "sum", "name"],
  ["a path that leads to a program's folder", other("sh -c", ["cat /x > /dev/../usr/bin/ls; ls"]), "sum", "name"],
  ["curl that writes what it is answered", other("sh -c", ["curl -s -D /usr/bin/ls http://x/s; ls"]), "sum", "name"],
  ["curl that writes cookies", other("sh -c", ["curl -sc /usr/bin/ls http://x/s; ls"]), "sum", "name"],
  ["curl that writes a trace", other("sh -c", ["curl --trace-ascii /usr/bin/ls http://x/s; ls"]), "sum", "name"],
  ["curl with an option cut short", other("sh -c", ["curl --outp /usr/bin/ls http://x/s; ls"]), "sum", "name"],
  ["curl that reads its options", other("sh -c", ["curl -K /x; ls"]), "sum", "name"],
  ["curl that writes by its format", other("sh -c", ["curl -w %output{/usr/bin/ls}x http://x/s; ls"]), "sum", "name"],
  ["an index that runs a command", other("bash -c", ["[ -v 'a[$(/start.sh)]' ]"]), "sum", "name"],
  ["an index of test's", other("bash -c", ["test -v 'a[$(/start.sh)]'; sleep 1"]), "sum", "name"],
  ["a prompt that runs a command", other("bash", "-i", { tty: true, envs: ["PROMPT_COMMAND=/start.sh"] }), "sum", "name"],
  ["a trace's prompt", other("bash -c", ["set -x; sleep 1"], { envs: ["PS4=$(/start.sh)"] }), "sum", "name"],
  ["a login's file", other("bash", "-l", { tty: true, ...mount("/root/.bash_profile") }), "sum", "name"],
  ["a login's file, with a script", other("bash", ["-lc", "sleep 1"], mount("/etc/profile.d/x.sh")), "sum", "name"],
  ["a shell's file", other("bash", "", { tty: true, command: [], ...mount("/home/me/.bashrc") }), "sum", "name"],
  ["a shell in a home that is replaced", other("bash", ["-lc", "sleep 1"], mount("/root")), "sum", "name"],
  ["a home elsewhere", other("bash", ["-lc", "sleep 1"], { ...mount("/models"), envs: ["HOME=/models"] }), "sum", "name"],
  ["Python's folder in a home", other("python3", ["-c", VERSIONS], mount("/root/.local/lib/python3.12/site-packages")), "sum", "name"],
  ["curl's file in a home", other("curl", "-s http://x", mount("/root/.curlrc")), "sum", "name"],
  ["Python that stays", other("python3", ["-c", VERSIONS], { envs: ["PYTHONINSPECT=1", "PYTHONSTARTUP=/x"] }), "sum", "name"],
  ["a folder of Python's below the root", other("python3", ["-c", VERSIONS], { ...mount("/vllm"), workingDir: "/" }), "sum", "name"],
  ["sleep that is replaced, two slashes", other("sleep", "infinity", mount("//usr//bin")), "sum", "name"],
  ["sleep that is replaced, a folder up", other("sleep", "infinity", mount("/x/../usr/bin")), "sum", "name"],
  ["a path that leaves a program's folder", other("/usr/bin/../../models/sleep", "infinity", mount("/models")), "sum", "name"],
  ["a script behind an option's end", runs(["bash", "-c", "--", `vllm serve ${BAD}`]), "sum", "name"],
  ["a script behind a further option", runs(["sh", "-c", "-x", `vllm serve ${BAD}`]), "sum", "name"],
  ["help, piped into a shell", other("bash -c", ["vllm serve --help | bash"]), "sum", "name"],
  ["a package that nobody knows", other("bash -c", ["pip install x && hf download org/m"]), "sum", "name"],
  ["a package from elsewhere", other("bash -c", ["pip install huggingface_hub && hf download org/m"], { envs: ["PIP_INDEX_URL=http://x"] }), "sum", "name"],
  ["a loop over a program", other("bash -c", ["for x in /start.sh; do $x; done"]), "sum", "name"],
  ["a loop over a substitution", other("bash -c", ["for x in $(/start.sh); do sleep 1; done"]), "sum", "name"],
  ["a model called sleep", own("sleep"), "sum"],
  ["a model called sleep, with an option", own("sleep --port 8001", mount("/models")), "sum"],
  ["a model called nvidia-smi in the image's folder", own("nvidia-smi", mount("/vllm-workspace/nvidia-smi")), "sum"],
  ["a model called bash beside its options", own("bash -tp 1 --gpu-memory-utilization 0.95"), "sum"],
  ["help behind a model", own("org/m --help"), "sum", "name"],
  ["help, and then more", own("--help --model org/m"), "sum", "name"],
  ["vllm --version, and then more", other("vllm", `--version --omni serve ${BAD}`), "sum", "name"],
  ["vllm with an option in front", other("vllm", `--omni serve ${BAD}`), "sum", "name"],
  ["vllm bench sweep, which starts servers", other("vllm", ["bench", "sweep", "serve", "--serve-cmd", "vllm serve org/m"]), "sum", "name"],
  ["vllm bench of a kind that is not known", other("vllm", "bench new --model org/m"), "sum", "name"],
  ["vllm launch of a part that is not known", other("vllm", "launch engine org/m"), "sum", "name"],
  ["vllm with another subcommand", other("vllm", "new org/m"), "sum", "name"],
  ["a benchmark that loads an engine", runs("vllm bench latency --model org/m"), "sum"],
  ["a benchmark that loads an engine, with its share", other("vllm", "bench throughput --model org/m --gpu-memory-utilization 0.95"), "sum"],
  ["a benchmark of starts", other("vllm", "bench startup --model org/m"), "sum"],
  ["a benchmark of pictures", other("python3", "-m vllm.entrypoints.cli.main bench mm-processor --model org/m"), "sum"],
  ["a benchmark in a shell, whose share is not known", other("sh -c", ["vllm bench latency --model org/m --gpu-memory-utilization $S"]), "sum"],
  ["a benchmark behind a file", other("sh -c", ["/start.sh; vllm bench latency --model org/m --gpu-memory-utilization 0.1"]), "sum", "name"],
  ["a batch", other("vllm", "run-batch -i /x -o /y --model org/m"), "sum", "name"],
  ["a router by name with vLLM's arguments", runs(BAD, { image: `own/vllm-router:1@${DIGEST}` }), "sum", "name"],
  ["a router by name with vLLM's flags", runs("--max-num-batched-tokens 8192", { image: `own/router:1@${DIGEST}` }), "sum", "name"],
  ["a router by name that starts vLLM", runs(`vllm serve ${BAD}`, { image: `own/vllm-router:1@${DIGEST}` }), "sum", "name"],
  ["guidellm's image that starts vLLM", runs(`sh -c vllm`, { image: `ghcr.io/vllm-project/guidellm@${DIGEST}`, command: ["sh", "-c", `vllm serve ${BAD}`] }), "sum", "name"],
  ["guidellm that loads vLLM", runs("guidellm benchmark --backend vllm_python --model org/m"), "sum"],
  ["nginx's image with a command in a variable", runs("", { image: `own/nginx:1@${DIGEST}`, envs: [`RUN=vllm serve ${BAD}`] }), "sum", "name"],
  ["Dynamo's worker", runs("python3 -m dynamo.vllm --model org/m", { image: `nvcr.io/nvidia/ai-dynamo/vllm-runtime@${DIGEST}` }), "sum"],
  ["Dynamo's frontend and its worker", runs("", { image: `nvcr.io/nvidia/ai-dynamo/vllm-runtime@${DIGEST}`, command: ["sh", "-c", "python3 -m dynamo.frontend & python3 -m dynamo.vllm --model org/m --gpu-memory-utilization 0.95"] }), "sum", "name"],
];

/** Programs that load vLLM for their own work, with more than the limit. */
// biome-ignore format: one row a line
const LOADERS: readonly Attempt[] = [
  ["ms-swift", runs("swift deploy --model org/m --infer_backend vllm --vllm_gpu_memory_utilization 0.95"), "sum"],
  ["ms-swift by its default twice", [runs("swift infer --model org/m --infer_backend vllm"), runs("swift rollout --model org/m")], "sum"],
  ["ms-swift that trains", runs("swift rlhf --rlhf_type grpo --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization=0.95"), "sum"],
  ["ms-swift in a shell", sh("CUDA_VISIBLE_DEVICES=0 swift deploy --model org/m --infer_backend vllm --vllm_gpu_memory_utilization 0.95"), "sum"],
  ["ms-swift with a share that is not known", runs(["swift", "deploy", "--infer_backend", "vllm", "--vllm_gpu_memory_utilization", UNKNOWN_TEXT]), "sum"],
  ["lm-eval", runs(["lm_eval", "--model", "vllm", "--model_args", "pretrained=org/m,gpu_memory_utilization=0.95"]), "sum"],
  ["lm-eval by its module", runs(["accelerate", "launch", "-m", "lm_eval", "--model", "vllm", "--model_args", "pretrained=org/m,dtype=auto,gpu_memory_utilization=.95,tensor_parallel_size=1"]), "sum"],
  ["lm-eval by its default, twice", [runs("lm_eval --model vllm --model_args pretrained=org/m"), runs("lm-eval run --model=vllm --tasks gsm8k")], "sum"],
  ["lm-eval with JSON", runs(["lm_eval", "--model", "vllm", "--model_args", '{"pretrained": "org/m", "gpu_memory_utilization": 0.95}']), "sum"],
  ["lm-eval with digits that Python alone reads", runs(["lm_eval", "--model", "vllm", "--model_args", "gpu_memory_utilization=0.9_5"]), "sum"],
  ["lm-eval with a small share behind a large one", runs(["lm_eval", "--model", "vllm", "--model_args", "gpu_memory_utilization=0.95,gpu_memory_utilization=0.1"]), "sum"],
  ["OpenRLHF", runs("python3 -m openrlhf.cli.train_ppo_ray --vllm_num_engines 1 --colocate_all_models --enforce_eager"), "sum"],
  ["OpenRLHF with its share", runs("ray job submit -- python3 -m openrlhf.cli.train_ppo_ray --vllm_num_engines 1 --vllm_gpu_memory_utilization 0.95"), "sum"],
  ["OpenRLHF's batch by deepspeed's own option, with another", [runs("deepspeed --module openrlhf.cli.batch_inference --eval_task generate_vllm"), runs("vllm serve m --served-model-name m --gpu-memory-utilization 0.1")], "sum"],
  ["lm-eval with arguments that are not known", runs(["bash", "-c", 'lm_eval --model vllm --model_args "pretrained=m,gpu_memory_utilization=$U"']), "sum"],
  ["lm-eval with words that are not known", sh("lm_eval --model vllm --model_args gpu_memory_utilization=0.4 $MORE"), "sum"],
  ["TRL's server by its module, twice", [runs("python -m trl.scripts.vllm_serve --model org/m"), runs("python -m trl.scripts.vllm_serve --model org/n")], "sum"],
  ["guidellm's own entrypoint that loads vLLM", { image: `ghcr.io/vllm-project/guidellm@${DIGEST}`, ...ALL, command: words("benchmark --backend vllm_python --model org/m") }, "sum"],
  ["verl", runs("python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.gpu_memory_utilization=0.95"), "sum"],
  ["verl's own image", runs("", { image: "verlai/verl:vllm017.latest", command: ["bash", "-c", "cd /w && python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.gpu_memory_utilization=0.95"] }), "sum"],
  ["verl by its default, twice", [runs("python3 -m verl.trainer.main_ppo data.train_files=/x"), runs("python3 -m verl.trainer.main_ppo data.train_files=/y")], "sum"],
  ["TRL's server by its default, twice", [runs("trl vllm-serve --model org/m"), runs("trl vllm-serve --model org/n --enforce_eager true")], "sum"],
  ["TRL's trainer", runs("trl grpo --model_name_or_path org/m --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.95"), "sum"],
  ["LightEval", runs(["lighteval", "vllm", "model_name=org/m,gpu_memory_utilization=0.95", "gsm8k"]), "sum"],
  ["LLaMA-Factory", runs("llamafactory-cli api /x.yaml infer_backend=vllm vllm_gpu_util=0.95"), "sum"],
  ["NeMo RL", runs("uv run examples/run_grpo.py policy.generation.vllm_cfg.gpu_memory_utilization=0.95"), "sum"],
  ["prime-rl", runs("uv run rl --inference.gpu-memory-utilization 0.95"), "sum"],
  ["two programs that fit alone", [runs("swift deploy --infer_backend vllm --vllm_gpu_memory_utilization 0.5"), runs(["lm_eval", "--model", "vllm", "--model_args", "gpu_memory_utilization=0.5"])], "sum"],
  ["one beside a server that fits alone", [own("m --served-model-name m --gpu-memory-utilization 0.6"), runs(["lm_eval", "--model", "vllm", "--model_args", "gpu_memory_utilization=0.5"])], "sum"],
  ["one in a shell beside a server", sh("vllm serve m --served-model-name m --gpu-memory-utilization 0.6 & lm_eval --model vllm --model_args gpu_memory_utilization=0.5"), "sum"],
  ["one in a health check", own("m --served-model-name m --gpu-memory-utilization 0.6", { healthcheck: { tests: ["CMD", "lm_eval", "--model", "vllm"] } }), "sum"],
  ["vLLM's flags in front of a program's name", runs("/s --max-num-batched-tokens 8192 lm_eval --model vllm --model_args gpu_memory_utilization=0.01"), "sum"],
  ["vLLM's flags in front of a module's name", runs("/s --enforce-eager -m lm_eval --model vllm --model_args gpu_memory_utilization=0.01"), "sum"],
];

/** Servers as people write them: the fixed rules refuse none. */
// biome-ignore format: one row a line
export const GOOD_SERVERS: readonly (readonly [what: string, declares: Props])[] = [
  ["vLLM with a health check", own(`m ${FINE}`, { healthcheck: { tests: ["CMD", "curl", "-fsS", "http://127.0.0.1:8000/health"] } })],
  ["vLLM with a health check in a shell", own(`m ${FINE}`, { healthcheck: { tests: ["CMD-SHELL", "pgrep -f 'vllm serve' && curl -f http://localhost:8000/health || exit 1"] } })],
  ["vLLM without a health check", own(`m ${FINE}`, { healthcheck: { tests: ["NONE"] } })],
  ["vLLM that keeps no images and moves its cache", own(`m ${FINE} --mm-processor-cache-gb 0 -asc 4 --kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both","kv_buffer_device":"CUDA"} --max-cpu-loras 1`)],
  ["vLLM with one rank of two", own(`m ${FINE} --nnodes 2 -tp 2 --node-rank 1`)],
];

export const ATTEMPTS = {
  SPELLINGS,
  PROGRAMS,
  SHELLS,
  SIGNS,
  IMAGES,
  UNKNOWN,
  BESIDE,
  BESIDE_FORMS,
  CHECKS,
  DISGUISES,
  LOADERS,
} as const;

const half = own(`m --served-model-name m --gpu-memory-utilization 0.5`);
const onMachine = (name: string, host: unknown = 0.45) => hostInstance(host, name);
const b = (more: object = {}) => container("b", half, { provider: "urn:provider:dgx", ...more });
const c = (more: object = {}) => container("c", half, { provider: "urn:provider:dgx", ...more });
const says = (name: string, machine: string) =>
  declared(TYPE.inferenceServer, `${name}-${machine}`, { container: name, machine, model: {} });
const machine = (name: string, props: Props = {}) => ({
  ...declared(TYPE.machine, name, { machine: name, hostInstance: "none", servers: [], ...props }),
  urn: `urn:${name}`,
});

/** A provider of Docker, with the address of its engine. */
const at = (name: string, host?: string) => ({
  ...declared("pulumi:providers:docker", name, host === undefined ? {} : { host }),
  urn: `urn:${name}`,
});
const HERE_IN_OTHER_FORMS = [
  ...[
    "unix:///run/docker.sock",
    "ssh://me@localhost",
    "ssh://127.1",
    "ssh://me@0x7f000001",
    "ssh://[::1]",
  ],
  ...["ssh://[::ffff:127.0.0.1]", "tcp://localhost:2375", "tcp://127.0.0.1:2376", "ssh://0.0.0.0"],
];

/** More than one resource: each is refused by the sum. */
// biome-ignore format: one row a line
export const MACHINES: readonly (readonly [what: string, resources: readonly ReturnType<typeof declared>[]])[] = [
  ["two containers", [b(), c()]],
  ["a container beside a declared instance A", [onMachine("dgx"), b()]],
  ["two instances A", [onMachine("dgx", 0.3), hostInstance(0.3, "dgx", 8100), b()]],
  ["an instance A that names no machine", [declared(TYPE.hostInstance, "a", { port: 8000, gpuMemoryUtilization: 0.45 }), b()]],
  ["an instance A whose share is not known", [onMachine("dgx", UNKNOWN_TEXT), b()]],
  ["an instance A with a negative share", [onMachine("dgx", -0.4), b(), c()]],
  ["one program with two servers", [container("b", runs(["sh", "-c", "vllm serve a --served-model-name a --gpu-memory-utilization 0.5 & vllm serve b --served-model-name b --gpu-memory-utilization 0.5"]))]],
  ["two providers of one machine's name", [onMachine("dgx", 0.1), b({ provider: "dgx" }), c({ provider: "dgx" })]],
  ["a provider that names no machine", [onMachine("dgx"), b({ provider: "urn:provider:x" })]],
  ["a second machine that nothing runs on", [onMachine("dgx"), onMachine("decoy", 0.1), b()]],
  ["a record that puts the second elsewhere, on one provider", [onMachine("dgx", 0.1), onMachine("decoy", 0.1), says("b", "dgx"), says("c", "decoy"), b(), c()]],
  ["records that put one container on two machines", [onMachine("dgx"), onMachine("decoy", 0.1), says("b", "dgx"), says("b", "decoy"), b()]],
  ["a decoy component above the second, on one provider", [machine("dgx"), machine("decoy"), b({ parent: "urn:dgx" }), c({ parent: "urn:decoy" })]],
  ["a container that the component doesn't list", [machine("dgx", { hostInstance: { port: 8000, gpuMemoryUtilization: 0.45 } }), b({ parent: "urn:dgx" })]],
  ["a container that runs other arguments than the component says", [machine("dgx", { servers: [{ name: "b", image: IMAGE, command: words(`m ${FINE}`) }] }), container("b", own("m --served-model-name m --gpu-memory-utilization 0.95"), { parent: "urn:dgx" })]],
  ["a component that says nothing of instance A", [machine("dgx", { hostInstance: undefined }), b({ parent: "urn:dgx" })]],
  ["a component whose servers are not known", [machine("dgx", { servers: UNKNOWN_LIST }), b({ parent: "urn:dgx" })]],
  ["two providers of one engine", [at("p1"), at("p2"), onMachine("dgx", 0.1), onMachine("decoy", 0.1), says("b", "dgx"), says("c", "decoy"), b({ provider: "urn:p1" }), c({ provider: "urn:p2" })]],
  ...HERE_IN_OTHER_FORMS.map((host) => [`two providers of one engine, one by ${host}`, [at("p1"), at("p2", host), onMachine("dgx", 0.1), onMachine("decoy", 0.1), says("b", "dgx"), says("c", "decoy"), b({ provider: "urn:p1" }), c({ provider: "urn:p2" })]] as const),
  ["Pulumi's own name for the second", [b(), declared(TYPE.container, "b", half, { urn: "urn:b2" })]],
];

const gpu = (image: string, command = "", more: Props = {}) => ({
  image,
  ...ALL,
  command: words(command),
  ...more,
});

/** The fixed rules say nothing of these, not even a warning. */
// biome-ignore format: one row a line
export const INNOCENT: readonly (readonly [what: string, declares: Props])[] = [
  ["nginx", { image: "nginx:1.27" }],
  ["a client whose health check looks for a server", { image: "curlimages/curl:8", healthcheck: { tests: ["CMD-SHELL", "ps aux | grep -q 'vllm serve' || exit 1"] } }],
  ["nginx with everything unknown but its image", { image: "nginx:1.27", command: UNKNOWN_LIST, envs: UNKNOWN_LIST, ports: UNKNOWN_LIST }],
  ["nginx from another resource's output", { image: UNKNOWN_TEXT, name: "nginx" }],
  ["nginx from an output, privileged", { image: UNKNOWN_TEXT, privileged: true }],
  ["nginx in front of vLLM", { image: "nginx:1.27", command: ["nginx", "-g", "daemon off;"], envs: ["UPSTREAM=http://vllm:8000/v1"], uploads: [{ file: "/etc/nginx/nginx.conf", content: "http { server { location / { proxy_pass http://vllm:8000; } } }" }] }],
  ["a proxy whose script names the upstream", { image: "nginx:1.27", command: ["sh", "-c", "envsubst </x >/y; nginx -g 'daemon off;' # before vllm:8000"] }],
  ["HAProxy", { image: "haproxy:3.1", command: ["haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"] }],
  ["PostgreSQL", { image: "postgres:17", envs: ["POSTGRES_DB=litellm"] }],
  ["Redis with flags", { image: "redis:7", command: words("redis-server --port 6379 --maxmemory 1gb --loglevel notice") }],
  ["Prometheus", { image: "prom/prometheus:v3.0.0", command: words("--config.file=/etc/prometheus.yml --web.listen-address=:9090") }],
  ["Grafana with a dashboard of vLLM", { image: "grafana/grafana:11", uploads: [{ file: "/d.json", content: '{"expr": "vllm:num_requests_running", "title": "vLLM serving"}' }] }],
  ["node exporter, privileged", { image: "prom/node-exporter:v1.8.2", privileged: true, command: words("--path.rootfs=/host --log.level=info") }],
  ["cAdvisor with devices", { image: "gcr.io/cadvisor/cadvisor:v0.49", privileged: true, devices: [{ hostPath: "/dev/kmsg" }] }],
  ["DCGM exporter", gpu("nvcr.io/nvidia/k8s/dcgm-exporter:4.2.0", "-f /etc/dcgm-exporter/default-counters.csv", { capabilities: { adds: ["SYS_ADMIN"] } })],
  ["LiteLLM", { image: "ghcr.io/berriai/litellm:v1.103.0", command: words("--config /app/config.yaml --port 4000") }],
  ["LiteLLM with a key for vLLM", { image: "ghcr.io/berriai/litellm:v1.103.0", envs: ["HOSTED_VLLM_API_KEY=x", "HOSTED_VLLM_API_BASE=http://b:8001/v1"] }],
  ["Open WebUI", { image: "ghcr.io/open-webui/open-webui:v0.11.3", envs: ["OPENAI_API_BASE_URLS=http://vllm:8001/v1"] }],
  ["Open WebUI on the GPU", gpu("ghcr.io/open-webui/open-webui:v0.11.3-cuda", "", { envs: ["OPENAI_API_BASE_URL=http://vllm:8001/v1"] })],
  ["Ollama", gpu("ollama/ollama:0.34.4", "serve", { envs: ["OLLAMA_HOST=0.0.0.0:11434", "OLLAMA_KEEP_ALIVE=5m"] })],
  ["Ollama by a script", gpu("ollama/ollama:0.34.4", "", { entrypoints: ["sh", "-c", "$(which ollama) serve"] })],
  ["Ollama's installer through a pipe", gpu("ubuntu:24.04", "", { command: ["sh", "-c", "curl -fsSL https://ollama.com/install.sh | sh && ollama serve"] })],
  ["SGLang", gpu("lmsysorg/sglang:v0.5.9", "python3 -m sglang.launch_server --model-path org/m --served-model-name org/m --tensor-parallel-size 1 --mem-fraction-static 0.8 --host 0.0.0.0 --port 30000")],
  ["SGLang with parsers", gpu("lmsysorg/sglang:v0.5.9", "sglang serve --model-path org/m --tool-call-parser qwen3_coder --reasoning-parser qwen3 --kv-cache-dtype fp8_e5m2 --quantization fp8 --trust-remote-code --dtype bfloat16 --load-format auto --chat-template /t")],
  ["SGLang over several nodes", gpu("lmsysorg/sglang:v0.5.9", "python3 -m sglang.launch_server --model-path org/m --nnodes 2 --node-rank 0 --pipeline-parallel-size 2 --data-parallel-size 2 --cpu-offload-gb 4 --disable-custom-all-reduce --attention-backend flashinfer --max-lora-rank 16 --enable-lora --stream-interval 2")],
  ["llama.cpp", gpu("ghcr.io/ggml-org/llama.cpp:server-cuda", "--model /m.gguf --host 0.0.0.0 --port 8080 --n-gpu-layers 999 --ctx-size 32768 --api-key x --seed 1 --chat-template chatml --ssl-key-file /k")],
  ["Text Generation Inference", gpu("ghcr.io/huggingface/text-generation-inference:3.3", "--model-id org/m --revision main --dtype bfloat16 --trust-remote-code --max-batch-prefill-tokens 4096 --num-shard 1 --otlp-endpoint http://x:4317")],
  ["TensorRT-LLM", gpu("nvcr.io/nvidia/tensorrt-llm/release:1.1.0", "trtllm-serve org/m --host 0.0.0.0 --port 8000 --backend pytorch --max_batch_size 8 --kv_cache_free_gpu_memory_fraction 0.5 --trust_remote_code --tokenizer org/m --served_model_name m --media_io_kwargs {}")],
  ["Triton", gpu("nvcr.io/nvidia/tritonserver:25.10-py3", "tritonserver --model-repository=/m --http-port=8000 --log-verbose=1 --grpc-port=8001")],
  ["LMDeploy", gpu("openmmlab/lmdeploy:v0.10", "lmdeploy serve api_server org/m --server-port 23333 --tp 1 --cache-max-entry-count 0.4 --enable-prefix-caching --model-name m")],
  ["Infinity", gpu("michaelf34/infinity:0.0.77", "v2 --model-id BAAI/bge-m3 --port 7997 --dtype float16 --revision main")],
  ["a transcriber", gpu("fedirz/faster-whisper-server:latest-cuda", "uvicorn --factory main:create_app --host 0.0.0.0 --port 8000 --root-path /w --ssl-keyfile /k --ssl-certfile /c --log-level info")],
  ["ComfyUI", gpu("own/comfyui:1", "python main.py --listen 0.0.0.0 --port 8188 --reserve-vram 4")],
  ["ComfyUI with a prompt writer behind vLLM", gpu("own/comfyui:1", "python main.py --llm-url http://vllm:8001/v1", { envs: ["VLLM_API_KEY=x", "VLLM_BASE_URL=http://vllm:8001", "VLLM_PORT=8001"] })],
  ["text-generation-webui", gpu("own/text-generation-webui:1", "python server.py --listen --api --gpu-memory 20 --trust-remote-code --extensions openai")],
  ["Jupyter", gpu("quay.io/jupyter/pytorch-notebook:cuda12", "start-notebook.py --ServerApp.token= --port=8888")],
  ["training with torchrun", gpu("nvcr.io/nvidia/pytorch:25.10-py3", "torchrun --nnodes 1 --node-rank 0 --master-addr localhost --master-port 29500 train.py --seed 1 --block-size 1024 --dtype bfloat16 --tokenizer x --runner local --middleware none")],
  ["training with LoRA", gpu("axolotlai/axolotl:main-py3.11-cu128-2.7", "accelerate launch -m axolotl.cli.train /c.yaml --lora-target-modules q_proj --lora-dtype bf16 --download-dir /x --hf-token x --revision main")],
  ["Ray's head", gpu("rayproject/ray:2.52.0-gpu", "ray start --head --port=6379 --block --num-gpus 1")],
  ["a browser", { image: "selenium/standalone-chrome:4", shmSize: 2048, command: words("google-chrome --headless --disable-gpu --remote-debugging-port=9222") }],
  ["a browser on the GPU", gpu("own/chrome:1", "google-chrome --headless --use-gl=egl")],
  ["Streamlit on the GPU", gpu("own/app:1", "streamlit run app.py --server.port 8501 --server.headless true")],
  ["a client that waits for the server", { image: "curlimages/curl:8", command: ["sh", "-c", "until curl -fsS http://vllm:8000/health; do sleep 1; done; echo 'vllm serve is up'"] }],
  ["a client on the GPU that waits for the server", gpu("own/app:1", "", { command: ["sh", "-c", "until curl -fsS http://vllm:8000/health; do echo waiting for http://vllm:8000; sleep 1; done; exec /app --url http://vllm:8000/v1"] })],
  ["a client that waits for the server's port", { image: "busybox:1.37", command: ["sh", "-c", 'until nc -z vllm "$PORT"; do sleep 1; done; exec /app'] }],
  ["a client on the GPU that waits for the server's port", gpu("own/app:1", "", { command: ["sh", "-c", 'until nc -z vllm 8000 && ping -c1 "vllm"; do echo no vllm yet; sleep 1; done; exec /app --llm vllm'] })],
  ["training in a folder of that name", gpu("own/app:1", "", { command: ["bash", "-c", "cd /workspace/vllm && LLM_PROVIDER=vllm python train.py --backend=vllm --data /data/vllm"] })],
  ["a load generator", { image: "own/guidellm:1", command: words("guidellm benchmark --target http://b:8001 --model org/m --max-requests 10") }],
  ["a Docker client", { image: "docker:28-cli", command: ["sh", "-c", "docker ps"], volumes: [{ hostPath: "/var/run/docker.sock", containerPath: "/var/run/docker.sock" }] }],
  ["CUDA samples", gpu("nvcr.io/nvidia/k8s/cuda-sample:nbody", "nbody -gpu -benchmark")],
  ["nvidia-smi in a shell", gpu("ubuntu:24.04", "", { command: ["bash", "-lc", "while :; do nvidia-smi; sleep 60; done"] })],
  ["a base64 word that is not a script", gpu("own/app:1", "--secret c2VjcmV0IHRleHQgb2Ygbm8gaW50ZXJlc3QgaGVyZQ== --model org/m")],
  ["GPUs switched off by variable", { image: "own/app:1", command: words("/app --max-model-len 8192"), envs: ["NVIDIA_VISIBLE_DEVICES=void"] }],
  ["vLLM's variable without a GPU", { image: "own/app:1", envs: ["VLLM_LOGGING_LEVEL=DEBUG"] }],
  ["a name that only sounds so", gpu("own/revllman:1", "")],
];

const OTHER = "nothing declared says vLLM; other-gpu-memory counts a container with GPUs";
const ELSEWHERE = "the rules judge containers of a program, not what a program does beside them";

/**
 * Let through by the fixed rules, and why. Every row is a container; see policies/README.md for
 * other resources.
 */
// biome-ignore format: one row a line
export const OUT_OF_SCOPE: readonly OutOfScope[] = [
  ["a wrapper inside the image that ignores its arguments", own(`m ${FINE}`, { entrypoints: ["/start.sh"] }), "nothing declares what an image's own program does with good arguments"],
  ["an image with GPUs and a start of its own", runs(""), OTHER],
  ["a script inside an image", runs("sh /s.sh"), OTHER],
  ["a script from the machine", runs("/s.sh", { volumes: [{ hostPath: "/home/u/s.sh", containerPath: "/s.sh" }] }), OTHER],
  ["an option cut short before its last word", runs("/s --gpu-mem 0.95"), `other programs have such options; ${OTHER}`],
  ["options that other servers have too", runs("/s --served-model-name org/m --tensor-parallel-size 1"), `SGLang takes them as well; ${OTHER}`],
  ["a server that is not vLLM", gpu("lmsysorg/sglang:v0.5.9", "python3 -m sglang.launch_server --model-path org/m --mem-fraction-static 0.95"), OTHER],
  ["a script turned around", sh("echo 'm/gro evres mllv' | rev | sh"), `what a shell computes can't be read; ${OTHER}`],
  ["a script in hexadecimal", sh("echo 766c6c6d207365727665 | xxd -r -p | sh"), `what a shell computes can't be read; ${OTHER}`],
  ["a script from the network", sh("curl -s http://x/s | sh"), `what a shell fetches can't be read; ${OTHER}`],
  ["a program named by a pattern", sh("/usr/local/bin/vl?m serve org/m"), `what a shell finds can't be read; ${OTHER}`],
  ["a name put together", sh("A=vl; B=lm; $A$B serve org/m"), `what a shell computes can't be read; ${OTHER}`],
  ["a variable that only vLLM's newest build has", runs("", { envs: ["VLLM_SOMETHING_NEW=1"] }), `clients name variables so too; ${OTHER}`],
  ["a small server of a program that serves nobody", runs("swift deploy --model org/m --infer_backend vllm --vllm_gpu_memory_utilization 0.4"), "it fits, and no coding client asks it"],
  ["a trainer that asks a server of vLLM's", runs("trl grpo --use_vllm true --vllm_mode server --vllm_server_host b"), `it loads none; ${OTHER}`],
  ["a program that loads vLLM by a file", runs("swift deploy /x.yaml"), `a file of the image can't be read; ${OTHER}`],
  ["lm-eval without a GPU", { image: OWN, command: words("lm_eval --model vllm --model_args gpu_memory_utilization=0.95") }, "it reaches no GPU's memory"],
  ["vLLM's own benchmark without a GPU", own("", { gpus: undefined, entrypoints: ["vllm"], command: words("bench latency --model org/m") }), "it reaches no GPU's memory"],
  ["vLLM without a GPU", { image: OWN, command: words("/s --max-model-len 8192") }, "it takes no memory of the GPU, and only flags say that it is vLLM"],
  ["a container that starts another by Docker's socket", { image: "docker:28-cli", command: words("docker run --gpus all vllm/vllm-openai --model org/m"), volumes: [{ hostPath: "/var/run/docker.sock", containerPath: "/var/run/docker.sock" }] }, ELSEWHERE],
];
