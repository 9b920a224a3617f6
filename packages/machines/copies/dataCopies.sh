# Copies the data of a service that are in a Docker volume, and puts them back. Run as
#
#   sh -c "$(cat dataCopies.sh)" data-copies before|make|list|put-back|back [ARGUMENT...]
#
# with these variables:
#   COPIES      folder of the service's copies
#   VOLUME      Docker volume of its data
#   LABEL       label of this machine's containers, NAME=VALUE
#   SERVICE     the service's name on the command line
#   IMAGE       image that the stack file plans for it
#   KEEP        how many copies stay
#   DATABASE    file of its database in the volume, then the columns that hold its revision
#   READ_REVISION  program that reads it, in Python
#   NO_REASON   lines that give no reason, as `grep -E` takes them
#
# A copy is a folder, named after its time: `data.tar`, all that is in the volume with owners and
# modes, and `copy.json`. It is made in `.unfinished` and gets its name in one step, and loses it in
# one step when it is removed, in `.removing`. Whatever else lies in the folder is somebody else's.
#
# The volume belongs to root, so `tar` of the service's own image packs and unpacks it. `docker cp`
# does not: it leaves out without a word what it can't read, and doesn't unpack a link that leads out
# of the volume.
#
# `.stopped` names the container that a run stopped and has not started again, `.restoring` the copy
# that is being put back and whether all of it is `unpacked`, and `.put-back` a container that has not
# run since its data were put back.
#
# In the volume, a copy is unpacked into `.serving-restore/new`. The mark `whole` says that all of it
# is there: from then on a run that was killed is finished, before that it is undone.

set -eu
umask 077
LC_ALL=C
export LC_ALL

WAIT_SECONDS=120
# What a file system needs beside the files themselves.
SPARE_KIB=65536
HELPER=local-serving-copies-$VOLUME
DAY='[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]'
TIME='[0-9][0-9][0-9][0-9][0-9][0-9]'

refuse() {
  printf '%s\n' "$*" >&2
  exit 1
}

say() { printf '%s\n' "$*" >&2; }

# Runs docker for its answer.
ask() {
  answer=$(docker "$@" 2>&1) ||
    refuse "docker $1 failed for the data of $SERVICE ($(reason_in "$answer")): \`docker info\` says whether Docker runs, then try again. $unchanged"
}

# The last line that a program printed, without what programs print behind their reason.
reason_in() { printf '%s\n' "$1" | grep -vE "^ *\$|$NO_REASON" | tail -n 1; }
unchanged='The data were not touched.'
# What a copy says of its image where no container has the data.
image_unseen=$IMAGE

# The container with the data, whatever it is called: a changed port gives another name.
find_container() {
  command -v docker >/dev/null || refuse 'No `docker` on PATH: install the Docker client.'
  ask ps --all --quiet --no-trunc --filter "volume=$VOLUME" --filter "label=$LABEL"
  # Docker's warnings are between its answers.
  id=$(printf '%s\n' "$answer" | grep -E '^[0-9a-f]+$' | head -n 1)
  running=false image='' image_id='' began=''
  if [ -z "$id" ]; then return; fi
  ask inspect --format '{{.State.Running}} {{.Image}} {{.Config.Image}} {{.State.StartedAt}}' "$id"
  read -r running image_id image began <<END
$(printf '%s\n' "$answer" | grep -E '^(true|false) ')
END
}

# Whether the container has the planned image, perhaps by another name.
is_planned() {
  if [ "$image" = "$IMAGE" ]; then return 0; fi
  planned=$(docker image inspect --format '{{.Id}}' "$IMAGE" 2>/dev/null) || return 1
  [ "$planned" = "$image_id" ]
}

wait_for_others() {
  mkdir -p -- "$COPIES" 2>/dev/null || refuse "No right to make $COPIES as user $(id -un): give it to this user. $unchanged"
  chmod 0700 -- "$COPIES"
  exec 9<"$COPIES"
  flock -w "$WAIT_SECONDS" 9 ||
    refuse "Another run has been copying data of $SERVICE for $WAIT_SECONDS s. Try again when it ended. $unchanged"
}

there() { [ -e "$1" ] || [ -L "$1" ]; }

