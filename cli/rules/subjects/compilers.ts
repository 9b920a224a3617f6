import type { Hit, LogReading } from "../../sees/log/scanLog";
import { sign, startSign } from "../../sees/log/sign";
import { cameUpAfter, type Picture } from "../picture";
import { type Explanation, ofSomeLog, type WeighingRule, type Words } from "../rule";

/**
 * What compilers say of a GPU that they don't know, and who asks for a newer one. FlashInfer only warns
 * of it where the kernels are there already.
 */
const TOO_OLD = startSign(
  [
    "is not defined for option",
    "nsupported gpu architecture",
    "unsupported CUDA gpu architecture",
    "invalid value for --gpu-architecture",
    "nsupported .version",
    "requires CUDA >=",
    "requires CUDA Version >=",
    "FlashInfer requires GPUs with sm75",
    "Unknown CUDA arch (",
  ],
  /\b(ptxas|nvcc|nvlink|cicc|nvrtc|clang(?:\+\+)?)\b.{0,80}?(?:Value '(\w+)' is not defined for option '(?:gpu-name|gpu-architecture|gpu-code|arch)'|[Uu]nsupported (?:CUDA )?gpu architecture:? '?(\w+)|invalid value for --gpu-architecture|Unsupported \.version ([\d.]+))|(?<!Failed to get device capability: )(SM \d+\.\w+ requires CUDA(?: Version)? >= ?[\d.]+)|(FlashInfer requires GPUs with sm75)|Unknown CUDA arch \(([\w.]+)\)/,
);

/** The compiler that was started, with its folder. */
const STARTED = sign(["/nvcc", "/ptxas"], /(?:^|[\s'"=[])(\/[\w./+-]+\/(?:nvcc|ptxas))(?![\w/-])/);

const INSTALLED =
  "No setting to change: install CUDA 13's toolkit (12.9 at least) and name it where the server starts: `CUDA_HOME=/usr/local/cuda-13.0`, its `bin` first on PATH. Or use the container: an unsuffixed release of vLLM has it.";

/** Where a compiler stands, whose it is, and what to do about that one. */
const PLACES: readonly { readonly is: RegExp; readonly whose: string; readonly advice: string }[] =
  [
    {
      is: /conda|mamba|\/envs\//,
      whose: "of a conda environment",
      advice: `${INSTALLED} A newer one inside of that environment does, too: \`conda install -c nvidia cuda-nvcc=13\`.`,
    },
    {
      is: /\/triton\/|\/site-packages\/|\/dist-packages\//,
      whose: "that a Python package brought",
      advice:
        "Pin another image: an unsuffixed release of vLLM comes with CUDA 13, whose compilers know it. If there is a newer one beside it, `environment` may name that: TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas.",
    },
    {
      is: /^\/usr\/bin\//,
      whose: "of the system's own package `nvidia-cuda-toolkit`, which is years behind",
      advice: `${INSTALLED} \`sudo apt-get remove nvidia-cuda-toolkit\` takes the old one out of the way.`,
    },
    { is: /\/cuda-\d/, whose: "of an older toolkit", advice: INSTALLED },
  ];
const ELSEWHERE =
  "Pin another image: an unsuffixed release of vLLM comes with CUDA 13, whose compilers know it. In an environment of your own set CUDA_HOME to a toolkit of CUDA 13 (12.9 at least), its `bin` first on PATH: an older nvcc of the system or of conda stands in front.";

const SEE = "which -a nvcc; nvcc --version; echo $CUDA_HOME; ls -d /usr/local/cuda*";

function tooOld({ groups }: Hit, path: string | undefined): Words {
  const [program, value, arch, ptx, needs, unread, torch] = groups;
  const place = path === undefined ? undefined : PLACES.find(({ is }) => is.test(path));
  const found = path && place ? `${path} (${place.whose})` : path;
  const unknown = value || arch || torch || (ptx && `PTX ${ptx}`) || "its architecture";
  const asked = needs || (unread && `${unread} or higher, as it says where it could read no GPU`);
  return {
    cause: asked
      ? `The CUDA compiler that FlashInfer finds${found ? `, ${found},` : ""} is older than this GPU: ${asked}.`
      : `A compiler is older than this GPU: ${torch ? "torch" : (found ?? program)} doesn't know ${unknown}.`,
    advice: place?.advice ?? ELSEWHERE,
    command: place === undefined ? "serving pin vllm/vllm-openai:v0.30.0" : SEE,
  };
}

/** A compiler that doesn't know this GPU: the kernel itself may well be fit for it. */
function olderCompiler(_picture: Picture, log: LogReading): Explanation | undefined {
  const hit = log.hits.get(TOO_OLD);
  if (hit === undefined || cameUpAfter({ ...hit, log })) return undefined;
  return {
    ...tooOld(hit, log.hits.get(STARTED)?.groups[0]),
    evidence: hit.line,
    target: log.container,
    hit: { ...hit, log },
    failsStart: true,
  };
}

export const compilers: readonly WeighingRule[] = [
  { id: "compiler-too-old", explain: ofSomeLog(olderCompiler) },
];
