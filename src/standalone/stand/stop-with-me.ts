import { spawn } from 'node:child_process'

/** Servers that end together with this process. */
export interface StopWithMe {
  /** A server process that is to be killed then. */
  add(pid: number): void
  /** Does it now, and waits until it is done. */
  now(): Promise<void>
}

const SCRIPT = `
pids=
while read -r pid; do pids="$pids $pid"; done
running() { for pid in $pids; do kill -0 "$pid" && return 0; done; return 1; }
exec 2>/dev/null
for signal in CONT TERM INT; do for pid in $pids; do kill -"$signal" "$pid"; done; done
tries=0
while running && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
for pid in $pids; do kill -KILL "$pid"; done
[ -z "$1" ] || rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

/**
 * Kills servers and deletes their folder, if there is one that should not stay, when this process is gone, however it ended. A shell in a session of
 * its own waits for the end of a pipe that only this process holds.
 */
export function stopWithMe(folder: string | null): StopWithMe {
  const watch = spawn('/bin/sh', ['-c', SCRIPT, 'sh', folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  watch.unref()
  const ended = new Promise<void>((resolve) => watch.once('exit', () => resolve()))
  return {
    add: (pid) => void watch.stdin.write(`${pid}\n`),
    async now() {
      watch.ref()
      watch.stdin.end()
      await ended
    },
  }
}
