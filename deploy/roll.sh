#!/bin/sh
# Brings a running compose deployment to the image that is built from this checkout, and fails no call meanwhile:
#
#   deploy/roll.sh                        # what stands before the command is given to docker compose:
#   deploy/roll.sh --file my.yml          # docker compose --file my.yml ...
#   BUILD=false deploy/roll.sh            # the images are there already
#
# Migrations, then workers, then one gateway after the other: each new one is ready before an old one stops. A
# migration that needs the workers stopped has them stopped; what comes in meanwhile is counted afterwards. Balancer,
# PostgreSQL and Redis stay as they are. A run that fails can be run again.
set -eu
cd "$(dirname "$0")/.."

compose() { docker compose "$@"; }
count() { echo "$1" | grep -c . || true; }
say() { echo "roll: $*" >&2; }

# As long as stop_grace_period of the compose file.
GRACE_SECONDS=50

gateways=$(compose "$@" ps --quiet --status running gateway)
workers=$(count "$(compose "$@" ps --quiet --status running worker)")
size=$(count "$gateways")
if [ "$size" -eq 0 ]; then
  say "no gateway runs: docker compose up --detach --wait starts everything"
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

for old in $gateways; do
  say "replacing gateway $old"
  compose "$@" up --detach --no-build --no-deps --no-recreate --wait --scale gateway=$((size + 1)) gateway >&2
  docker stop --time "$GRACE_SECONDS" "$old" >/dev/null
  docker rm "$old" >/dev/null
done
say "done: $size gateways and $workers workers are of the new image"
