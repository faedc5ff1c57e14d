# Functions of up and down. A service is a file <name>.sh beside this one that sets VERSION, VARIABLE (the variable that
# names such a server to the tests) and READY_SECONDS (the time limit of a start), and has the functions `install`,
# `start` (which becomes the server), `is_ready` and `variables` (which prints `export …` lines). Each service has a
# directory $folder of its own, and $folder/port contains a port that was free.
ALL=(s3 kafka mongo)

root=${FLIGHTLOG_SERVICES:-$HOME/.cache/flightlog-services}

load() {
  [[ " ${ALL[*]} " == *" $1 "* ]] || { echo "there is no service $1, only: ${ALL[*]}" >&2; exit 2; }
  folder=$root/$1
  source "$here/$1.sh"
}

# True when the caller has set VARIABLE: the tests then use that server, and none is started.
is_theirs() { [[ -n ${!VARIABLE:-} ]]; }

port() { cat "$folder/port"; }

free_port() {
  node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); });"
}

is_running() { [[ -f $folder/pid ]] && kill -0 "$(<"$folder/pid")" 2>/dev/null; }

# Stops the process by its id: with SIGTERM, and after 10 seconds with SIGKILL.
stop_it() {
  if is_running; then
    local pid
    pid=$(<"$folder/pid")
    kill "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 50; tries++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.2
    done
    kill -9 "$pid" 2>/dev/null || true
  fi
  rm -f "$folder/pid"
}
