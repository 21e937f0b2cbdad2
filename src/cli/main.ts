import { once } from 'node:events'
import { runCommandLine } from './run.ts'

// A reader that has seen enough, such as `head`, closes the pipe: that is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runCommandLine(process.argv.slice(2), process.env, {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  drained,
})

async function drained(): Promise<boolean> {
  // The closed pipe of a reader that has gone ends the waiting by its error.
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain').catch(() => {})
  return process.stdout.writable
}
