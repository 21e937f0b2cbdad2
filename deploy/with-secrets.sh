#!/bin/sh
# Runs a command with the secrets that the "secrets" service wrote, each a file named like the variable that it becomes,
# where the environment does not set that variable itself.
set -eu
for name in DATABASE_URL REDIS_URL KEY_PEPPER ADMIN_TOKEN; do
  file=${SECRETS_DIR:-/run/tallygate-secrets}/$name
  eval "given=\${$name:-}"
  if [ -z "$given" ] && [ -f "$file" ]; then
    export "$name=$(cat "$file")"
  fi
done
unset name file given
exec "$@"
