# Asks systemd what it makes of a drop-in (stdin) before that is put in place. `systemd-analyze
# verify` exits 0 whatever is wrong in a drop-in; only what it prints tells. It wants a unit with
# its folder of drop-ins, so a unit that says nothing itself replaces the real one.
set -eu
LC_ALL=C
export LC_ALL
if ! command -v systemd-analyze >/dev/null 2>&1; then
  echo 'There is no systemd-analyze here: the drop-in was not checked.'
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
mkdir "$folder/checked.service.d"
printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/true\n' >"$folder/checked.service"
cat >"$folder/checked.service.d/drop-in.conf"
said=$(SYSTEMD_UNIT_PATH=$folder systemd-analyze verify --man=no "$folder/checked.service" 2>&1) ||
  said="$said
systemd-analyze failed."
if [ -n "$said" ]; then
  printf 'systemd does not accept the drop-in, and nothing was changed:\n%s\n' "$said" >&2
  exit 1
fi
