# Writes one file on this machine, or undoes that. Run as
#
#   sh -c "$(cat hostFile.sh)" host-file write|restore < request
#
# The request carries everything else, so that the text of this script never changes with what it
# writes:
#
#   host-file 1
#   path: /etc/example.conf
#   mode: 0644
#   owner: user:group            (may be left out: whoever runs this)
#   bytes: 120                   (of the content: less has come where the connection was cut, and nothing is written)
#   holder: urn:pulumi:dgx::local-serving::...
#                                (an empty line, then the content to the end)
#
# Beside the file lies its record, the hidden folder `.NAME.local-serving`:
#   original or absent    what was there before us: the file itself (hard link, or moved here), or an empty mark
#   written               SHA-256 of everything that we wrote: any other content is somebody else's
#   holder                resource that the file belongs to
# What a run has not finished lies in a folder `.NAME.local-serving.XXXXXX`, which never holds what
# was there before us. Both folders are marked by their sticky bit, which comes with the folder in
# one step: anything else by these names is somebody else's, and stays. `cp -a` copies the bit, so
# an unfinished folder is also known by what it holds, as is a record of an earlier version, which
# has no such bit. A folder that we made carries the mark `.local-serving-made`.
#
# Runs wait for each other: each holds a lock on the root folder, which leaves no file and ends with
# its holder.
#
# Each step leaves a state from which both words go on: everything is prepared in the unfinished
# folder, the record is there before the file is touched, and then there are only links and renames,
# which need no room on a full disk. A run that fails undoes what it did; the next run repairs what
# a killed one left.

set -eu
umask 077
LC_ALL=C
export LC_ALL

MADE=.local-serving-made
WAIT_SECONDS=120
# A sender that is gone without a word must not hold up the others.
READ_SECONDS=60

refuse() {
  printf '%s\n' "$*" >&2
  exit 1
}

read_request() {
  path='' mode='' owner='' bytes='' holder=''
  IFS= read -r line || line=''
  [ "$line" = 'host-file 1' ] || refuse 'This is not a request for a host file: the first line must be `host-file 1`.'
  while IFS= read -r line && [ -n "$line" ]; do
    case $line in
      'path: '*) path=${line#path: } ;;
      'mode: '*) mode=${line#mode: } ;;
      'owner: '*) owner=${line#owner: } ;;
      'bytes: '*) bytes=${line#bytes: } ;;
      'holder: '*) holder=${line#holder: } ;;
      *) refuse 'The request has a line that is not understood before its content.' ;;
    esac
  done
  [ -n "$mode" ] && [ -n "$bytes" ] && [ -n "$holder" ] || refuse 'The request lacks `mode`, `bytes` or `holder`.'
  case $path/ in
    *//* | */./* | */../*) refuse "$path: expected a plain path, without \`..\`, \`.\` or an empty part." ;;
    /*) ;;
    *) refuse "$path: expected an absolute path." ;;
  esac
  folder=${path%/*}
  base=${path##*/}
  record=$folder/.$base.local-serving
}

wait_for_others() {
  exec 9</
  flock -w "$WAIT_SECONDS" 9 ||
    refuse "Another run has been writing files on this machine for $WAIT_SECONDS s. $path was not changed: try again when it ended."
}

# Through a symbolic link we would write somewhere else than the preview says.
refuse_links() {
  rest=${1#/}
  at=''
  while [ -n "$rest" ]; do
    at=$at/${rest%%/*}
    if [ -L "$at" ]; then
      refuse "$at is a symbolic link to $(readlink -- "$at"). Nothing was changed: give the real path (readlink -f)."
    fi
    case $rest in
      */*) rest=${rest#*/} ;;
      *) rest='' ;;
    esac
  done
}

make_folder() {
  if [ -d "$1" ]; then return; fi
  if [ -e "$1" ]; then refuse "$1 is not a folder. Nothing was changed."; fi
  make_folder "$(parent_of "$1")"
  case $mode in
    *00) folder_mode=0700 ;;
    *) folder_mode=0755 ;;
  esac
  begin_unfinished "$1" "make the folder $1"
  try mkdir -m "$folder_mode" -- "$unfinished/folder"
  give_to_owner "$unfinished/folder"
  try new_file "$unfinished/folder/$MADE"
  try mv -T -- "$unfinished/folder" "$1"
  rm -rf -- "$unfinished"
  unfinished=''
}

