import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../lib/logger.ts'
import { writeDurably } from '../durable-file.ts'
import type { ProducerFolder } from './producer-folder.ts'

/** In a dead producer's folder: what an adopter has logged about calls that are not counted, a line of JSON. */
export const ABANDONED_FILE = 'abandoned'

/** The fault of a journal in which calls were open. */
export interface AbandonedCalls {
  readonly message: string
  /** Says which loss it is. A journal that loses more later is logged again. */
  readonly loss: Readonly<Record<string, number | boolean>>
  /** Beside the loss in the log's line. */
  readonly details?: object
}

/**
 * Logs that calls of a dead producer may not be counted, once: a journal is kept for a while, and each gateway that
 * starts meanwhile adopts it again. The caller holds the folder's lock.
 */
export async function logAbandonedCalls(
  { path, producer }: Pick<ProducerFolder, 'path' | 'producer'>,
  { message, loss, details }: AbandonedCalls,
  log: Logger,
): Promise<void> {
  const file = join(path, ABANDONED_FILE)
  const said = `${JSON.stringify(loss)}\n`
  if ((await textOf(file)) === said) return
  log.error({ event: 'adoption.abandoned_calls', producer, ...loss, ...details }, message)
  // A disk that does not take it has the next adopter say it again: better than no adoption.
  await writeDurably(file, said).catch(() => {})
}

/** `null`: nothing was said, or it cannot be read. */
async function textOf(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch(() => null)
}
