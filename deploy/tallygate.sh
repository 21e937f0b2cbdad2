#!/bin/sh
# The command line in the image, also under "docker compose exec", which passes the entrypoint by.
exec /app/deploy/with-secrets.sh node /app/src/cli/main.ts "$@"
