# The part of the start gate that looks into the model cache: whether vLLM needs the hub. startGate.sh
# has the rest, and what runs.

# Where huggingface_hub keeps the models, by its own variables.
HUB=${HF_HUB_CACHE:-${HUGGINGFACE_HUB_CACHE:-${HF_HOME:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/huggingface}/hub}}
# A value that the server's `environment` or its image gives stays.
given=${HF_HUB_OFFLINE+yes}

# Whether the cache has all files of the model $1, at the revision $2 or its main branch: the commit's
# config and weights, and nothing on its way.
cached() {
  folder=$HUB/models--${1%%/*} commit=$2
  case $1 in */*) folder=$folder--${1#*/} ;; esac
  # The file ends without a newline, so `read` fails.
  [ ! -f "$folder/refs/${2:-main}" ] || read -r commit <"$folder/refs/${2:-main}" || :
  plain "$commit" || return 1
  snapshot=$folder/snapshots/$commit
  index_file=$snapshot/model.safetensors.index.json
  [ -f "$snapshot/config.json" ] || [ -f "$snapshot/adapter_config.json" ] || return 1
  for file in "$folder"/blobs/*.incomplete; do
    [ ! -e "$file" ] || return 1
  done
  # `ORGANISATION/NAME--MODULE.CLASS`: its code is in another repository.
  elsewhere=$(sed -n '/"[^"\\]*--[A-Za-z0-9_]*\.[A-Za-z0-9_]*"/p' "$snapshot"/*config.json) || return 1
  [ -z "$elsewhere" ] || return 1
  for file in "$snapshot"/*.safetensors; do
    [ -f "$file" ] || return 1
    case ${file##*/} in *-of-*) [ -f "$index_file" ] || return 1 ;; esac
  done
  [ -f "$index_file" ] || return 0
  sed 'y/,{}/\n\n\n/' "$index_file" | sed -n 's/.*"\([^"]*\.safetensors\)"[^"]*$/\1/p' | {
    shard= missing=
    while [ -z "$missing" ] && read -r file; do
      [ "$file" = "$shard" ] || [ -f "$snapshot/$file" ] || missing=yes
      shard=$file
    done
    [ -n "$shard" ] && [ -z "$missing" ]
  }
}

# With all of its models in the cache, vLLM has nothing to ask the hub for, which may be out of reach
# or slow, or have another commit by now.
without_hub() {
  [ -z "$given" ] || return 0
  unset HF_HUB_OFFLINE
  [ -n "$models" ] || return 0
  names=
  for model in $models; do
    cached "${model%@*}" "${model#*@}" || return 0
    names="$names ${model%@*}"
  done
  export HF_HUB_OFFLINE=1
  # Before the line that opens, and behind a colon: no name is taken for a phase of the start.
  say "HF_HUB_OFFLINE=1: the cache has all of$names, so vLLM asks no hub"
}
