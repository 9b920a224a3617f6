#!/bin/sh
# Starts Codex with the model model, once its server answers.
# Written by local-serving from the stack file: edits are lost at the next update.
# Exit codes: 69 when a server does not answer as expected, 78 when a key is missing or bad, else the client's own.
set -u
me=${0##*/}
newline='
'

stop() {
  code=$1
  shift
  printf '%s\n' "$@" >&2
  exit "$code"
}

command -v codex >/dev/null 2>&1 || stop 127 "$me: codex is not installed (npm install -g @openai/codex)."

# The server ignores the value, the client insists on one.
[ -n "${LOCAL_SERVING_API_KEY:-}" ] || LOCAL_SERVING_API_KEY=local-serving-placeholder
export LOCAL_SERVING_API_KEY
key=$LOCAL_SERVING_API_KEY key_name=LOCAL_SERVING_API_KEY

# ask URL KEY: its answer, its status and the exit code on lines of their own. The key goes through standard input, so that
# `ps` never shows it; no redirect is followed, as it could lead the key elsewhere.
ask() {
  {
    fetch "$@"
    printf '\n%s' "$?"
  } | head -c 1048576
}

fetch() {
  if command -v curl >/dev/null 2>&1; then
    printf 'Authorization: Bearer %s\n' "$2" |
      curl -q --silent --max-time 2 --noproxy '*' --header @- --write-out '\n%{http_code}' "$1"
  elif command -v python3 >/dev/null 2>&1 && command -v timeout >/dev/null 2>&1; then
    printf '%s' "$2" | timeout 2 python3 -c '
import sys, urllib.error, urllib.request as r
request = r.Request(sys.argv[1], headers={"Authorization": "Bearer " + sys.stdin.read()})
class Stay(r.HTTPRedirectHandler):
    redirect_request = lambda *_: None
try:
    answer = r.build_opener(r.ProxyHandler({}), Stay).open(request)
except urllib.error.HTTPError as refusal:
    answer = refusal
print(answer.read(1048576).decode() + "\n" + str(answer.status), end="")
' "$1" 2>/dev/null
  else
    return 127
  fi
}

# check NAME URL MODEL KEY HINT...
check() {
  name=$1 url=$2 model=$3
  answer=$(ask "$url" "$4")
  # Shells take forever to cut the end off a long text.
  ends=$(printf '%s' "$answer" | tail -c 16)
  code=${ends##*"$newline"} status=${ends%"$newline"*}
  status=${status##*"$newline"}
  shift 4
  case $code in
    0) ;;
    127)
      echo "$me: neither curl nor python3 is here: starting without having checked $name." >&2
      return 0
      ;;
    28 | 124) stop 69 "$me: $name took longer than 2 s to answer ($url)." "$@" ;;
    *[!0-9]* | ????*) stop 69 "$me: $name sent more than 1048576 bytes ($url)." "$@" ;;
    *) stop 69 "$me: $name does not answer ($url)." "$@" ;;
  esac
  case $status in
    200) ;;
    400 | 401 | 403) stop 69 "$me: $name refuses the key in $key_name (status $status from $url)." ;;
    *) stop 69 "$me: $name answered with status $status ($url)." "$@" ;;
  esac
  case $(printf '%s' "$answer" | tr -d ' \t\r\n') in
    *"\"id\":\"$model\""*) ;;
    *)
      stop 69 "$me: $name answers, but serves no model '$model'. It serves:" \
        "$(printf '%s' "$answer" | tr -d ' \t\r\n' | tr '{,' '\n\n' | sed -n '/modelperm/d;s/^"id":"\(.*\)".*$/  \1/p' | LC_ALL=C tr -cd '\n -~')" \
        "If the model was changed on purpose, run the update of the stack again, or on a laptop the export: it rewrites this client's files."
      ;;
  esac
}

check 'the inference server' \
  'http://127.0.0.1:8001/v1/models' \
  'model' \
  "$key" \
  '  docker ps --all --filter name=vllm-model-8001   is it running?' \
  '  docker logs --tail 20 vllm-model-8001   what does it say? A first boot compiles for 10 to 15 minutes: let it.'

CODEX_HOME='/home/me/.codex'
export CODEX_HOME
exec codex --profile 'local-serving' "$@"
