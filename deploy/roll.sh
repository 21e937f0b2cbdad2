#!/bin/sh
# Brings a running compose deployment to the image that is built from this checkout, and fails no call meanwhile:
#
#   deploy/roll.sh                        # what stands before the command is given to docker compose:
#   deploy/roll.sh --file my.yml          # docker compose --file my.yml ...
#   BUILD=false deploy/roll.sh            # the images are there already
#   LEAVE_OUT=true deploy/roll.sh         # what gateways were given, and are given no longer, is meant to go
#
# Migrations, then workers, then one gateway after the other: each new one is ready before an old one stops. A
# migration that needs the workers stopped has them stopped; what comes in meanwhile is counted afterwards. Balancer,
# PostgreSQL and Redis stay as they are. A run that fails or is interrupted can be run again. After one that was killed
# outright one gateway more may run than before: docker compose up --no-recreate --scale gateway=N.
set -eu
cd "$(dirname "$0")/.."

compose() { docker compose "$@"; }
count() { echo "$1" | grep -c . || true; }
say() { echo "roll: $*" >&2; }

# As long as stop_grace_period of the compose file.
GRACE_SECONDS=50

gateways=$(compose "$@" ps --quiet --status running gateway)
# Stopped ones too: a run that ended while it migrated left them so.
workers=$(count "$(compose "$@" ps --all --quiet worker)")
size=$(count "$gateways")
if [ "$size" -eq 0 ]; then
  say "no gateway runs: docker compose up --detach --wait starts everything"
  exit 1
fi

# Compose gives gateways what this shell and .env have. Without UPSTREAM_URL they would ask the demo upstream.
missing=
if [ "${LEAVE_OUT:-false}" != true ]; then
  given=$(docker inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$(echo "$gateways" | head -n 1)")
  # By its entrypoint, with the secrets that are kept. Those have to be the same; of others it is enough to be there.
  next=$(compose "$@" run --rm --no-deps -T gateway env)
  lines() { printf '%s\n' "$1" | grep -v '^UPSTREAM_URL=http://demo-upstream:4010$' | grep "^$2=." || true; }
  lacks() {
    had=$(lines "$given" "$1")
    case "$1" in
      KEY_PEPPER | ADMIN_TOKEN | DATABASE_URL | REDIS_URL) [ -n "$had" ] && [ "$had" != "$(lines "$next" "$1")" ] ;;
      *) [ -n "$had" ] && [ -z "$(lines "$next" "$1")" ] ;;
    esac
  }
  for name in UPSTREAM_URL $(sed -n 's/^ *\([A-Z][A-Z0-9_]*\):$/\1/p' docker-compose.yml | sort -u); do
    if lacks "$name"; then missing="$missing $name"; fi
  done
fi
if [ -n "$missing" ]; then
  say "the gateways have, and this shell lacks:$missing"
  say "write them to .env beside docker-compose.yml, and run it again; LEAVE_OUT=true if they are meant to go"
  exit 1
fi

if [ "${BUILD:-true}" = true ]; then
  say "building the images"
  compose "$@" build --quiet gateway
fi

migrate() { compose "$@" run --rm --no-deps -T migrate >&2; }

say "migrating"
if ! migrate "$@"; then
  say "once more, with the workers stopped"
  compose "$@" stop --timeout "$GRACE_SECONDS" worker >&2
  if ! migrate "$@"; then
    say "the database could not be migrated: the release before goes on"
    compose "$@" start worker >&2
    exit 1
  fi
fi

if [ "$workers" -gt 0 ]; then
  say "replacing $workers workers"
  compose "$@" up --detach --no-build --no-deps --wait --scale worker="$workers" worker >&2
fi

# Else compose would start one of these, of the old image, in the place of a new one.
for ended in $(compose "$@" ps --quiet --status exited gateway); do docker rm "$ended" >/dev/null; done

# A gateway that did not get ready must not be one of those that the next run replaces: there would be ever more.
wanted=
remove_unready() {
  [ -n "$wanted" ] || return 0
  say "the new gateway was not ready: it is removed, and those that run go on"
  for one in $(compose "$@" ps --all --quiet gateway); do
    case "$wanted" in *"$one"*) ;; *) docker rm --force "$one" >/dev/null ;; esac
  done
}
trap 'remove_unready "$@"' EXIT
trap 'exit 1' INT TERM HUP

for old in $gateways; do
  say "replacing gateway $old"
  wanted=$(compose "$@" ps --all --quiet gateway)
  compose "$@" up --detach --no-build --no-deps --no-recreate --wait --scale gateway=$((size + 1)) gateway >&2
  wanted=
  docker stop --time "$GRACE_SECONDS" "$old" >/dev/null
  docker rm "$old" >/dev/null
done

# Else the next docker compose up would make these anew, and stop servers and gateways meanwhile.
compose "$@" up --detach --no-build --no-deps secrets migrate >&2
say "done: $size gateways and $workers workers are of the new image"
