import { describe, expect, it } from "vitest";
import { lastWords } from "../../faults/lastWords";

const SOCKET = "unix:///var/run/docker.sock";
const DRIVER = 'could not select device driver "" with capabilities: [[gpu]]';
const DENIED =
  "pull access denied for me/x, repository does not exist or may require 'docker login': denied: requested access to the resource is denied";
const AWAY = `Cannot connect to the Docker daemon at ${SOCKET}. Is the docker daemon running?`;
const PERMISSION = `permission denied while trying to connect to the Docker daemon socket at ${SOCKET}: Head "http://%2Fvar%2Frun%2Fdocker.sock/_ping": dial unix /var/run/docker.sock: connect: permission denied`;
const TLS =
  'error during connect: Head "https://10.0.0.5:2376/_ping": tls: failed to verify certificate: x509: certificate signed by unknown authority';

/** How clients end an error of `docker run`: 20.10 and 24, then 28 and 29. */
const ENDS = ["See 'docker run --help'.\n", "\nRun 'docker run --help' for more information\n"];

describe.each(ENDS)("what a client says that ends with %j", (end) => {
  it.each([
    ["a missing GPU", `Error response from daemon: ${DRIVER}.`],
    ["no daemon", AWAY],
    ["no right to it", `${PERMISSION}.`],
    ["another certificate", TLS],
    [
      "a pull that is cut off",
      "error pulling image configuration: download failed after attempts=6: dial tcp: lookup cdn: i/o timeout.",
    ],
    [
      "a name that is taken",
      'Error response from daemon: Conflict. The container name "/b" is already in use by container "4f". You have to remove (or rename) that container to be able to reuse that name.',
    ],
    [
      "no such program",
      'Error response from daemon: failed to create task for container: exec: "vllm": executable file not found in $PATH: unknown',
    ],
  ])("is its reason: %s", (_, reason) => {
    expect(lastWords(`docker: ${reason}\n${end}`)).toBe(reason);
  });

  it("is the reason behind a pull, too", () => {
    const pull = "Unable to find image 'me/x:1' locally\n1: Pulling from me/x\r\nabc: Waiting\n";
    const reason = `Error response from daemon: ${DENIED}`;
    expect(lastWords(`${pull}docker: ${reason}.\n${end}`)).toBe(`${reason}.`);
  });

  it("is the whole of a reason of several lines", () => {
    const lines = [
      "Error response from daemon: failed to create shim task: stderr: Auto-detected mode as 'legacy'",
      "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.",
    ];
    const warning = "WARNING: The requested image's platform (linux/amd64) does not match\n";
    expect(lastWords(`${warning}docker: ${lines.join("\n")}\n${end}`)).toBe(lines.join(" "));
  });
});

describe("the reason in what a program printed", () => {
  it.each([
    [
      "unknown flag: --gpuss\n\nUsage:  docker run [OPTIONS] IMAGE\n\nRun 'docker run --help' for more information\n",
      "unknown flag: --gpuss",
    ],
    ["unknown flag: --gpuss\nSee 'docker run --help'.\n", "unknown flag: --gpuss"],
    [
      "docker: 'docker run' requires at least 1 argument\n\nUsage:  docker run [OPTIONS]\n\nSee 'docker run --help' for more information\n",
      "'docker run' requires at least 1 argument",
    ],
    [
      "\"docker run\" requires at least 1 argument.\nSee 'docker run --help'.\n\nUsage:  docker run [OPTIONS]\n\nCreate and run a new container from an image\n",
      '"docker run" requires at least 1 argument.',
    ],
    [
      "docker: unknown command: docker foo\n\nRun 'docker --help' for more information\n",
      "unknown command: docker foo",
    ],
    [`${AWAY}\n${AWAY}\nError: failed to start containers: a, b\n`, AWAY],
    [
      "Error response from daemon: No such container: b\nError: failed to start containers: b\n",
      "Error response from daemon: No such container: b",
    ],
    // Version 28 and later.
    [`${AWAY}\nfailed to start containers: b\n`, AWAY],
    [
      "Error response from daemon: No such container: b\nfailed to start containers: b\n",
      "Error response from daemon: No such container: b",
    ],
    ["Error: failed to start containers: b\n", "Error: failed to start containers: b"],
    [`Error response from daemon: ${DENIED}\n`, `Error response from daemon: ${DENIED}`],
    [
      'Error response from daemon: Get "https://ghcr.io/v2/": denied: denied\n',
      'Error response from daemon: Get "https://ghcr.io/v2/": denied: denied',
    ],
    [
      "Error response from daemon: Client sent an HTTP request to an HTTPS server.\n\n",
      "Error response from daemon: Client sent an HTTP request to an HTTPS server.",
    ],
    [`Got ${PERMISSION}\n`, `Got ${PERMISSION}`],
    [
      "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock\n",
      "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock",
    ],
    [
      "Traceback (most recent call last):\n  File \"<string>\", line 1\nModuleNotFoundError: No module named 'vllm'\n",
      "ModuleNotFoundError: No module named 'vllm'",
    ],
    [
      "Warning: added\nssh: connect to host spark port 22: Connection refused\r\n",
      "ssh: connect to host spark port 22: Connection refused",
    ],
    [
      "npm error code E404\nnpm error A complete log of this run can be found in: /x.log\n",
      "npm error code E404",
    ],
    ["error: unknown option '--x'\n(add --help for an example)\n", "error: unknown option '--x'"],
    [
      "Run 'docker run --help' for more information\n",
      "Run 'docker run --help' for more information",
    ],
    ["\n \n", ""],
    ["", ""],
  ])("%j", (printed, reason) => {
    expect(lastWords(printed)).toBe(reason);
  });
});
