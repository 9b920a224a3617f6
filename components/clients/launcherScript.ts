import { quoted } from "@local-serving/base/faults/shellWords";
import { KEY_CHECK_SH, newKey } from "../planned";
import type { ClientFile, ClientKind } from "./kind";
import type { Check, ClientTarget } from "./target";

/** Seconds that all checks together may take. */
const CHECK_SECONDS = 2;

/** Largest list of models that is read, in bytes: a long one takes some thousand. */
const LARGEST_ANSWER_BYTES = 1_048_576;

/** sysexits.h: a service is unavailable; a setting is missing. */
const UNAVAILABLE = 69;
const MISCONFIGURED = 78;

/** What a client's launcher is for. */
export const launcherPurpose = (kind: ClientKind, { model }: ClientTarget): string =>
  `Starts ${kind.title} with the model ${model}, once its server answers.`;

/**
 * Returns a launcher in POSIX sh. It sets the key, checks that the server answers with the expected
 * model, then becomes the client. Clients themselves wait a minute or longer for a server that is
 * down, and print nothing.
 */
export function launcherScript(kind: ClientKind, file: ClientFile, target: ClientTarget): string {
  const seconds = CHECK_SECONDS / (target.checks.length + (target.triedAt === undefined ? 0 : 1));
  return `#!/bin/sh
# ${launcherPurpose(kind, target)}
# Written by local-serving from the stack file: edits are lost at the next update.
# Exit codes: ${UNAVAILABLE} when a server does not answer as expected, ${MISCONFIGURED} when a key is missing or bad, else the client's own.
set -u
me=\${0##*/}
newline='
'

stop() {
  code=$1
  shift
  printf '%s\\n' "$@" >&2
  exit "$code"
}

${programCheck(kind)}

${keyLines(kind, target)}

${askLines(seconds)}

${checkLines(seconds)}

${[...target.checks.map((check) => checkLine(check, target)), ...tried(target), ...startNotice(target)].join("\n")}

${[...file.environment, `exec ${[kind.program?.name ?? [], ...(file.words ?? []), '"$@"'].flat().join(" ")}`].join("\n")}
`;
}

/** The shell functions that ask a server, each time for so many seconds at most. */
function askLines(seconds: number): string {
  return `# ask URL KEY: its answer, its status and the exit code on lines of their own. The key goes through standard input, so that
# \`ps\` never shows it; no redirect is followed, as it could lead the key elsewhere.
ask() {
  {
    fetch "$@"
    printf '\\n%s' "$?"
  } | head -c ${LARGEST_ANSWER_BYTES}
}

fetch() {
  if command -v curl >/dev/null 2>&1; then
    printf 'Authorization: Bearer %s\\n' "$2" |
      curl -q --silent --max-time ${seconds} --noproxy '*' --header @- --write-out '\\n%{http_code}' "$1"
  elif command -v python3 >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1; then
    printf '%s' "$2" | timeout ${seconds} python3 -c '${PYTHON_ASK}' "$1" 2>/dev/null
  else
    return 127
  fi
}`;
}

/**
 * Returns the shell function that checks whether a server answers, takes the key and serves the
 * model. If not, it says what to do.
 */
function checkLines(seconds: number): string {
  return `# check NAME URL MODEL KEY HINT...
check() {
  name=$1 url=$2 model=$3
  answer=$(ask "$url" "$4")
  # Shells take forever to cut the end off a long text.
  ends=$(printf '%s' "$answer" | tail -c 16)
  code=\${ends##*"$newline"} status=\${ends%"$newline"*}
  status=\${status##*"$newline"}
  shift 4
  case $code in
    0) ;;
    127)
      echo "$me: neither curl nor python3 is here: starting without having checked $name." >&2
      return 0
      ;;
    28 | 124) stop ${UNAVAILABLE} "$me: $name took longer than ${seconds} s to answer ($url)." "$@" ;;
    *[!0-9]* | ????*) stop ${UNAVAILABLE} "$me: $name sent more than ${LARGEST_ANSWER_BYTES} bytes ($url)." "$@" ;;
    *) stop ${UNAVAILABLE} "$me: $name does not answer ($url)." "$@" ;;
  esac
  case $status in
    200) ;;
    400 | 401 | 403) stop ${UNAVAILABLE} "$me: $name refuses the key in $key_name (status $status from $url)." ;;
    *) stop ${UNAVAILABLE} "$me: $name answered with status $status ($url)." "$@" ;;
  esac
  case $(printf '%s' "$answer" | tr -d ' \\t\\r\\n') in
    *"\\"id\\":\\"$model\\""*) ;;
    *)
      stop ${UNAVAILABLE} "$me: $name answers, but serves no model '$model'. It serves:" \\
        "$(printf '%s' "$answer" | tr -d ' \\t\\r\\n' | tr '{,' '\\n\\n' | sed -n '/modelperm/d;s/^"id":"\\(.*\\)".*$/  \\1/p' | LC_ALL=C tr -cd '\\n -~')" \\
        "If the model was changed on purpose, run the update of the stack again, or on a laptop the export: it rewrites this client's files."
      ;;
  esac
}`;
}