# Whether a name is one that we give: a time that the calendar has, and a number from 2 where one
# second has several.
is_name() {
  case $1 in
    ${DAY}T${TIME}Z | ${DAY}T${TIME}Z_[2-9] | ${DAY}T${TIME}Z_[1-9][0-9]) ;;
    *) return 1 ;;
  esac
  clock=${1#*T}
  clock=${clock%%Z*}
  seconds=${clock#????}
  minutes=${clock#??}
  date -u -d "${1%%T*} ${clock%????}:${minutes%??}:$seconds" >/dev/null 2>&1
}

# A link of such a name is not ours: what is behind it would be removed with the old copies.
is_copy() {
  is_name "$1" && [ ! -L "$COPIES/$1" ] && [ -s "$COPIES/$1/copy.json" ] && [ -f "$COPIES/$1/data.tar" ]
}

# The names of the copies, the oldest first.
copies() {
  for folder in "$COPIES"/[0-9]*; do
    if is_copy "${folder##*/}"; then printf '%s\n' "${folder##*/}"; fi
  done
}

# What runs that were killed have left. Only earlier versions made a container that never ran.
remove_leftovers() {
  rm -rf -- "$COPIES/.unfinished" "$COPIES/.removing"
  docker rm --force "$HELPER" "$HELPER-run" >/dev/null 2>&1 || :
}

# The image whose programs read and write the volume.
choose_image() {
  helper_image=$IMAGE
  if [ -n "$image_id" ] && docker image inspect "$image_id" >/dev/null 2>&1; then helper_image=$image_id; fi
}

# in_volume SCRIPT [OPTION...]: runs a script in the volume, by the shell of the service's own image.
# Without a log, which would be as large as the data.
in_volume() {
  script=$1
  shift
  docker run --rm "$@" --log-driver none --name "$HELPER-run" --network none --user 0 --env DATA=/data \
    --mount "type=volume,source=$VOLUME,target=/data,volume-nocopy" \
    --entrypoint sh "$helper_image" -c "$script"
}

# Empty where nothing tells it.
read_revision() {
  # The columns are words of their own.
  # shellcheck disable=SC2086
  revision=$(docker run --rm --network none --user 0 \
    --mount "type=volume,source=$VOLUME,target=/data,readonly,volume-nocopy" \
    --entrypoint python3 "$helper_image" -c "$READ_REVISION" /data $DATABASE 2>/dev/null |
    head -n 1 | tr -cd 'A-Za-z0-9._-') || revision=''
}

free_kib() { df -Pk -- "$1" 2>/dev/null | awk 'NR == 2 { print $4 }'; }
device_of() { df -Pk -- "$1" 2>/dev/null | awk 'NR == 2 { print $1 }'; }
mib() { printf '%s MiB' $((($1 + 1023) / 1024)); }

# Refuses unless a folder's disk takes so many KiB.
expect_room() {
  free=$(free_kib "$1")
  if [ -z "$free" ] || [ "$free" -ge $(($2 + SPARE_KIB)) ]; then return; fi
  refuse "The disk of $1 has $(mib "$free") free, and $3 needs $(mib $(($2 + SPARE_KIB))): make room there, or remove copies that you don't need, and try again. $unchanged"
}

# GNU tar keeps more than others do, and takes these options for both ways.
TAR='set -euf; cd -- "$DATA"; LC_ALL=C; export LC_ALL; options=
command -v tar >/dev/null || { echo "it has no tar" >&2; exit 1; }
case $(tar --version 2>&1) in
  *"GNU tar"*) options="--numeric-owner --sparse --acls --xattrs --xattrs-include=*" ;;
esac
'
COUNT=$TAR'tar -c $options -f - . 2>/dev/null | wc -c'
# No program unpacks a path that is longer than the system takes in one call. Docker may lose the end
# of what a program writes as it ends: so the last line on stderr says how many bytes there were.
PACK=$TAR'if ! find . -print0 | tr "\n\0" "_\n" | awk "length > 4095 { exit 1 }"; then
  echo "a path in it is longer than 4095 bytes" >&2
  exit 1
fi
exec 3>&1
{ tar -c $options -f - . && echo packed >&2; } | tee /dev/fd/3 | wc -c >&2'

# Counted by what a copy would have, while everything runs.
data_kib() {
  answer=$(in_volume "$COUNT" 2>&1) ||
    refuse "The data of $SERVICE can't be read by its image ${image:-$IMAGE} ($(reason_in "$answer")): check Docker, and that the image has \`sh\` and \`tar\`. $unchanged"
  bytes=$(printf '%s\n' "$answer" | grep -xE ' *[0-9]+' | tail -n 1)
  data_kib=$((${bytes:-0} / 1024 + 1))
}

stop_container() {
  if [ "$running" != true ]; then return; fi
  printf '%s\n' "$id" >"$COPIES/.stopped"
  say "Stopping the container of $SERVICE ..."
  stopped_at=$(date +%s)
  ask stop "$id"
}

# Starts what this or a killed run stopped.
start_again() {
  if [ -z "$id" ] || ! grep -qxF -- "$id" "$COPIES/.stopped" 2>/dev/null; then return; fi
  docker start "$id" >/dev/null || return 1
  rm -f -- "$COPIES/.stopped"
}

end_run() {
  status=$?
  trap '' EXIT HUP INT TERM
  rm -rf -- "$COPIES/.unfinished"
  docker rm --force "$HELPER-run" >/dev/null 2>&1 || :
  if [ "$status" -ne 0 ] && [ ! -e "$COPIES/.restoring" ]; then
    start_again || say "The container of $SERVICE stays stopped: \`serving start $SERVICE\` starts it."
  fi
  exit "$status"
}

begin_run() {
  wait_for_others
  trap end_run EXIT
  trap 'exit 1' HUP INT TERM
  remove_leftovers
  choose_image
  finish_restore
}

field() { sed -n "s/^.*\"$2\": *\"\{0,1\}\([^\",}]*\)\"\{0,1\}.*$/\1/p" "$1/copy.json" | head -n 1; }

hash_of() {
  sum=$(sha256sum <"$1")
  printf '%s' "${sum%% *}"
}

# Packs the data into a file. All of them are there, or it refuses.
pack() {
  answer=$(in_volume "$PACK" 2>&1 >"$1") || :
  came=$(wc -c <"$1")
  end=$(printf '%s\n' "$answer" | tail -n 2 | tr '\n' ' ')
  if [ "$end" = "packed $came " ]; then return; fi
  why=$(reason_in "$(printf '%s\n' "$answer" | grep -vxE '[0-9]+')")
  advice='check Docker and the room on that disk, and try again'
  case $why in
    packed) why="of ${end#packed }bytes $came came" ;;
    *'changed as we read it' | *'removed before we read it' | *'; padding with zeros')
      advice="end what else writes to the volume $VOLUME, and try again"
      ;;
    *'longer than 4095 bytes') advice='shorten it' ;;
  esac
  refuse "The data of $SERVICE can't be copied to $COPIES (${why:-docker run was ended}): $advice. $unchanged"
}

