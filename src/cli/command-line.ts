import { once } from 'node:events'
import { runCommandLine } from './run.ts'

// A reader such as `head` may close the pipe early; that is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), process.env, {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  drained,
  isWatched: process.stderr.isTTY,
  // Node knows NO_COLOR, FORCE_COLOR, and terminals without colours.
  hasColours: process.stdout.isTTY && process.stdout.hasColors(),
})

async function drained(): Promise<boolean> {
  // A closed pipe rejects the write, which ends the waiting.
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain').catch(() => {})
  return process.stdout.writable
}
