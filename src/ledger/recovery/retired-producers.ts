import { mkdirSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { serialiseGapMarker } from '../../call/codec/record-codec.ts'
import { isObject, parsedJson } from '../../domain/json.ts'
import type { Logger } from '../../lib/logger.ts'
import { isMissingFile } from '../../lib/missing-file.ts'
import { syncFolder, writeDurably } from '../durable-file.ts'
import { isProducer } from '../entry.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { SentEntry } from '../shipping/sent-ids.ts'
import type { StreamLink } from '../shipping/stream/stream-link.ts'
import { isDatabaseMismatch, readJournalDatabaseId } from './journal-database-id.ts'
import {
  deleteProducerFolder,
  type ProducerFolder,
  quarantineProducerFolder,
  readJournalDirectory,
} from './producer-folder.ts'

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
  const fields = parsedJson(text)
  if (!isObject(fields)) return null
  const { last, stream, database, finishedAtMs } = fields
  if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 1) return null
  if (typeof stream !== 'string' || stream === '' || typeof finishedAtMs !== 'number') return null
  return { producer, last, stream, database: typeof database === 'string' ? database : null, finishedAtMs }
}

/** The last state of a producer whose folder is no longer needed. */
interface FinishedProducer {
  readonly folder: ProducerFolder
  /** Postgres has every record up to here; 0: it never had one. */
  readonly last: number
  readonly stream: string
}

/**
 * Removes a producer's folder from what may be adopted: deletes it, or with `keep` quarantines it under another name,
 * which is returned. The producer's final offset is on disk before the folder goes. The caller holds the folder's lock,
 * before and after.
 */
export async function finishProducer(
  journalDir: string,
  { folder, last, stream }: FinishedProducer,
  keep: boolean,
): Promise<string | null> {
  const { producer, path } = folder
  if (last > 0) {
    const database = await readJournalDatabaseId(path)
    await writeRetiredProducer(journalDir, { producer, last, stream, database, finishedAtMs: Date.now() })
  }
  if (keep) return quarantineProducerFolder(journalDir, producer)
  await deleteProducerFolder(journalDir, producer)
  return null
}

/** Producers whose committed offsets are asked for at once. */
const BATCH = 1_000

interface RetiredProducerCheckOptions {
  readonly journalDir: string
  readonly link: Pick<StreamLink, 'connected' | 'append' | 'areThere'>
  readonly database: Pick<LedgerDatabase, 'readCommittedOffsets' | 'registerStream'>
  readonly log: Logger
}

/**
 * Finds retired producers whose committed offset in Postgres is lower than their final one: Postgres was restored to an
 * earlier state. Their records exist nowhere any more, so they are recorded as gaps, as a journal does for deleted
 * records. Any number of gateways may do it at once: the first gap marker moves the offset, the others are dropped.
 */
export class RetiredProducerCheck {
  readonly #options: RetiredProducerCheckOptions
  readonly #retired: RetiredProducers
  /** Gap markers that were sent and are not counted yet, and the committed offset they were sent for. */
  readonly #sent = new Map<string, { readonly committedOffset: number; readonly entry: SentEntry }>()

  constructor(options: RetiredProducerCheckOptions) {
    this.#options = options
    this.#retired = new RetiredProducers(options.journalDir)
  }

  /**
   * Rejects when Postgres does not answer. What Redis does not take is sent by a later check.
   *
   * @param databaseId of the database that is asked; `null`: not known.
   */
  async check(databaseId: string | null): Promise<void> {
    const { journalDir, database, link } = this.#options
    const present = new Set(readJournalDirectory(journalDir).producers)
    const all = await this.#retired.list(present, Date.now())
    const ours = all.filter((retired) => !isDatabaseMismatch(retired.database, databaseId))
    for (let at = 0; at < ours.length; at += BATCH) {
      const batch = ours.slice(at, at + BATCH)
      const offsets = await database.readCommittedOffsets(batch.map(({ producer }) => producer))
      for (const retired of batch) {
        const committedOffset = offsets.get(retired.producer) ?? 0
        if (committedOffset >= retired.last) this.#sent.delete(retired.producer)
        else if (link.connected && !(await this.#isUnderWay(retired, committedOffset)))
          await this.#shipGap(retired, committedOffset)
      }
    }
  }

  /**
   * Tells whether the gap marker sent for this offset still waits to be counted. While Redis is silent it need not be
   * sent.
   */
  async #isUnderWay({ producer, stream }: RetiredProducer, committedOffset: number): Promise<boolean> {
    const sent = this.#sent.get(producer)
    if (sent?.committedOffset !== committedOffset) return false
    try {
      return (await this.#options.link.areThere(stream, producer, [sent.entry]))[0] ?? true
    } catch {
      return true
    }
  }

  async #shipGap({ producer, stream, last }: RetiredProducer, committedOffset: number): Promise<void> {
    const { link, database, log } = this.#options
    const from = committedOffset + 1
    log.error(
      { event: 'ledger.regressed_too_far', producer, from, to: last },
      'Postgres was restored behind a journal that is gone; its records are lost',
    )
    await database.registerStream(stream)
    try {
      const body = serialiseGapMarker(from, last, 'journal_pruned')
      const [id] = await link.append(stream, producer, [{ sequence: last, body }])
      if (id !== undefined) this.#sent.set(producer, { committedOffset, entry: { sequence: last, id } })
    } catch {
      // The link logs it and connects again. The next check sends it again; twice does no harm.
    }
  }
}
