# Brings llama-swap to the machine and puts it where its unit expects it: $PROGRAM. $FROM is an
# address with a folder for each release, or the path of a program; $SHA256 is what the archive, or
# that program, must have. $ARCHIVE is where a download is kept. With $ONLY_BRING nothing is put in
# place. What was there stays until the new one is whole.
set -eu
LC_ALL=C
export LC_ALL
umask 022

stop() {
  printf '%s\n' "$*" >&2
  exit 1
}

# Whether a file has the sum that was pinned.
right() { [ -f "$1" ] && printf '%s  %s\n' "$SHA256" "$1" | sha256sum --check --status; }

expect() {
  right "$1" || stop "$2 has another SHA-256 ($(sha256sum "$1" | cut -c 1-64)) than \`onDemand.program.sha256\` ($SHA256): it was not used. If it is the one that you mean, write its sum there."
}

mkdir -p "$(dirname "$PROGRAM")"
case $FROM in
  /*)
    [ -f "$FROM" ] || stop "There is no program $FROM on this machine (\`onDemand.program.from\`)."
    expect "$FROM" "$FROM"
    whole=$FROM
    ;;
  *)
    whole=
    if ! right "$ARCHIVE"; then
      case $(uname -m) in
        aarch64 | arm64) machine=arm64 ;;
        x86_64 | amd64) machine=amd64 ;;
        *) stop "llama-swap has no release for $(uname -m): build it, and write its path as \`onDemand.program.from\`." ;;
      esac
      url=$FROM/$VERSION/llama-swap_${VERSION#v}_linux_$machine.tar.gz
      partial=$(mktemp "$ARCHIVE.XXXXXX")
      trap 'rm -f -- "$partial"' EXIT
      trap 'exit 130' INT
      trap 'exit 143' TERM
      curl -q --fail --silent --show-error --location --retry 3 --connect-timeout 30 --output "$partial" "$url" ||
        stop "llama-swap could not be loaded from $url."
      expect "$partial" "$url"
      mv -f -- "$partial" "$ARCHIVE"
    fi
    ;;
esac
[ -z "${ONLY_BRING:-}" ] || exit 0

new=$(mktemp "$PROGRAM.XXXXXX")
trap 'rm -f -- "$new" ${partial:+"$partial"}' EXIT
if [ -n "$whole" ]; then
  cat -- "$whole" >"$new"
else
  tar -xzOf "$ARCHIVE" llama-swap >"$new" || stop "$ARCHIVE holds no llama-swap."
fi
chmod 755 "$new"
mv -f -- "$new" "$PROGRAM"