# A folder for what is not finished, beside the path $1.
begin_unfinished() {
  beside=$(parent_of "$1")
  may=${2-"write in $beside"}
  name=$(mktemp -u -- "${beside%/}/.${1##*/}.local-serving.XXXXXX" 2>&1) || cannot "$name"
  try mkdir -m 1700 -- "$name"
  unfinished=$name
}

new_file() { : >"$1"; }
write_to() { cat >"$1"; }

give_to_owner() {
  if [ -z "$owner" ]; then return; fi
  why=$(chown -- "$owner" "$1" 2>&1) || refuse "$path can't be given to $owner (${why#chown: }). Nothing was changed."
}

# Runs a step. Where it fails, the last words that it printed are the system's.
try() { why=$("$@" 2>&1) || cannot "${why:-${1} was ended}"; }

cannot() {
  case $1 in
    *'No space left on device') refuse "The disk of $beside is full. Nothing was changed: make room and try again." ;;
    *'Disk quota exceeded')
      refuse "The disk quota of user $(user) for $beside is used up. Nothing was changed: make room and try again."
      ;;
    *'Read-only file system') refuse "$beside is on a read-only file system. Nothing was changed." ;;
    *'Permission denied' | *'Operation not permitted') refuse "No right to $may as user $(user). Nothing was changed." ;;
    *) refuse "Writing in $beside failed (${1##*: }). Nothing was changed." ;;
  esac
}

user() { id -un 2>/dev/null || id -u; }

parent_of() {
  up=${1%/*}
  printf '%s' "${up:-/}"
}

# Fails on a file that can't be read.
hash_of() {
  sum=$({ sha256sum <"$1"; } 2>/dev/null) || return 1
  printf '%s' "${sum%% *}"
}

there() { [ -e "$1" ] || [ -L "$1" ]; }

# Whether the file at the path is what we put there, or what was there before us.
is_known() {
  if [ -L "$path" ] || [ ! -f "$path" ]; then return 1; fi
  if [ "$record/original" -ef "$path" ]; then return 0; fi
  if [ -f "$record/original" ] && cmp -s -- "$path" "$record/original"; then return 0; fi
  known=$(hash_of "$path") && grep -qxF -- "$known" "$record/written" 2>/dev/null
}

# A name that nothing has yet, in `free`.
free_name() {
  free=$1
  count=2
  while there "$free"; do
    free=$1-$count
    count=$((count + 1))
  done
}

# A second name for the same file, so that owner, times and attributes stay. Where the kernel links
# to no file of another user, and a file system to none, the file itself is moved.
keep() {
  if [ -f "$1" ] && [ ! -L "$1" ] && ln -- "$1" "$2" 2>/dev/null; then return; fi
  move "$1" "$2"
}

move() {
  moved=$2
  try mv -T -- "$1" "$2"
}

# What is at the path and isn't known stays beside it; a file that can't be read may be anything.
keep_edited() {
  if ! there "$path" || is_known; then return; fi
  free_name "$path.edited"
  if [ -L "$path" ] || [ -r "$path" ]; then
    note "$path was edited since we wrote it: the edited file is kept as $free."
  else
    note "$path can't be read as user $(user), and may be edited: it is kept as $free."
  fi
  "$1" "$path" "$free"
}

# Stack and project of a resource: the first two parts of its URN.
stack_of() {
  after=${1#*::}
  printf '%s' "${1%%::*}::${after%%::*}"
}

is_marked() { [ -d "$1" ] && [ ! -L "$1" ] && [ -k "$1" ]; }

is_record() {
  if is_marked "$record"; then return 0; fi
  if [ ! -d "$record" ]; then return 1; fi
  grep -qxE '[0-9a-f]{64}' "$record/written" 2>/dev/null || grep -q '^urn:pulumi:' "$record/holder" 2>/dev/null
}

# A copy of a record holds more: what was there before, or that nothing was.
is_unfinished() {
  is_marked "$1" || return 1
  for inside in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    case ${inside##*/} in
      content | folder | record | written | holder) ;;
      *) if there "$inside"; then return 1; fi ;;
    esac
  done
}

