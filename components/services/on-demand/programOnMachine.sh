# Brings llama-swap to this machine, or says what is there. Run as
#
#   sh -c "$(cat programOnMachine.sh)" program WORD
#
#   look     `here`, or `missing BYTES` by what its address says; fails with the reason it can't come
#   bring    downloads the release's archive, unless it is here
#   place    brings it, and puts the program in place
#   read     downloads it to nowhere: its name, its SHA-256, and the one that the release lists
#   remove   the program and its archives
#
# $PROGRAM is where the program stands, $PROGRAM_FROM an address of releases (with $PROGRAM_VERSION)
# or the path of a program, and $PROGRAM_SHA256 that of the archive, or of the program at the path.
# Nothing is taken whose sum is another one, and what is in place stays until the new one is whole.
set -eu
LC_ALL=C
export LC_ALL

LOCK_SECONDS=900

refuse() {
  printf '%s\n' "$*" >&2
  exit 1
}

folder=${PROGRAM%/*}
part=$folder/.llama-swap.part
new=$folder/.llama-swap.new

is_path() { case $PROGRAM_FROM in /*) ;; *) return 1 ;; esac; }

name_archive() {
  case $(uname -m) in
    aarch64 | arm64) arch=arm64 ;;
    x86_64 | amd64) arch=amd64 ;;
    *) refuse "llama-swap has no release for this machine ($(uname -m)): build it there, and write its path in \`onDemand.program.from\`." ;;
  esac
  asset=llama-swap_${PROGRAM_VERSION#v}_linux_$arch.tar.gz
  release=$PROGRAM_FROM/$PROGRAM_VERSION
  archive=$folder/$asset
}

sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }

expect_sum() {
  [ -n "$PROGRAM_SHA256" ] ||
    refuse "\`onDemand.program.sha256\` is missing, so $2 is not taken: \`serving pin llama-swap --write\` fills it in."
  sum=$(sum_of "$1")
  [ "$sum" = "$PROGRAM_SHA256" ] ||
    refuse "$2 has the SHA-256 $sum, and \`onDemand.program.sha256\` is $PROGRAM_SHA256. It is not taken, and nothing was replaced. Find out why they differ before you pin it anew: \`serving pin llama-swap\`."
}

is_here() { [ -f "$archive" ] && [ "$(sum_of "$archive")" = "$PROGRAM_SHA256" ]; }

expect_path() {
  [ -f "$PROGRAM_FROM" ] && [ -r "$PROGRAM_FROM" ] ||
    refuse "There is no file $PROGRAM_FROM on this machine that can be read: build llama-swap there, or correct \`onDemand.program.from\`."
}

# ask TARGET ADDRESS [OPTION...]: sets $code to the answer's status. A server that goes silent for a
# minute is given up.
ask() {
  command -v curl >/dev/null || refuse 'There is no curl on this machine, which downloads llama-swap: install it.'
  target=$1 address=$2
  shift 2
  code=$(curl -q -sS -L --proto =http,https --max-redirs 5 --connect-timeout 30 --speed-limit 1 --speed-time 60 \
    -o "$target" -w '%{http_code}' "$@" -- "$address" 2>"$target.said") || {
    said=$(tail -n 1 "$target.said")
    rm -f -- "$target" "$target.said"
    refuse "$address did not come whole ($said). Nothing was replaced: try again."
  }
  rm -f -- "$target.said"
}

expect_found() {
  case $code in
    200) return ;;
    404) why="is not there (404): is $PROGRAM_VERSION a release of llama-swap that has an archive for linux/$arch? Correct \`onDemand.program.version\` or \`from\`." ;;
    *) why="answers with status $code, not with the archive. Nothing was replaced: try again." ;;
  esac
  rm -f -- "$target"
  refuse "$address $why"
}

# The mark is hostFile.sh's: a folder that has it goes with the last of our files in it.
make_folder() {
  if [ -d "$1" ]; then return; fi
  make_folder "${1%/*}"
  mkdir -m 0755 -- "$1" 2>/dev/null && : >"$1/.local-serving-made" || [ -d "$1" ] ||
    refuse "The folder $1 can't be made."
}

# `fetch` and `up` may run at once; the lock ends with its holder, and leaves no file.
alone() {
  make_folder "$folder"
  exec 9<"$folder"
  flock -w "$LOCK_SECONDS" 9 || refuse "Another run has been bringing llama-swap for $LOCK_SECONDS s: try again when it ended."
}

bring() {
  if is_path || is_here; then return; fi
  [ -n "$PROGRAM_SHA256" ] || expect_sum /dev/null "$release/$asset"
  ask "$part" "$release/$asset"
  expect_found
  (expect_sum "$part" "$release/$asset") || {
    rm -f -- "$part"
    exit 1
  }
  mv -f -- "$part" "$archive"
}

place() {
  if is_path; then
    expect_path
    cp -- "$PROGRAM_FROM" "$new"
    (expect_sum "$new" "$PROGRAM_FROM") || {
      rm -f -- "$new"
      exit 1
    }
  else
    tar -xzOf "$archive" llama-swap >"$new" 2>/dev/null && [ -s "$new" ] || {
      rm -f -- "$new"
      refuse "$archive holds no program \`llama-swap\`: is that an archive of its releases?"
    }
  fi
  chmod 0755 -- "$new"
  mv -f -- "$new" "$PROGRAM"
  for other in "$folder"/llama-swap_*.tar.gz; do
    [ "$other" = "${archive-}" ] || rm -f -- "$other"
  done
  echo "llama-swap $PROGRAM_VERSION is in place."
}

look() {
  if is_path; then
    expect_path
    expect_sum "$PROGRAM_FROM" "$PROGRAM_FROM"
    echo here
    return
  fi
  if is_here; then
    echo here
    return
  fi
  headers=$(mktemp)
  trap 'rm -f -- "$headers" "$headers.said"' EXIT
  ask "$headers" "$release/$asset" -I -m 30
  # Some servers answer only to a request for the whole.
  case $code in 403 | 405 | 501) ;; *) expect_found ;; esac
  bytes=$(tr -d '\r' <"$headers" | awk 'tolower($1) == "content-length:" { bytes = $2 } END { print bytes }')
  echo "missing $bytes"
}

read_release() {
  if is_path; then
    expect_path
    echo "name $PROGRAM_FROM"
    echo "sha256 $(sum_of "$PROGRAM_FROM")"
    return
  fi
  scratch=$(mktemp -d)
  trap 'rm -rf -- "$scratch"' EXIT
  ask "$scratch/archive" "$release/$asset"
  expect_found
  echo "name $release/$asset"
  echo "sha256 $(sum_of "$scratch/archive")"
  checksums=llama-swap_${PROGRAM_VERSION#v}_checksums.txt
  ask "$scratch/checksums" "$release/$checksums"
  if [ "$code" = 200 ]; then
    echo "listed $(awk -v asset="$asset" '$2 == asset || $2 == "*" asset { print $1 }' "$scratch/checksums")"
    echo "list $release/$checksums"
  fi
}

remove() { rm -f -- "$PROGRAM" "$part" "$part.said" "$new" "$folder"/llama-swap_*.tar.gz; }

if [ "${1-}" = remove ]; then
  remove
  exit
fi
is_path || name_archive
case ${1-} in
  look) look ;;
  bring)
    alone
    bring
    ;;
  place)
    alone
    bring
    place
    ;;
  read) read_release ;;
  *) refuse 'Expected `look`, `bring`, `place`, `read` or `remove`.' ;;
esac
