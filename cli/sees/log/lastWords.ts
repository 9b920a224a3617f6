/** A way in which a program says, without a traceback, why it ends. */
export interface LastWords {
  readonly pattern: RegExp;
  /** What it says; `undefined` where it means no end. Groups that took no part are "". */
  readonly said: (groups: readonly string[]) => string | undefined;
  /**
   * The words stand in the next lines of the same process: its first group is the last of them, its
   * second one, where it has that, comes before.
   */
  readonly goesOn?: RegExp;
  /** Who says it, where that is not the program itself. */
  readonly by?: "docker";
}

const all = ([, ...groups]: readonly string[]): string => groups.filter(Boolean).join(": ");

const SIGNALS: Readonly<Record<number, string>> = {
  4: "SIGILL, an instruction that this processor lacks",
  6: "SIGABRT, it aborted itself",
  7: "SIGBUS, memory that went away, such as a full /dev/shm",
  8: "SIGFPE",
  9: "SIGKILL, it was killed",
  11: "SIGSEGV, a segmentation fault",
};

/** A signal that ended a process by itself; a process that is told to end gets 2 or 15. */
function bySignal(process: string, number: string | undefined): string | undefined {
  const signal = SIGNALS[Math.abs(Number(number))];
  return signal && `${process} ended by signal ${Math.abs(Number(number))} (${signal})`;
}

/** Every way that is known, apart from a traceback; a line is read by the first that fits. */
export const LAST_WORDS: readonly LastWords[] = [
  // argparse.
  {
    pattern:
      /^(?:vllm(?: [\w-]+)*|[\w./-]*\.py|python3?(?: -m [\w.]+)?|usage error): error: (\S.*)/,
    said: all,
    // pydantic's own words, of an argument that is an object.
    goesOn: /^(?: {2}(?:(?:Value|Assertion) error, )?(\S.*?)(?: \[type=.*)?|([a-z][\w.]*))$/,
  },
  // Rust, before and after 1.73.
  { pattern: /^thread '[^']*'(?: \(\d+\))? panicked at '(.*)', \S+:\d+/, said: all },
  {
    pattern: /^thread '[^']*'(?: \(\d+\))? panicked at (\S+:\d+(?::\d+)?):?$/,
    said: all,
    goesOn: /^(.*\S.*)$/,
  },
  // C++.
  {
    pattern: /^terminate called after throwing an instance of '([^']+)'/,
    said: all,
    goesOn: /^\s*what\(\): +(.*\S)/,
  },
  { pattern: /^(terminate called without an active exception)/, said: all },
  { pattern: /^libc\+\+abi: terminating (?:due to|with) (.*\S)/, said: all },
  { pattern: /^F\d{4,8} [\d:.]+ +\d+ (\S+:\d+)\] (.*\S)/, said: all },
  {
    pattern:
      /^((?:malloc|free|realloc|calloc|munmap_chunk)\(\): .*\S|double free or corruption.*|corrupted (?:size|double).*|\*\*\* stack smashing detected \*\*\*.*)/,
    said: all,
  },
  // ZeroMQ, and OpenMP's libraries.
  { pattern: /^(\S.{3,200} \((?:src\/)?[\w/]+\.cpp:\d+\))$/, said: all },
  {
    pattern: /^((?:libgomp|OMP|OpenBLAS)\b.{0,200}Resource temporarily unavailable.*)/,
    said: all,
  },
  // vLLM's own kernels.
  { pattern: /^Failed: (Cuda error \S+:\d+ '.*')/, said: all },
  { pattern: /^Fatal glibc error: (.*\S)/, said: all },
  { pattern: /^Fatal Python error: (.*\S)/, said: all, goesOn: /^(\w+Error: .*\S)/ },
  // Signals.
  { pattern: /^(?:!+ )?Segfault encountered\b/, said: () => SIGNALS[11] },
  {
    pattern:
      /^(?:.{0,80}: line \d+: +\d+ )?((?:Segmentation fault|Aborted|Illegal instruction|Bus error|Floating point exception)(?: +\(core dumped\))?)(?: .*)?$/,
    said: all,
  },
  { pattern: /^\*\*\* (SIG[A-Z]+) .*received/, said: all },
  {
    pattern: /\b(?:core proc|Engine core proc|Worker proc) (\S+) died unexpectedly(?:.*?(-\d+))?/,
    said: ([, name = "a process", code]) => bySignal(name, code),
  },
  {
    pattern: /Failed core proc\(s\): \{.*?'([\w-]+)': (-\d+)/,
    said: ([, name = "a process", code]) => bySignal(name, code),
  },
  {
    pattern: /\b(\w*Process) pid (\d+) died, exit code: (-\d+)/,
    said: ([, name = "a process", pid = "", code]) => bySignal(`${name} (pid ${pid})`, code),
  },
  {
    pattern:
      /Process '?([\w-]+)'? .*?(?:exit(?:ed)?(?: with)? ?code[:= ]+|died with signal )(-\d+)/,
    said: ([, name = "a process", code]) => bySignal(name, code),
  },
  {
    pattern: /^start gate: vLLM ended after \d+ s, by signal (\d+)/,
    said: ([, signal]) => bySignal("vLLM", signal),
  },
  // The loader and the shell.
  { pattern: /error while loading shared libraries: (.*\S)/, said: all },
  {
    pattern:
      /^(?:\/bin\/|\/usr\/bin\/)?(?:env|(?:ba|da)?sh|\S+\.sh): (?:(?:line )?\d+: )?(.*(?:not found|No such file or directory|Permission denied|cannot execute|Exec format error).*)/,
    said: all,
  },
  {
    pattern:
      /^(?:\S*\/)?python[\d.]*: (can't open file .*|No module named .*|Error while finding module specification .*)/,
    said: all,
  },
  // What starts containers.
  {
    pattern: /^(exec \S+: (?:exec format error|no such file or directory|permission denied).*)/i,
    said: all,
    by: "docker",
  },
  { pattern: /(exec user process caused: .*\S)/, said: all, by: "docker" },
  {
    pattern: /Error response from daemon: (.*\S)/,
    said: all,
    by: "docker",
    // What it started says why in a line of its own.
    goesOn: /^(nvidia-container-cli: .*\S)/,
  },
  {
    pattern:
      /^(?:docker: |ERROR: )?((?:permission denied while trying to|[Cc]annot|failed to) connect to the [Dd]ocker (?:daemon|API).*\S)/,
    said: all,
    by: "docker",
  },
  { pattern: /^docker: (\S.*\S)/, said: all, by: "docker" },
  { pattern: /\bOCI runtime (?!exec)(?:\w+ )?failed: (.*\S)/, said: all, by: "docker" },
  { pattern: /^(nvidia-container-cli: .*\S)/, said: all, by: "docker" },
];

/** Any line that one of those, or a traceback, could begin with or be introduced by. */
export const WORTH_READING =
  /Traceback| {2}File "|[Ee]rror|[Ee]xception|[Ff]ailed|panicked|docker: |Docker daemon|docker API|terminat|[Ff]atal|core proc|Worker proc|SIG[A-Z]|Segfault|Segmentation|Aborted|Bus error|Illegal|Floating point|smashing|corrupt|malloc\(|free\(|alloc\(|munmap_chunk|not found|No such file|No module|can't open|exec |F\d{4}|died|ended after|OCI runtime|nvidia-container|\.cpp:\d+\)|temporarily unavailable/;
