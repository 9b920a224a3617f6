# What a server's container runs as its first process: it starts vLLM once there is memory for it,
# and ends it before the machine runs out. Run as
#
#   sh -c "$(cat modelsInCache.sh startGate.sh)" CONTAINER ARGUMENT...
#
# POSIX sh, since the image decides which shell there is. Waits are counted in sleeps, since a clock
# may jump after a boot. Whatever takes time runs in the background, so that TERM is taken at once.
# What is declared is read from a file each time, so that a correction restarts nothing. The
# policies follow `"$@"` to the arguments that vLLM gets: the word `shift`, a `set` of arguments and
# a second `vllm serve` stay out.

# A server over several machines is one *rank* a machine, none of use alone. Their gates read each
# other over the link: they open together, and once a rank is gone each of the others ends its own
# and waits again.

# Lines `floor MIB`, `starts PER_HOUR`, `instance-a MIB SECONDS [URL]`, `server CONTAINER MIB
# GRACE_SECONDS HEALTH_URL`, for each model that the server names `model CONTAINER ID [REVISION]`,
# and `end-when-spent CONTAINER`: once its budget of starts is spent, the gate ends. A rank also has
# `rank CONTAINER INDEX ADDRESS GATE_PORT INTERFACE` and, for each other one, `peer CONTAINER MACHINE
# ADDRESS GATE_PORT`. Any other line is of another version, and means nothing here.
DECLARED=/run/local-serving/gate
# Shared by the gates of a machine, and kept when a container is replaced.
SHARED=/var/lib/local-serving
# The container that made the starts below, then the time of each start. A start that was ended from
# outside is taken out.
STARTS=$SHARED/$0.starts
# MiB of a server that is starting; locked for as long as it is.
CLAIM=$SHARED/$0.claim
# The container's own. Other gates read its `rank`: `MARK ROUND STATE [ROUND...]`, then why it can't
# start. A wait and the start behind it are a round; behind `ready` are the rounds that this one
# sees, behind `running` those that started with it.
RANK=/tmp/start-gate

# Seconds in a row below the floor: a single look may be a moment's peak.
FLOOR_SECONDS=3
# Seconds for vLLM to end at the floor: the machine has no more to give.
FLOOR_GRACE_SECONDS=10
# vLLM gives up a start after an hour: what hangs for two takes no more.
CLAIM_SECONDS=7200
START_SECONDS=3600
# More seconds without another rank, or without the head's answer, end this rank: a link may be down
# for less.
ALONE_SECONDS=30
SILENT_SECONDS=60

say() { printf 'start gate: %s\n' "$*"; }

# A shell evaluates whatever stands in its arithmetic, and expands whatever it splits. So a word of a
# file is known to be one of these before it gets there.
number() { case $1 in '' | *[!0-9]* | 0?* | ????????????*) return 1 ;; esac; }
plain() { case $1 in '' | *[!A-Za-z0-9._:/-]*) return 1 ;; esac; }
url() { case $1 in http://*) ;; *) return 1 ;; esac; }

gib() {
  hundredths=$((($1 * 100 + 512) / 1024))
  printf '%d.%02d GiB' $((hundredths / 100)) $((hundredths % 100))
}

pause() {
  sleep "$1" &
  wait $!
}

answers() {
  url "$1" || return 1
  curl -gfsS --noproxy '*' -m 3 -o /dev/null "$1" 2>/dev/null &
  wait $!
}

memory() {
  free=
  [ -r /proc/meminfo ] && while read -r name kib rest; do
    case $name$kib in
      MemAvailable:*[!0-9]*) ;;
      MemAvailable:?*) free=$((kib / 1024)) && break ;;
    esac
  done </proc/meminfo
}

# A line about this container.
own_line() {
  case $what in
    server) number "$two" && number "$three" && url "$four" && need=$two grace=$three health=$four ;;
    rank)
      number "$two" && plain "$three" && number "$four" && plain "$five" &&
        index=$two own=$three port=$four interface=$five
      ;;
    peer) plain "$two" && plain "$three" && number "$four" && peers="$peers $two=$three:$four" ;;
    model) plain "$two" && plain "${three:-main}" && models="$models $two@$three" ;;
    end-when-spent) ends=yes ;;
  esac
}

