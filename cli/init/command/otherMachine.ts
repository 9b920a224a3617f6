/** Names of the processor that a DGX Spark hasn't, as paths, platforms and packages have them. */
const PROCESSOR = /(?<![a-z\d])(x86[_-]64|amd64|x64|i[36]86|x86)(?![a-z\d])/i;

/** Folders and files of such a machine's own libraries. */
const LIBRARIES = /x86_64-linux|i[36]86-linux|ld-linux-x86-64/;

/** Variables that list compute capabilities, for compilers of kernels. */
const CAPABILITIES = /CUDA_?ARCH|^NVCC_ARCH|_CUDA_ARCH|DSL_ARCH$|OVERRIDE_ARCH$/;

/** A DGX Spark's own compute capability, as each compiler writes it; code of its family runs, too. */
const OWN_CAPABILITY = /(?<![\d.])(?:12\.?1[af]?|12\.?0f)(?![\d.])/;

const ARM = "and a DGX Spark has an ARM processor (aarch64)";

/** Why a variable belongs to another kind of machine; `undefined` where nothing in it says so. */
export function ofOtherMachine(name: string, value: string): string | undefined {
  const [, processor] = PROCESSOR.exec(value) ?? [];
  if (processor !== undefined) return `it names ${processor}, ${ARM}.`;
  const isList = CAPABILITIES.test(name) && /\d/.test(value);
  return isList && !OWN_CAPABILITY.test(value)
    ? "it lists compute capabilities without 12.1, which a DGX Spark has: kernels would be built for other GPUs."
    : undefined;
}

/** Why a folder of libraries isn't brought to the server; `undefined` for any other. */
export const libraryOfOther = (...paths: readonly string[]): string | undefined =>
  paths.some((path) => LIBRARIES.test(path))
    ? `its path is of an x86_64 machine's libraries, ${ARM}, where no program can load them.`
    : undefined;