/**
 * Bounded by \`timeout\`; asked directly, as a proxy has no business between a client and its own
 * machine.
 */
const PYTHON_ASK = `
import sys, urllib.error, urllib.request as r
request = r.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.stdin.read()})
class Stay(r.HTTPRedirectHandler):
    redirect_request = lambda *_: None
try:
    answer = r.build_opener(r.ProxyHandler({}), Stay).open(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.read(${LARGEST_ANSWER_BYTES}).decode() + "\\n" + str(answer.status), end="")
`;

function programCheck({ program, launcher }: ClientKind): string {
  if (program === undefined)
    return `[ $# -gt 0 ] || stop 64 "$me: say what to start: ${launcher} PROGRAM ARGUMENTS"`;
  const { name, npm } = program;
  return `command -v ${name} >/dev/null 2>&1 || stop 127 "$me: ${name} is not installed (npm install -g ${npm})."`;
}

function keyLines({ keyInFile }: ClientKind, { key, via, server }: ClientTarget): string {
  const { variable, placeholder } = key;
  // A server that isn't ours has whatever key its owner gave it.
  if (placeholder === undefined && via === "native")
    return `key=\${${variable}:-} key_name=${variable}
case $key in
  '' | *[[:space:]]*) stop ${MISCONFIGURED} "$me: ${variable} is not set, or holds a blank. Set it to ${server.onDemand ? "llama-swap's key" : "the server's key"}, then start again." ;;
esac
export ${variable}`;
  if (placeholder === undefined)
    return `key=\${${variable}:-} key_name=${variable}
${KEY_CHECK_SH}
[ -z "$wrong" ] || stop ${MISCONFIGURED} "$me: ${variable} $wrong. Set it to the bridge's key, then start again." \\
  "A new key, for the bridge too:  ${newKey(variable).replace("$", "\\$")}"
export ${variable}`;
  if (keyInFile) return `key=${placeholder} key_name='its file'`;
  return `# The server ignores the value, the client insists on one.
[ -n "\${${variable}:-}" ] || ${variable}=${placeholder}
export ${variable}
key=$${variable} key_name=${variable}`;
}

function checkLine(check: Check, target: ClientTarget): string {
  // The model as it is between the quotes of a JSON text.
  const words = [
    ...[check.name, check.url, JSON.stringify(check.model).slice(1, -1)].map(quoted),
    check.keyed ? '"$key"' : "none",
    ...hints(check, target).map(quoted),
  ];
  return `check ${words.join(" \\\n  ")}`;
}

/**
 * LiteLLM also lists models whose server is down, so the launcher has it try the model with a few
 * tokens. If no answer comes in time, the server is busy.
 */
function tried({ triedAt, server: { container } }: ClientTarget): string[] {
  if (triedAt === undefined) return [];
  const hint =
    container === undefined
      ? ""
      : ` ${quoted(`  docker logs --tail 20 ${container}   what does it say, on its machine?`)}`;
  return [
    `case $(ask ${quoted(triedAt)} "$key") in`,
    `  *'Cannot connect to host'*) stop ${UNAVAILABLE} "$me: the bridge answers, the server behind it does not."${hint} ;;`,
    "esac",
  ];
}

/** Nothing tells from here whether the server runs: asking it would start it. */
const startNotice = ({ startMs }: ClientTarget): string[] =>
  startMs === 0
    ? []
    : [
        `echo "$me: $model is started on request: if it isn't running, the first answer takes minutes." >&2`,
      ];

function hints({ container, compiles }: Check, { server }: ClientTarget): string[] {
  if (container !== undefined)
    return [
      `  docker ps --all --filter name=${container}   is it running?`,
      `  docker logs --tail 20 ${container}   what does it say?${compiles ? " A first boot compiles for 10 to 15 minutes: let it." : ""}`,
    ];
  if (server.onDemand)
    return [
      "  systemctl --user status 'local-serving-*-on-demand'   does it run, on its machine?",
      "  journalctl --user --unit 'local-serving-*-on-demand' --lines 20   what does it say?",
    ];
  if (server.kind === "instance-a")
    return ["  Instance A is not managed here: start it the way it was set up."];
  return ["  systemctl status ollama   is it running?"];
}
