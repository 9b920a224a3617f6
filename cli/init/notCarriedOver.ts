/** Why what a file or a command has is not carried over, a clause each, where several kinds of them say it. */
export const NOT_CARRIED = {
  setting: "a server has no setting for it.",
  health: "the health check asks for /health, and `healthcheck` sets its times.",
  reserved: "memory is reserved by the share: `gpuMemoryUtilization`.",
  allGpus: "the container gets all GPUs of the machine.",
  ownUser: "vLLM runs as the image's own user.",
  ownFolders: "a server's container has folders of its own.",
  ownNetwork: "the container is on a network of its own, and its port is published.",
  privileges: "no container here has the machine's privileges.",
  thisMachine: "the server is on the machine that the stack file is of.",
  oneContainer:
    "a server is one container: each further one is a server of its own, with its memory.",
  restarts: "it is `unless-stopped` here.",
  stays: "the container stays when it stops, so that its log can be read.",
  togetherByMemory: "which servers run together follows from the machine's memory (`onDemand`).",
  folders: "models lie in the machine's cache (`modelCache`), or in a folder of `mounts`.",
  files: "a server gets no file but those of its folders (`mounts`).",
  secret: "no secret is taken over: `huggingFaceTokenVariable` names the variable of your shell.",
  secretFile:
    "a server gets no file with a secret: `huggingFaceTokenVariable` names the variable of your shell with the token.",
  replaced: "`serving up` stops the old container before it starts the new one.",
  log: "Docker keeps the log by its own settings.",
  logs: "Docker keeps the log, and `serving logs` reads it.",
} as const;

/** Why a number of copies is not carried over, unless it is as it is here. */
export const copies = (value: unknown): string | undefined =>
  value === 1 ? undefined : NOT_CARRIED.oneContainer;

/** Keys of which the same becomes, by names with blanks between them. */
export const alike = <Same>(meaning: Same, ...names: readonly string[]): Record<string, Same> =>
  Object.fromEntries(names.flatMap((each) => each.split(" ")).map((name) => [name, meaning]));