# What a file that is damaged or gone said before still holds for a server that runs: above all the
# floor. Nothing starts by it.
declared() {
  kept=$floor kept_index=$index kept_own=$own kept_peers=$peers
  need= starts=0 a=0 a_seconds=0 a_url= index=0 own= peers= models= ends= damaged= found=
  [ -f "$DECLARED" ] && [ -r "$DECLARED" ] && found=yes &&
    while read -r what one two three four five; do
      case $what in
        floor) number "$one" && floor=$one ;;
        starts) number "$one" && starts=$one ;;
        instance-a)
          number "$one" && number "$two" && url "${three:-http://}" &&
            a=$one a_seconds=$two a_url=$three
          ;;
        server | rank | peer | model | end-when-spent) [ "$one" != "$0" ] || own_line ;;
      esac || damaged=yes
    done <"$DECLARED"
  if [ -n "$damaged" ] || [ -z "$found" ]; then
    need= floor=$kept index=$kept_index own=$kept_own peers=$kept_peers
  fi
}

# Whether starts can be counted.
counted() { [ -n "$writable" ] && { [ -f "$STARTS" ] || [ ! -e "$STARTS" ]; }; }

# Spent, the budget stays so over restarts and hours: each failed start may leak memory.
may_start() {
  counted && [ "$starts" -gt 0 ] || return 0
  now=$(date +%s) count=0 whose=
  [ -s "$STARTS" ] && read -r whose <"$STARTS"
  [ "$whose" = "$here" ] || printf '%s\n' "$here" >"$STARTS"
  while read -r line; do
    case $line in
      "$here" | "spent "*) [ "$line" != "spent $starts" ] || return 1 ;;
      # A time that is still to come is of a clock that was wrong.
      *) ! number "$line" || [ $((now - line)) -ge 3600 ] || [ "$now" -lt "$line" ] ||
        count=$((count + 1)) ;;
    esac
  done <"$STARTS"
  [ "$count" -ge "$starts" ] || return 0
  echo "spent $starts" >>"$STARTS"
  return 1
}

# Takes the server's memory, where $1 MiB are available beside what others take that are starting.
# What they have taken of it already counts twice, so this may wait until they are ready: it never
# opens too early, and vLLM measures its memory wrongly beside one that still grows.
claim() {
  granted= starting=
  [ -n "$shared" ] || { [ "$free" -ge "$1" ]; return; }
  {
    if flock -n 8; then
      taken=0
      for other in "$SHARED"/*.claim; do
        [ "$other" != "$CLAIM" ] && [ -f "$other" ] && [ -r "$other" ] || continue
        {
          flock -n 7 || {
            read -r mib <&7
            # It takes nobody knows how much, so nothing is left until it is ready.
            number "$mib" || mib=$free
            other=${other##*/}
            taken=$((taken + mib)) starting="$starting ${other%.claim}"
          }
        } 7<"$other"
      done
      if [ $((free - taken)) -ge "$1" ]; then
        echo "$need" >"$CLAIM"
        command exec 9<"$CLAIM"
        flock -n 9
        granted=yes
      fi
    else
      starting=" another server"
    fi
  } 8>>"$SHARED/lock"
  [ -n "$granted" ]
}

may_open() {
  declared
  memory
  without=
  if [ -n "$damaged" ]; then
    why="waiting for a $DECLARED that can be read: a number or a name in it is damaged. \`serving drift\` names the command that writes it anew"
    return 1
  fi
  if [ -z "$need" ]; then
    why="waiting for a line about $0 in $DECLARED, which \`npm run up\` writes"
    return 1
  fi
  if ! may_start; then
    why="closed: $starts starts within an hour failed. Find out why (serving doctor); after a change of the stack file \`npm run up\` goes on, without one:"
    if [ -n "$ends" ]; then
      say "$why docker run --rm --volumes-from $0 --entrypoint rm \$(docker inspect --format '{{.Image}}' $0) $STARTS"
      exit 1
    fi
    why="$why docker exec $0 rm $STARTS"
    return 1
  fi
  if [ -z "$free" ]; then
    without="MemAvailable is not readable here; starting without it"
    return 0
  fi
  if [ "$free" -lt "$need" ]; then
    steady=0 held=0
    why="waiting for $(gib "$need"), $(gib "$free") are available"
    return 1
  fi
  both=$((need + a))
  claim "$both" && return
  why="$(gib "$free") are available, $(gib "$need") are needed; waiting for"
  if [ "$a" -eq 0 ] || answers "$a_url"; then
    claim "$need" && return
  else
    if [ "$held" -gt 0 ] && [ "$free" -ge $((held - 1024)) ]; then
      steady=$((steady + 5))
    else
      steady=0 held=$free
    fi
    if [ "$waited" -ge "$a_seconds" ] && [ "$steady" -ge 60 ] && claim "$need"; then
      without="instance A did not answer for $waited s, and $(gib "$free") have been available for a minute: starting without it"
      return 0
    fi
    [ -n "$starting" ] ||
      why="$why instance A, which does not answer ${a_url:-(it listens on loopback only)}, or for $(gib "$both")"
  fi
  [ -z "$starting" ] || why="$why$starting, which is starting and takes $(gib "$taken")"
  return 1
}

