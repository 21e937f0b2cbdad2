import { spawn } from 'node:child_process'

/**
 * Kills a server and deletes its folder when this process is gone, however it ended: a shell of its own session waits
 * for the end of a pipe that only this process holds. Closing the pipe by hand does it at once.
 *
 * @returns a function that lets the shell do its work now and waits for it
 */
export function stopWithMe(pid: number, folder: string): () => Promise<void> {
  const script =
    'cat >/dev/null; kill -CONT "$1"; kill -TERM "$1"; kill -INT "$1"; n=0; while kill -0 "$1" && [ $n -lt 100 ]; do n=$((n+1)); sleep 0.05; done; kill -9 "$1"; rm -rf "$2"'
  const watch = spawn('/bin/sh', ['-c', script, 'sh', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
  })
  watch.unref()
  const ended = new Promise<void>((resolve) => watch.once('exit', () => resolve()))
  return async () => {
    watch.stdin.end()
    await ended
  }
}
