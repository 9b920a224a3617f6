# Starts llama-swap's unit as it is planned, or takes it away. Run as
#
#   sh -c "$(cat unitOnMachine.sh)" unit start|stop|forget < hash of the key
#
# with UNIT, UNIT_PATH (its file), STATE (folder of what it writes), URL (where llama-swap answers,
# within ANSWER_SECONDS), and the hashes of all that it is made of: PROGRAM_SHA256 and so on. Only one of these that changed
# restarts a unit that runs: a restart stops every server that starts on request.
set -eu
umask 077
LC_ALL=C
export LC_ALL
# A login over ssh may come without it, and then nobody finds systemd's user manager.
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
export XDG_RUNTIME_DIR
user=$(id -un)
started=$STATE/started

MANAGER_SECONDS=20
JOURNAL_LINES=12

refuse() {
  printf '%s\n' "$*" >&2
  exit 1
}

manager_answers() { systemctl --user show --property=Version >/dev/null 2>&1; }

lingers() {
  [ "$(loginctl show-user "$user" --property=Linger --value 2>/dev/null)" = yes ] ||
    [ -e "/var/lib/systemd/linger/$user" ]
}

# Without it the unit ends with the operator's last logout, and doesn't start at boot.
# By name, since a login without a session of logind has no other.
keep_after_logout() {
  if lingers; then return; fi
  said=$(loginctl enable-linger "$user" 2>&1) ||
    refuse "The units of $user end at logout, and that can't be changed from here (${said:-loginctl enable-linger failed}). Run \`sudo loginctl enable-linger $user\` on this machine, then \`serving up\` again."
}

expect_manager() {
  waited=0
  until manager_answers; do
    waited=$((waited + 1))
    [ "$waited" -lt "$MANAGER_SECONDS" ] ||
      refuse "systemd runs no user manager for $user on this machine ($(systemctl --user show --property=Version 2>&1 | tail -n 1)): log in there by ssh or at its console, not by \`su\`, and see \`systemctl status user@$(id -u)\`. Then \`serving up\` again."
    sleep 1
  done
}

journal() {
  lines=$(journalctl --user --unit "$UNIT" --lines "$JOURNAL_LINES" --no-pager --output cat 2>/dev/null) || lines=
  printf '%s\n' "${lines:-its journal is empty}"
}

answers() {
  systemctl --user is-active --quiet "$UNIT" &&
    [ "$(curl -q -s -m 2 -o /dev/null -w '%{http_code}' "$URL/health")" = 200 ]
}

start() {
  key=$(cat)
  wanted="$PROGRAM_SHA256 $WRAPPER_SHA256 $CONFIG_SHA256 $DECLARED_SHA256 $UNIT_SHA256 $key"
  keep_after_logout
  expect_manager
  mkdir -p -- "$STATE"
  if [ "$(cat -- "$started" 2>/dev/null)" = "$wanted" ] && answers; then
    echo "llama-swap answers at $URL."
    return
  fi
  rm -f -- "$started"
  systemctl --user daemon-reload
  said=$(systemctl --user enable --quiet "$UNIT" 2>&1) || refuse "systemd does not take $UNIT: $said"
  said=$(systemctl --user restart "$UNIT" 2>&1) ||
    refuse "llama-swap's unit does not start: $said
What it said last (\`journalctl --user -u $UNIT\`):
$(journal)"
  waited=0
  until answers; do
    waited=$((waited + 1))
    [ "$waited" -lt "$ANSWER_SECONDS" ] ||
      refuse "llama-swap does not answer at $URL within $ANSWER_SECONDS s. What it said last (\`journalctl --user -u $UNIT\`):
$(journal)"
    sleep 1
  done
  printf '%s\n' "$wanted" >"$started.new"
  mv -f -- "$started.new" "$started"
  echo "llama-swap answers at $URL."
}

# Where there is no manager no unit of its runs.
stop() {
  cat >/dev/null
  wants=${UNIT_PATH%/*}/default.target.wants
  if manager_answers; then
    said=$(systemctl --user disable --now --quiet "$UNIT" 2>&1) || :
    if systemctl --user is-active --quiet "$UNIT"; then refuse "$UNIT does not stop: $said"; fi
  fi
  rm -f -- "$wants/$UNIT"
  rmdir -- "$wants" 2>/dev/null || :
  rm -rf -- "$STATE"
}

case ${1-} in
  start) start ;;
  stop) stop ;;
  # Its file is gone, and systemd reads what is left. Where no manager runs, none has to.
  forget) systemctl --user daemon-reload || : ;;
  *) refuse 'Expected `start`, `stop` or `forget`.' ;;
esac