# Shows the others what this rank tells. By itself Python's server asks the name service for its
# address, and may wait long.
listen() {
  [ -n "$listener" ] && kill -0 "$listener" 2>/dev/null && return
  rm -f "$RANK/listening"
  python3 -I -c 'import http.server as web, os, sys
web.HTTPServer.server_bind = web.socketserver.TCPServer.server_bind
os.chdir(sys.argv[3])
server = web.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), web.SimpleHTTPRequestHandler)
open("listening", "w").close()
server.serve_forever()' "$own" "$port" "$RANK" >/dev/null 2>&1 9<&- &
  listener=$!
  until [ -e "$RANK/listening" ]; do
    pause 0.2
    kill -0 "$listener" 2>/dev/null || return 1
  done
}

tell() {
  [ -n "$own" ] || return 0
  printf '%s %s %s\n%s\n' "$mark" "$round" "$*" "$why" >"$RANK/rank"
  listen
}

# What the gate at this address tells.
ask() {
  its_mark= its_round= its_state= its_rounds= its_why=
  curl -fsS --noproxy '*' -m 2 -o "$RANK/answer" "http://$1/rank" 2>/dev/null &
  wait $! && { read -r its_mark its_round its_state its_rounds; read -r its_why; } <"$RANK/answer"
  [ -n "$its_state" ]
}

# Whether the other ranks can read this gate over the link; else `why`.
linked() {
  [ -n "$own" ] || return 0
  link=missing
  [ -r "/sys/class/net/$interface/operstate" ] && read -r link <"/sys/class/net/$interface/operstate"
  why="waiting for the link: $interface is $link"
  case $link in up | unknown) ;; *) return 1 ;; esac
  why="waiting for the link: the gate can't listen on $own:$port (does $interface have that address, and is the port free?)"
  listen
}

# Whether all other ranks can start now, or, once vLLM runs, run with it; else `why`. `lost`: that
# one is of no more use here.
together() {
  [ -n "$server" ] || rounds=
  for peer in $peers; do
    why="waiting for the rank on ${peer%%=*}: its gate at ${peer#*=} does not answer"
    ask "${peer#*=}" || return 1
    why="waiting for the rank on ${peer%%=*}"
    if [ "$its_mark" != "$mark" ]; then
      lost=yes why="$why: it has other arguments, another image or another environment; \`npm run up\` replaces both"
    elif [ -z "$server" ]; then
      rounds="$rounds $its_round"
      case $its_state/$its_rounds in
        ready/*"$round"* | running/*"$round"*) continue ;;
        ready/*) why="$why: it does not see this one at $own:$port yet (does a firewall stop it?)" ;;
        *) why="$why: it can't start, $its_why" ;;
      esac
    else
      case $rounds/$its_state in
        *"$its_round"*/running) continue ;;
        *"$its_round"*/ready | *"$its_round"*/waiting) why="$why: it has not started" ;;
        *) lost=yes why="$why: it has ended" ;;
      esac
    fi
    return 1
  done
}

# Memory is claimed, and a start is counted, only when all ranks can start.
can_start() {
  may_open && linked || { exec 9<&-; tell waiting; return 1; }
  [ -n "$own" ] || return 0
  exec 9<&-
  together || { tell ready "$rounds"; return 1; }
  may_open
}

# Every five seconds while vLLM runs. A head may be silent until it has answered once, or a start
# has had its time.
accompany() {
  lost= limit=$ALONE_SECONDS
  [ "$index" -eq 0 ] || [ -z "$answered" ] || [ -n "$served" ] || { served=yes && say "the head answers"; }
  if ! linked || ! together; then
    alone=$((alone + 5))
  elif [ "$index" -ne 0 ] && [ -z "$answered" ] && { [ -n "$served" ] || [ "$age" -ge "$START_SECONDS" ]; }; then
    limit=$SILENT_SECONDS alone=$((alone + 5)) why="waiting for the head: $health has not answered for $limit s"
  else
    alone=0
  fi
  if [ -n "$lost" ] || [ "$alone" -gt "$limit" ]; then
    reason=alone
    say "stopped ${why#waiting }; vLLM ends here too, and starts again with all ranks"
    end TERM "$FLOOR_GRACE_SECONDS"
  fi
}

