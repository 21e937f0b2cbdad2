import { mkdirSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissingFile } from '../../lib/missing-file.ts'
import { syncFolder, writeDurably } from '../durable-file.ts'
import { isProducer } from '../entry.ts'

/** In the journal directory: a file for each producer whose folder is gone, named after it. */
const RETIRED_PRODUCERS_FOLDER = 'tombstones'
/** Older backups are rarely restored. By the wall clock: only whether a loss is recorded depends on it. */
const KEEP_MS = 35 * 86_400_000
/** Even gateways that end every second leave fewer. Some hundred bytes each. */
const MAX_RETIRED_PRODUCERS = 20_000

/** A producer whose folder is gone, with its final offset: up to where its records were counted. */
export interface RetiredProducer {
  readonly producer: string
  /** Postgres had every record up to here. */
  readonly last: number
  readonly stream: string
  /** The identity of the database that counted them; `null`: not known. */
  readonly database: string | null
  /** Unix milliseconds. */
  readonly finishedAtMs: number
}

/**
 * Survives power loss when it resolves. A final offset that is already there is never lowered. The caller must hold the
 * lock of the producer's folder.
 */
export async function writeRetiredProducer(journalDir: string, retired: RetiredProducer): Promise<void> {
  const { producer, last, stream, database, finishedAtMs } = retired
  const before = await readRetiredProducer(journalDir, producer)
  const folder = join(journalDir, RETIRED_PRODUCERS_FOLDER)
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) await syncFolder(journalDir)
  const highest = Math.max(last, before?.last ?? 0)
  await writeDurably(
    join(folder, producer),
    `${JSON.stringify({ last: highest, stream, database, finishedAtMs })}\n`,
  )
}

/** `null`: there is none, or it is damaged. */
export async function readRetiredProducer(
  journalDir: string,
  producer: string,
): Promise<RetiredProducer | null> {
  try {
    return parseRetiredProducer(
      producer,
      await readFile(join(journalDir, RETIRED_PRODUCERS_FOLDER, producer), 'utf8'),
    )
  } catch (error) {
    if (isMissingFile(error)) return null
    throw error
  }
}

/** The retired producers of a journal directory; each file is read once. */
export class RetiredProducers {
  readonly #journalDir: string
  #known = new Map<string, RetiredProducer | null>()

  constructor(journalDir: string) {
    this.#journalDir = journalDir
  }

  /**
   * Those that are younger than 35 days, the newest 20,000; the others are deleted.
   *
   * @param except producers whose folder exists: it holds more than the final offset.
   * @param nowMs Unix milliseconds.
   */
  async list(except: ReadonlySet<string>, nowMs: number): Promise<readonly RetiredProducer[]> {
    const known = new Map<string, RetiredProducer | null>()
    for (const producer of await this.#names()) {
      if (except.has(producer)) continue
      const before = this.#known.get(producer)
      known.set(
        producer,
        before === undefined ? await readRetiredProducer(this.#journalDir, producer) : before,
      )
    }
    this.#known = known
    const readable = [...known.values()].filter((retired) => retired !== null)
    readable.sort((left, right) => right.finishedAtMs - left.finishedAtMs)
    const kept = readable
      .slice(0, MAX_RETIRED_PRODUCERS)
      .filter(({ finishedAtMs }) => nowMs - finishedAtMs < KEEP_MS)
    for (const { producer } of readable.slice(kept.length)) {
      known.delete(producer)
      await rm(join(this.#journalDir, RETIRED_PRODUCERS_FOLDER, producer), { force: true })
    }
    return kept
  }

  async #names(): Promise<string[]> {
    try {
      return (await readdir(join(this.#journalDir, RETIRED_PRODUCERS_FOLDER))).filter(isProducer)
    } catch (error) {
      if (isMissingFile(error)) return []
      throw error
    }
  }
}

/** `null`: the text is damaged. */
function parseRetiredProducer(producer: string, text: string): RetiredProducer | null {
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof fields !== 'object' || fields === null) return null
  const { last, stream, database, finishedAtMs } = fields as Record<string, unknown>
  if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 1) return null
  if (typeof stream !== 'string' || stream === '' || typeof finishedAtMs !== 'number') return null
  return { producer, last, stream, database: typeof database === 'string' ? database : null, finishedAtMs }
}