# Copies the data of a container that is stopped. The name of the copy is in `copy`.
take() {
  part=$COPIES/.unfinished
  mkdir -- "$part"
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  copy=$(printf '%s' "$now" | tr -d ':-')
  count=2
  while there "$COPIES/$copy"; do
    copy=$(printf '%s' "$now" | tr -d ':-')_$count
    count=$((count + 1))
  done
  pack "$part/data.tar"
  read_revision
  printf '{"at": "%s", "why": "%s", "image": "%s", "revision": "%s", "bytes": %s, "sha256": "%s", "volume": "%s"}\n' \
    "$now" "$1" "${image:-$image_unseen}" "$revision" "$(wc -c <"$part/data.tar" | tr -d ' ')" "$(hash_of "$part/data.tar")" "$VOLUME" \
    >"$part/copy.json"
  sync "$part/data.tar" "$part/copy.json" "$part"
  mv -T -- "$part" "$COPIES/$copy"
  sync "$COPIES"
}

# The copy that was just made stays, also behind names of a clock that was ahead.
prune() {
  # Our names have no blanks.
  # shellcheck disable=SC2046
  set -- $(copies)
  while [ $# -gt "$KEEP" ]; do
    if [ "$1" != "$copy" ]; then
      mv -T -- "$COPIES/$1" "$COPIES/.removing"
      rm -rf -- "$COPIES/.removing"
    fi
    shift
  done
}

# What a copy needs before anything stops.
expect_room_to_copy() {
  data_kib
  expect_room "$COPIES" "$data_kib" "a copy of the data of $SERVICE"
}

# Before another image takes the data.
before() {
  find_container
  if [ -z "$id" ]; then return; fi
  if is_planned; then
    if [ "$running" = true ]; then
      rm -f -- "$COPIES/.stopped"
    elif grep -qxF -- "$id" "$COPIES/.stopped" 2>/dev/null; then
      start_again
      say "$SERVICE was stopped for a copy before an update that did not come: it is started again."
    fi
    return
  fi
  begin_run
  if is_put_back; then
    say "The data of $SERVICE were put back, and nothing has run on them since: no further copy is needed."
    return
  fi
  expect_room_to_copy
  stop_container
  take update
  prune
  say "The data of $SERVICE are copied to $COPIES/$copy ($(mib "$data_kib")) before $IMAGE takes them."
}

make() {
  find_container
  begin_run
  expect_room_to_copy
  stopped_at=''
  stop_container
  take backup
  start_again || refuse "The copy $copy is made, and the container of $SERVICE doesn't start: \`serving start $SERVICE\` says why."
  gone=0
  if [ -n "$stopped_at" ]; then gone=$(($(date +%s) - stopped_at)); fi
  prune
  printf '{"copy": "%s", "goneSeconds": %s}\n' "$copy" "$gone"
}

in_json() { printf '%s' "$1" | tr '\001-\037' '?' | sed 's/[\\"]/\\&/g'; }

list() {
  find_container
  for name in $(copies); do
    printf '{"copy": "%s", "about": %s}\n' "$name" "$(tr '\n' ' ' <"$COPIES/$name/copy.json")"
  done
  for path in "$COPIES"/*; do
    name=${path##*/}
    if there "$path" && ! is_copy "$name"; then printf '{"other": "%s"}\n' "$(in_json "$name")"; fi
  done
  printf '{"container": "%s", "image": "%s", "running": %s}\n' "$id" "$image" "$running"
}

