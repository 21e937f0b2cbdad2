import { open, rename, rm } from 'node:fs/promises'
import { explainError } from '../doctor/explain-error.ts'
import { addDays } from '../domain/utc-day.ts'
import { Failure } from '../operations/failure.ts'
import { BrokenText, type LongText, type TextPiece } from '../operations/long-text.ts'
import type { Progress } from '../operations/ports.ts'
import type { Cli } from './cli.ts'

/**
 * Writes a long text, to stdout or into a file.
 *
 * @param output The file; `undefined`: stdout.
 * @throws {Failure} Which days are whole, when it breaks in the middle.
 */
export async function writeText(
  text: LongText,
  cli: Cli,
  output: string | undefined,
  progress: Progress,
): Promise<void> {
  const { about } = text
  const shown = withProgress(text.parts(), progress)
  try {
    if (output !== undefined) {
      const rows = await writeParts(output, shown)
      cli.print(
        { file: output, ...about, rows },
        `${rows} rows from ${about.from} to ${about.to} in ${output}.`,
      )
      return
    }
    for await (const part of shown) if (!(await cli.write(part.text))) return
  } catch (error) {
    throw error instanceof BrokenText ? new Failure(howToGoOn(error, about.from, output)) : error
  }
}

async function* withProgress(parts: AsyncIterable<TextPiece>, progress: Progress): AsyncGenerator<TextPiece> {
  let rows = 0
  for await (const part of parts) {
    rows += part.rows
    if (part.where !== null) progress.at(part.where, rows)
    yield part
  }
}

/** Days before the one in which it broke need not be read again. */
function howToGoOn({ where, message, cause }: BrokenText, from: string, output: string | undefined): string {
  const why = `${message}: ${explainError(cause)}`
  if (where <= from) return why
  const last = addDays(where, -1)
  return output === undefined
    ? `${why}. The days up to ${last} were written whole: go on with --from ${where}`
    : `${why}. ${partialOf(output)} has the days up to ${last}: go on with --from ${where} into another file`
}

/**
 * Renamed to its final name only when complete. What broke in the middle is kept under the other name, cut to
 * the days that are whole.
 *
 * @returns Its number of rows.
 */
export async function writeParts(file: string, parts: AsyncIterable<TextPiece>): Promise<number> {
  const unfinished = partialOf(file)
  let rows = 0
  let bytes = 0
  /** Up to the last day that is whole. */
  let wholeBytes = 0
  let where: string | null = null
  try {
    const handle = await open(unfinished, 'w')
    try {
      for await (const part of parts) {
        if (part.where !== where) wholeBytes = where === null ? 0 : bytes
        where = part.where
        bytes += Buffer.byteLength(part.text)
        await handle.appendFile(part.text)
        rows += part.rows
      }
    } catch (error) {
      await handle.truncate(wholeBytes)
      throw error
    } finally {
      await handle.sync()
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    if (wholeBytes === 0) await rm(unfinished, { force: true })
    throw error
  }
  return rows
}

function partialOf(file: string): string {
  return `${file}.partial`
}