# Beside the file, and beside each folder on the way to it.
remove_leftovers() {
  at=$path
  while [ -n "$at" ]; do
    for leftover in "${at%/*}/.${at##*/}.local-serving."??????; do
      if is_unfinished "$leftover"; then rm -rf -- "$leftover" 2>/dev/null || :; fi
    done
    at=${at%/*}
  done
}

# A run as another user made it: only that user can put back what was there before.
refuse_closed_record() {
  if [ ! -d "$record" ] || { [ -r "$record" ] && [ -x "$record" ]; }; then return; fi
  refuse "$record holds what was there before $path, and can't be read as user $(user). Nothing was changed: try as its owner ($(stat -c %U -- "$record"))."
}

# By name: what somebody else put there stays, and so does the folder.
remove_record() {
  chmod +t -- "$record" 2>/dev/null || :
  try rm -f -- "$record/absent" "$record/written" "$record/holder" "$record/holder.new"
  rmdir -- "$record" 2>/dev/null || :
}

# Whether the record says what was there before us. One that doesn't is of a run that was killed
# before it touched the file, or after all was restored.
is_complete() { is_record && { [ -e "$record/original" ] || [ -e "$record/absent" ]; }; }

# What a record needs room for, before anything is touched.
prepare_record() {
  if is_complete; then
    prepared=$unfinished
  else
    prepared=$unfinished/record
    try mkdir -m 1700 -- "$prepared"
    if ! there "$path"; then try new_file "$prepared/absent"; fi
  fi
  # On a line of its own even behind one that a killed run left unfinished.
  {
    if is_complete; then cat -- "$record/written" 2>/dev/null || :; fi
    printf '\n%s\n' "$hash"
  } | try write_to "$prepared/written"
  printf '%s' "$holder" | try write_to "$prepared/holder"
}

begin_record() {
  if is_complete; then
    grep -qxF -- "$hash" "$record/written" 2>/dev/null || try mv -f -- "$prepared/written" "$record/written"
    try mv -f -- "$prepared/holder" "$record/holder"
    chmod +t -- "$record" 2>/dev/null || :
    return
  fi
  if is_record; then remove_record; fi
  if there "$record"; then
    free_name "$record.set-aside"
    aside=$free
    try mv -T -- "$record" "$aside"
    note "$record was there and isn't ours: it is kept as $aside."
  fi
  try mv -T -- "$prepared" "$record"
  begun=yes
  if there "$path"; then
    keep "$path" "$record/original"
    note "$path was there before: it is kept as $record/original until it is put back."
  fi
}

write_file() {
  refuse_links "$path"
  refuse_links "$record"
  if [ -e "$path" ] && [ ! -f "$path" ]; then refuse "$path is not a regular file. Nothing was changed."; fi
  refuse_closed_record
  held=$(cat -- "$record/holder" 2>/dev/null || :)
  if is_complete && [ -n "$held" ] && [ "$(stack_of "$held")" != "$(stack_of "$holder")" ]; then
    refuse "$path belongs to another stack ($held). Nothing was changed. If that stack is gone, remove $record/holder."
  fi
  begin_run
  make_folder "$folder"
  begin_unfinished "$path"
  content=$unfinished/content
  why=$({ timeout --foreground "$READ_SECONDS" cat >"$content"; } 2>&1) || {
    [ $? -ne 124 ] || refuse "The content of $path did not come within $READ_SECONDS s. Nothing was changed."
    cannot "${why:-cat was ended}"
  }
  came=$(wc -c <"$content")
  [ "$came" -eq "$bytes" ] ||
    refuse "Of the content of $path, $came of $bytes bytes came. Nothing was changed: try again."
  give_to_owner "$content"
  try chmod -- "$mode" "$content"
  hash=$(hash_of "$content") || cannot 'what was written can not be read'
  prepare_record

  begin_record
  keep_edited keep
  if [ -f "$path" ] && [ "$(hash_of "$path")" = "$hash" ] &&
    [ "$(stat -c '%a %u:%g' -- "$path")" = "$(stat -c '%a %u:%g' -- "$content")" ]; then
    note "$path is as it should be."
    return
  fi
  try mv -fT -- "$content" "$path"
  note "$path was written."
}

# Said at the end, and only by a run that succeeded: one that failed has undone it.
note() {
  notes="$notes$*
"
}

begin_run() {
  content='' unfinished='' begun='' moved='' aside='' notes=''
  beside=$folder may="write in $folder"
  remove_leftovers
  trap end_run EXIT
  trap 'exit 1' HUP INT TERM
}

end_run() {
  status=$?
  trap '' HUP INT TERM
  if [ "$status" -ne 0 ]; then (undo) >/dev/null 2>&1 || :; fi
  if [ -n "$unfinished" ]; then rm -rf -- "$unfinished" 2>/dev/null || :; fi
  if [ "$status" -eq 0 ]; then printf '%s' "$notes"; fi
  exit "$status"
}

undo() {
  if [ -n "$moved" ] && ! there "$path"; then mv -T -- "$moved" "$path"; fi
  # As long as the content is unfinished, the path has nothing of ours that the record would be
  # needed for.
  if [ -n "$begun" ] && [ -e "$content" ]; then
    if [ "$record/original" -ef "$path" ]; then rm -f -- "$record/original"; fi
    remove_record
  fi
  if [ -n "$aside" ] && ! there "$record"; then mv -T -- "$aside" "$record"; fi
  if [ -n "$unfinished" ]; then rm -rf -- "$unfinished"; fi
  remove_made_folders
}

restore_file() {
  cat >/dev/null
  refuse_links "$folder"
  refuse_closed_record
  begin_run
  if ! is_record; then
    note "$path: nothing of ours is there."
    remove_made_folders
    return
  fi
  held=$(cat -- "$record/holder" 2>/dev/null || :)
  if [ -n "$held" ] && [ "$held" != "$holder" ]; then
    note "$path stays: it belongs to $held by now."
    return
  fi
  if is_complete; then put_back; fi
  remove_record
  if there "$record"; then note "$record stays: it holds files that are not ours."; fi
  remove_made_folders
}

put_back() {
  keep_edited move
  if [ -e "$record/absent" ]; then
    try rm -f -- "$path"
    note "$path was removed: nothing was there before."
    return
  fi
  # Two names of one file: a rename from one to the other does nothing.
  if [ "$record/original" -ef "$path" ]; then
    try rm -f -- "$record/original"
  else
    try mv -fT -- "$record/original" "$path"
  fi
  note "$path was restored."
}

# The mark is empty: a file of theirs by this name may hold something.
is_made_mark() { [ -f "$1" ] && [ ! -s "$1" ]; }

# Upward from the file's folder, as long as a folder is ours and nobody of us needs it. The mark
# moves out before its folder goes, so that a run which is killed in between leaves no folder that
# nobody knows.
remove_made_folders() {
  at=$folder
  while [ -n "$at" ]; do
    mark=${at%/*}/.${at##*/}$MADE
    if [ -d "$at" ]; then
      is_made_mark "$at/$MADE" || is_made_mark "$mark" || return 0
      for needed in "$at"/.*.local-serving "$at"/*/"$MADE" "$at"/.[!.]*/"$MADE"; do
        if [ -e "$needed" ]; then return; fi
      done
      if is_made_mark "$at/$MADE"; then try mv -fT -- "$at/$MADE" "$mark"; fi
      rmdir -- "$at" 2>/dev/null || :
    fi
    if is_made_mark "$mark"; then try rm -f -- "$mark"; fi
    at=${at%/*}
  done
}

read_request
wait_for_others
case ${1-} in
  write) write_file ;;
  restore) restore_file ;;
  *) refuse 'Expected `write` or `restore`.' ;;
esac