# Everything at the top of a folder, hidden names too.
EACH='for f in "$from"/* "$from"/.[!.]* "$from"/..?*; do [ -e "$f" ] || [ -L "$f" ] || continue;'
# Folders inherit the setgid bit of the one that they are made in, and tar leaves it there.
UNPACK=$TAR'rm -rf .serving-done .serving-restore
mkdir -p .serving-restore/new
chmod 00700 .serving-restore/new
tar -xp $options -f - -C .serving-restore/new
sync 2>/dev/null || :
: >.serving-restore/whole'
# What is at the old place already was there before; what is new beside it came from a start in between.
SWAP='set -eu; cd -- "$DATA"; r=.serving-restore
rm -rf .serving-done
if [ ! -e $r ]; then echo nothing; exit 0; fi
if [ ! -e $r/whole ]; then rm -rf $r; echo undone; exit 0; fi
if [ ! -e $r/moved ]; then
  mkdir -p $r/old
  from=.
  '$EACH' n=${f##*/}
    [ "$n" != $r ] || continue
    if [ -e "$r/old/$n" ] || [ -L "$r/old/$n" ]; then rm -rf -- "$f"; else mv -- "$f" $r/old/; fi
  done
  : >$r/moved
fi
from=$r/new
'$EACH' n=${f##*/}; rm -rf -- "./$n"; mv -- "$f" ./; done
chown -- "$(stat -c %u:%g $r/new)" .
chmod -- "00$(stat -c %a $r/new)" .
sync 2>/dev/null || :
mv $r .serving-done
rm -rf .serving-done
echo whole'

# Finishes what a killed run began to put back, or undoes it. What became of it is in `finished`.
finish_restore() {
  finished=''
  if [ ! -e "$COPIES/.restoring" ]; then return; fi
  read -r pending phase <"$COPIES/.restoring" || :
  if [ "$running" = true ]; then stop_container; running=false; fi
  became=$(in_volume "$SWAP" 2>&1) ||
    refuse "Putting back the copy $pending was interrupted and can't be finished ($(reason_in "$became")). It is still in $COPIES/$pending: try again."
  # After the last step nothing is left in the volume; before the first one nothing is there yet.
  case "$(reason_in "$became") $phase" in
    whole* | 'nothing unpacked')
      finished=$pending
      mark_put_back
      say "Putting back the copy $pending was interrupted: it is finished now."
      ;;
    *) say "Putting back the copy $pending was interrupted before the data changed: it begins anew." ;;
  esac
  rm -f -- "$COPIES/.restoring"
}

begin_phase() {
  printf '%s %s\n' "$1" "$2" >"$COPIES/.restoring.new"
  mv -f -- "$COPIES/.restoring.new" "$COPIES/.restoring"
  sync "$COPIES/.restoring" "$COPIES"
}

mark_put_back() { printf '%s %s\n' "$id" "$began" >"$COPIES/.put-back"; }
is_put_back() { [ -n "$id" ] && [ "$(cat -- "$COPIES/.put-back" 2>/dev/null || :)" = "$id $began" ]; }

# Replaces all that is in the volume by a copy, and keeps what was there as a further copy.
replace_data() {
  unchanged='The present data are still there.'
  take restore
  kept=$copy
  begin_phase "$1" begun
  why=$(in_volume "$UNPACK" --interactive 2>&1 <"$COPIES/$1/data.tar") || {
    if in_volume "$SWAP" >/dev/null 2>&1; then rm -f -- "$COPIES/.restoring"; fi
    refuse "The copy $1 can't be unpacked ($(reason_in "$why")): check Docker and the room on its disk, and try again. $unchanged"
  }
  begin_phase "$1" unpacked
  became=$(in_volume "$SWAP" 2>&1) || became="failed: $became"
  [ "$(reason_in "$became")" = whole ] ||
    refuse "Putting back the copy $1 was interrupted ($(reason_in "$became")): run the same command again, which finishes it. The data from before are in $COPIES/$kept."
  mark_put_back
  rm -f -- "$COPIES/.restoring"
}

