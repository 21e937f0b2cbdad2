#!/bin/bash
# A container's health check that starts no Node: GET /readyz at a port of this container, a gateway's by default.
# Exit code 0 or 1, what is wrong on stdout.
set -u
port=${PORT:-8080}
# Over TLS bash cannot ask: the operator's listener says the same.
if [ -n "${TLS_CERT_FILE:-}" ]; then port=${ADMIN_PORT:-8081}; fi
port=${1:-$port}
for address in 127.0.0.1 $(hostname -I 2>/dev/null); do
  { exec 3<>"/dev/tcp/$address/$port"; } 2>/dev/null || continue
  printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
  if ! read -r -t 2 _ status _ <&3; then
    echo "no answer at $address:$port"
    exit 1
  fi
  [ "$status" = 200 ] && exit 0
  while read -r -t 1 line || [ -n "$line" ]; do answer=$line; line=; done <&3
  echo "$status ${answer:-}"
  exit 1
done
echo "nothing listens at port $port"
exit 1
