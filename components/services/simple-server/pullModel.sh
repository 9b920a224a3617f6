# Pulls the model $MODEL into the Ollama at $BASE_URL, unless it is there. Progress goes to the log:
# a line for each new status, and one for each tenth of a download.
set -eu
LC_ALL=C
export LC_ALL

# `show` knows a model by the same short names as `pull` does, and asks no other host. A server that
# was just restarted gets some seconds to listen.
status=$(curl -q -sS -o /dev/null -w '%{http_code}' --retry "$ANSWER_WITHIN_SECONDS" --retry-delay 1 --retry-connrefused \
  "$BASE_URL/api/show" -d "{\"model\":\"$MODEL\"}") || {
  echo "Ollama does not answer at $BASE_URL: $MODEL was not pulled." >&2
  exit 1
}
if [ "$status" = 200 ]; then
  echo "$MODEL is there."
  exit 0
fi

curl -q -sS -N "$BASE_URL/api/pull" -d "{\"model\":\"$MODEL\"}" | awk -v model="$MODEL" '
  function text_of(key) {
    if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
    text = substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
    gsub(/[^ -~]/, "?", text)
    return text
  }
  function number_of(key) {
    if (!match($0, "\"" key "\":[0-9]+")) return 0
    return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0
  }
  function say(line) { print model ": " line; fflush() }
  /"error"/ { failed = text_of("error"); next }
  {
    status = text_of("status")
    if (status != last) { say(status); last = status; tenth = 0 }
    total = number_of("total")
    if (total > 0) {
      now = int(10 * number_of("completed") / total)
      if (now > tenth) { tenth = now; say(sprintf("%s %d %% of %.2f GB", status, 10 * now, total / 1e9)) }
    }
  }
  END {
    if (failed == "" && last == "success") exit 0
    print model " was not pulled: " (failed == "" ? "the connection ended early" : failed) > "/dev/stderr"
    exit 1
  }'
