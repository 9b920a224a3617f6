# Writes one file on this machine, or undoes that. Run as
#
#   sh -c "$(cat hostFile.sh)" host-file write|restore < request
#
# The request carries everything else, so that the text of this script never changes with what it writes:
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
#   original or absent    what was there before us: the file itself (hard link), or an empty mark
#   written               SHA-256 of everything that we wrote: any other content is somebody else's
#   holder                resource that the file belongs to
# A folder that we made carries the mark `.local-serving-made`.
#
# Runs wait for each other: each holds a lock on the root folder, which leaves no file and ends with its holder.
#
# Each step leaves a state from which both words go on: the record is complete before the file is touched, and the file
# is replaced by one rename. The next run repairs what a killed one left.

set -eu
umask 077
LC_ALL=C
export LC_ALL

MADE=.local-serving-made
WAIT_SECONDS=120
# A sender that is gone without a word must not hold up the others.
READ_SECONDS=60

say() { printf '%s\n' "$*"; }
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
  mkdir -m "$folder_mode" -- "$1" 2>/dev/null || [ -d "$1" ] ||
    refuse "No right to make the folder $1 as user $(id -un). Nothing was changed."
  if [ -n "$owner" ]; then chown -- "$owner" "$1"; fi
  : >"$1/$MADE"
}

parent_of() {
  up=${1%/*}
  printf '%s' "${up:-/}"
}

hash_of() {
  sum=$(sha256sum <"$1") || refuse "$1 can't be read. Nothing was changed."
  printf '%s' "${sum%% *}"
}

owner_of() { stat -c '%u:%g' -- "$1"; }

# A second name for the same file, so that owner, times and attributes stay; a copy where links are not possible.
keep() {
  if ln -- "$1" "$2" 2>/dev/null; then return; fi
  cp -p -- "$1" "$2"
  if [ "$(owner_of "$1")" != "$(owner_of "$2")" ]; then
    rm -f -- "$2"
    refuse "$1 belongs to another user, and its owner could not be restored later. Nothing was changed."
  fi
}

# Whether the file at the path is what we put there, or what was there before us.
is_known() {
  if [ -L "$path" ] || [ ! -f "$path" ]; then return 1; fi
  if [ -f "$record/original" ] && cmp -s -- "$path" "$record/original"; then return 0; fi
  grep -qxF -- "$(hash_of "$path")" "$record/written" 2>/dev/null
}

# A name beside the file that nothing has yet.
name_for_edited() {
  edited=$path.edited
  count=2
  while [ -e "$edited" ] || [ -L "$edited" ]; do
    edited=$path.edited-$count
    count=$((count + 1))
  done
}

# Stack and project of a resource: the first two parts of its URN.
stack_of() {
  after=${1#*::}
  printf '%s' "${1%%::*}::${after%%::*}"
}

remove_leftovers() {
  for leftover in "$folder/.$base.local-serving."??????; do
    if [ -e "$leftover" ]; then rm -rf -- "$leftover"; fi
  done
}

begin_record() {
  # Neither `original` nor `absent`: a restore that was killed when all was restored.
  if [ -d "$record" ] && [ ! -e "$record/original" ] && [ ! -e "$record/absent" ]; then rm -rf -- "$record"; fi
  if [ -d "$record" ]; then return; fi
  begun=$(mktemp -d "$folder/.$base.local-serving.XXXXXX")
  if [ -e "$path" ]; then keep "$path" "$begun/original"; else : >"$begun/absent"; fi
  mv -- "$begun" "$record"
  if [ -e "$record/original" ]; then
    say "$path was there before: it is kept as $record/original until it is put back."
  fi
}

write_file() {
  refuse_links "$path"
  refuse_links "$record"
  if [ -e "$path" ] && [ ! -f "$path" ]; then refuse "$path is not a regular file. Nothing was changed."; fi
  held=$(cat -- "$record/holder" 2>/dev/null || :)
  if [ -n "$held" ] && [ "$(stack_of "$held")" != "$(stack_of "$holder")" ]; then
    refuse "$path belongs to another stack ($held). Nothing was changed. If that stack is gone, remove $record/holder."
  fi
  make_folder "$folder"
  remove_leftovers 2>/dev/null || :
  unfinished=$(mktemp "$folder/.$base.local-serving.XXXXXX" 2>/dev/null) ||
    refuse "No right to write in $folder as user $(id -un). Nothing was changed."
  trap remove_leftovers EXIT
  trap 'exit 1' HUP INT TERM
  timeout --foreground "$READ_SECONDS" cat >"$unfinished" ||
    refuse "The content of $path did not come within $READ_SECONDS s. Nothing was changed."
  came=$(wc -c <"$unfinished")
  [ "$came" -eq "$bytes" ] ||
    refuse "Of the content of $path, $came of $bytes bytes came. Nothing was changed: try again."
  if [ -n "$owner" ]; then chown -- "$owner" "$unfinished"; fi
  chmod -- "$mode" "$unfinished"

  begin_record
  hash=$(hash_of "$unfinished")
  # On a line of its own even behind one that a killed run left unfinished.
  grep -qxF -- "$hash" "$record/written" 2>/dev/null || printf '\n%s\n' "$hash" >>"$record/written"
  printf '%s' "$holder" >"$record/holder.new"
  mv -f -- "$record/holder.new" "$record/holder"
  if [ -e "$path" ] && ! is_known; then
    name_for_edited
    keep "$path" "$edited"
    say "$path was edited since we wrote it: the edited file is kept as $edited."
  fi
  if [ -f "$path" ] && [ "$(hash_of "$path")" = "$hash" ] &&
    [ "$(stat -c '%a %u:%g' -- "$path")" = "$(stat -c '%a %u:%g' -- "$unfinished")" ]; then
    say "$path is as it should be."
    return
  fi
  mv -f -- "$unfinished" "$path"
  say "$path was written."
}

restore_file() {
  cat >/dev/null
  refuse_links "$folder"
  if [ ! -d "$record" ]; then
    say "$path: nothing of ours is there."
    remove_leftovers
    remove_made_folders
    return
  fi
  held=$(cat -- "$record/holder" 2>/dev/null || :)
  if [ -n "$held" ] && [ "$held" != "$holder" ]; then
    say "$path stays: it belongs to $held by now."
    return
  fi
  if [ -e "$record/original" ] || [ -e "$record/absent" ]; then put_back; fi
  remove_leftovers
  rm -rf -- "$record"
  remove_made_folders
}

put_back() {
  if { [ -e "$path" ] || [ -L "$path" ]; } && ! is_known; then
    name_for_edited
    mv -- "$path" "$edited"
    say "$path was edited since we wrote it: the edited file is kept as $edited."
  fi
  if [ -e "$record/absent" ]; then
    rm -f -- "$path"
    say "$path was removed: nothing was there before."
    return
  fi
  # Two names of one file: a rename from one to the other does nothing.
  if [ "$record/original" -ef "$path" ]; then rm -f -- "$record/original"; else mv -f -- "$record/original" "$path"; fi
  say "$path was restored."
}

# Upward from the file's folder, as long as a folder is ours and nobody of us needs it.
remove_made_folders() {
  at=$folder
  while [ -n "$at" ]; do
    if [ -d "$at" ]; then
      if [ ! -e "$at/$MADE" ]; then return; fi
      for needed in "$at"/.*.local-serving "$at"/*/"$MADE" "$at"/.[!.]*/"$MADE"; do
        if [ -e "$needed" ]; then return; fi
      done
      rm -f -- "$at/$MADE"
      rmdir -- "$at" 2>/dev/null || :
    fi
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
