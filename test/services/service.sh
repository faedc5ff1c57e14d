# What up and down share. A service is a file <name>.sh beside this one that sets VERSION, VARIABLE (the one whose
# presence means that the tests have such a server already) and READY_SECONDS, and has the functions `install`, `start`
# (which becomes the server), `is_ready` and `variables` (which prints `export …` lines). Each has $folder to itself,
# and $folder/port has a port that was free.
ALL=(s3 kafka mongo)

root=${FLIGHTLOG_SERVICES:-$HOME/.cache/flightlog-services}

load() {
  [[ " ${ALL[*]} " == *" $1 "* ]] || { echo "there is no service $1, only: ${ALL[*]}" >&2; exit 2; }
  folder=$root/$1
  source "$here/$1.sh"
}

is_theirs() { [[ -n ${!VARIABLE:-} ]]; }

port() { cat "$folder/port"; }

free_port() {
  node -e "const s = require('net').createServer().listen(0, '127.0.0.1', () => { console.log(s.address().port); s.close(); });"
}

is_running() { [[ -f $folder/pid ]] && kill -0 "$(<"$folder/pid")" 2>/dev/null; }

# By its number, never by name: first asked, then made to.
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
