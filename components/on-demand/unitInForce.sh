# The systemd user unit $UNIT, by $DO. `start` puts it in force, and waits until llama-swap answers at
# $URL. `end` takes it out of force, and removes $STATE, which it wrote. `forget` comes once its file
# is gone.
set -eu
LC_ALL=C
export LC_ALL
# Over ssh nothing sets it.
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
export XDG_RUNTIME_DIR
me=$(id -un)

stop() {
  printf '%s\n' "$*" >&2
  exit 1
}

case $DO in
  end)
    systemctl --user disable --now -- "$UNIT" || true
    rm -rf -- "$STATE"
    exit 0
    ;;
  forget)
    systemctl --user daemon-reload || true
    exit 0
    ;;
esac

systemctl --user show-environment >/dev/null 2>&1 ||
  stop "systemd has no user manager for $me here, so llama-swap can't be its unit: \`sudo loginctl enable-linger $me\` starts one."
# Without it the unit ends when the operator logs out, and doesn't start at a boot.
if [ "$(loginctl show-user "$me" --property Linger --value 2>/dev/null)" != yes ]; then
  loginctl enable-linger "$me" ||
    stop "llama-swap would end when $me logs out: run \`sudo loginctl enable-linger $me\`, then this again."
fi
systemctl --user daemon-reload
systemctl --user enable -- "$UNIT"
systemctl --user restart -- "$UNIT"
waited=0
until curl -q --fail --silent --max-time 2 --noproxy '*' --output /dev/null "$URL/health"; do
  if [ "$waited" -ge 90 ]; then
    journalctl --user --unit "$UNIT" --lines 20 --output cat >&2 || true
    stop "llama-swap does not answer at $URL. Its log is above; \`serving logs on-demand\` shows more."
  fi
  waited=$((waited + 1))
  sleep 1
done