# To the process group; to vLLM alone where it has none.
signal() { kill "-$1" "-$server" 2>/dev/null || kill "-$1" "$server" 2>/dev/null; }

end() {
  signal "$1"
  left=${left:-$2}
  why="its vLLM is ending"
  tell ending
}

asked() {
  [ -n "$server" ] || exit 143
  reason=asked
  # A background job ignores INT unless it asks for it, as vLLM does once it has begun.
  [ "$1" = TERM ] || signal "$1"
  end TERM "$grace"
}

server= grace=1 here=- writable= shared= taken=0 floor=0 index=0 own= peers=
why= listener= mark=${LOCAL_SERVING_RANKS:-}
if [ -n "$mark" ]; then
  # Its host name is the machine's: the container is known by what it wrote down itself.
  mkdir -p "$RANK"
  rm -f "$RANK/rank"
  [ -s "$RANK/container" ] || cat /proc/sys/kernel/random/uuid >"$RANK/container"
  read -r here <"$RANK/container"
  trap '[ -z "$listener" ] || kill "$listener" 2>/dev/null' EXIT
elif [ -r /etc/hostname ]; then
  read -r here </etc/hostname
fi
trap 'asked TERM' TERM
trap 'asked INT' INT
if command -v setsid >/dev/null 2>&1; then
  apart=setsid
else
  apart=
  set -m 2>/dev/null
fi
if ! [ -w "$SHARED" ]; then
  say "$SHARED is not writable: failed starts aren't counted, and servers that start at once don't see each other"
else
  writable=yes
  command -v flock >/dev/null 2>&1 && shared=yes ||
    say "the image has no flock: servers that start at once don't see each other, so start them one after the other"
fi

while :; do
  waited=0 steady=0 held=0
  [ -z "$mark" ] || read -r round </proc/sys/kernel/random/uuid
  until can_start; do
    [ $((waited % 60)) -ne 0 ] || say "$why"
    pause 5
    waited=$((waited + 5))
  done
  [ -z "$without" ] || say "$without"
  without_hub
  ! counted || date +%s >>"$STARTS"
  say "open after $waited s${free:+, $(gib "$free") are available}"
  reason= left= below=0 age=0 ran=0 claimed=$granted alone=0 served= why="it is in an earlier start"
  $apart vllm serve "$@" 9<&- &
  server=$!
  tell running "$rounds"
  while kill -0 "$server" 2>/dev/null || kill -0 "-$server" 2>/dev/null; do
    pause 1
    ran=$((ran + 1))
    if [ -n "$left" ]; then
      left=$((left - 1))
      if [ "$left" -le 0 ]; then
        [ $((left % 60)) -ne 0 ] || say "vLLM did not end in time: KILL"
        signal KILL
      fi
    elif ! kill -0 "$server" 2>/dev/null; then
      # It left processes behind.
      end TERM "$FLOOR_GRACE_SECONDS"
    else
      declared
      memory
      age=$((age + 1))
      if [ $((age % 5)) -eq 0 ]; then
        answered=
        [ -z "$claimed" ] && [ "$index" -eq 0 ] || ! answers "$health" || answered=yes
        if [ -n "$answered" ] || [ "$age" -ge "$CLAIM_SECONDS" ]; then
          # All of its memory is taken now, so MemAvailable says it.
          claimed=
          exec 9<&-
        fi
        [ -z "$own" ] || accompany
      fi
      if [ -n "$free" ] && [ "$free" -lt "$floor" ]; then below=$((below + 1)); else below=0; fi
      if [ "$below" -ge "$FLOOR_SECONDS" ]; then
        reason=floor
        say "stopped at the floor: $(gib "$free") are available, below $(gib "$floor") for $below s; vLLM gives way and waits again"
        end TERM "$FLOOR_GRACE_SECONDS"
      fi
    fi
  done
  wait "$server"
  code=$?
  server= how="with code $code"
  if [ "$code" -gt 128 ] && [ "$code" -le 192 ]; then
    how="by signal $((code - 128)) ($(kill -l $((code - 128))))"
  fi
  say "vLLM ended after $ran s, $how"
  exec 9<&-
  [ "$reason" != asked ] || sed -i '$d' "$STARTS" 2>/dev/null
  [ "$reason" = floor ] || [ "$reason" = alone ] || exit "$code"
done