expect_copy() {
  is_copy "$1" || refuse "There is no copy $1 in $COPIES: \`serving restore $SERVICE\` lists them. $unchanged"
  [ "$(hash_of "$COPIES/$1/data.tar" 2>/dev/null)" = "$(field "$COPIES/$1" sha256)" ] ||
    refuse "The copy $1 is damaged: $COPIES/$1/data.tar is not what was written. Take another one. $unchanged"
}

expect_room_to_replace() {
  data_kib
  expect_room "$COPIES" "$data_kib" 'a copy of the present data'
  root=$(docker info --format '{{.DockerRootDir}}' 2>/dev/null || :)
  if [ -z "$root" ] || [ -z "$(free_kib "$root")" ]; then return; fi
  need=$(($(field "$COPIES/$1" bytes) / 1024 + 1))
  if [ "$(device_of "$root")" = "$(device_of "$COPIES")" ]; then need=$((need + data_kib)); fi
  expect_room "$root" "$need" "unpacking the copy $1 beside the present data"
}

# put-back COPY START: START is `yes` or `no`.
put_back() {
  find_container
  if [ ! -e "$COPIES/.restoring" ]; then expect_copy "$1"; fi
  begin_run
  if [ "$finished" = "$1" ]; then
    kept=''
  else
    expect_copy "$1"
    expect_room_to_replace "$1"
    stop_container
    replace_data "$1"
  fi
  # One that stays stopped is not to be started by a later run either.
  if [ "$2" = no ]; then
    rm -f -- "$COPIES/.stopped"
  else
    start_again || refuse "The copy $1 is put back, and the container of $SERVICE doesn't start: \`serving start $SERVICE\` says why."
  fi
  printf '{"copy": "%s", "kept": "%s"}\n' "$1" "$kept"
}

# The newest copy whose FIELD is VALUE, in `newest`; empty where there is none.
find_newest() {
  newest=''
  for name in $(copies); do
    if [ "$(field "$COPIES/$name" "$1")" = "$2" ]; then newest=$name; fi
  done
}

# What an earlier run has put back is told again: the one that told it may have been killed.
told_again() {
  did=not-migrated
  find_newest why restore
  if [ -z "$newest" ] || [ "$(field "$COPIES/$newest" revision)" = "$before" ]; then return; fi
  did=put-back
  kept=$newest
  until=$(field "$COPIES/$kept" at)
  revision=$(field "$COPIES/$kept" revision)
}

expect_start() {
  start_again || refuse "The container of $SERVICE doesn't start: \`serving start $SERVICE\` says why."
}

# back IMAGE: the way back of an update. Without a copy of that image it touches no data.
back() {
  IMAGE=$1
  # Data without a container may be those of either image.
  image_unseen=''
  find_container
  find_newest image "$1"
  copy_back=$newest
  kept=''
  if [ -z "$copy_back" ] && [ ! -e "$COPIES/.restoring" ]; then
    did=no-copy
    if [ -n "$id" ] && is_planned; then
      expect_start
      did=same-image
    fi
    printf '{"did": "%s"}\n' "$did"
    return
  fi
  begin_run
  if [ -n "$id" ] && is_planned; then
    expect_start
    printf '{"did": "same-image"}\n'
    return
  fi
  stop_container
  until=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  read_revision
  before=$(field "$COPIES/$copy_back" revision)
  if [ -z "$revision" ] || [ -z "$before" ]; then
    did=unknown
  elif [ "$revision" != "$before" ]; then
    expect_copy "$copy_back"
    expect_room_to_replace "$copy_back"
    found=$revision
    replace_data "$copy_back"
    revision=$found
    did=put-back
  elif [ "$finished" = "$copy_back" ] || is_put_back; then
    told_again
  else
    did=not-migrated
  fi
  printf '{"did": "%s", "copy": "%s", "kept": "%s", "at": "%s", "until": "%s", "revision": "%s", "before": "%s"}\n' \
    "$did" "$copy_back" "$kept" "$(field "$COPIES/$copy_back" at)" "$until" "$revision" "$before"
}

word=${1-}
if [ $# -gt 0 ]; then shift; fi
case $word in
  before) before ;;
  make) make ;;
  list) list ;;
  put-back) put_back "$@" ;;
  back) back "$@" ;;
  *) refuse 'Expected `before`, `make`, `list`, `put-back` or `back`.' ;;
esac
