import { join } from 'node:path'
import type { Logger } from '../lib/logger.ts'
import type { JournalStore } from './journal/journal-store.ts'
import { DiskReserve } from './journal/journal-store.ts'
import { createProducerFolder, type ProducerFolder, RESERVE_FILE } from './recovery/producer-folder.ts'
import { finishProducer } from './recovery/retired-producers.ts'
import type { Producer } from './shipping/producer.ts'
import type { Producers } from './shipping/producers.ts'

/** Folders of new producers, one a shard, and the disk space held for the running calls of all of them. */
export interface OwnFolders {
  readonly folders: readonly ProducerFolder[]
  readonly reserve: DiskReserve
}

/** Rejects when the journal directory is not usable. */
export async function createOwnFolders(journalDir: string, shards: number): Promise<OwnFolders> {
  const folders = Array.from({ length: shards }, () => createProducerFolder(journalDir))
  // One for all shards: what it holds room for, the running calls of the process, is the same however many there are.
  const reserve = new DiskReserve(join(folders[0]?.path ?? journalDir, RESERVE_FILE))
  await reserve.allocate()
  return { folders, reserve }
}

export interface OwnProducersOptions extends OwnFolders {
  readonly journalDir: string
  /** The full keys of the shards' streams. */
  readonly streams: readonly string[]
  readonly journals: JournalStore
  readonly producers: Producers
  readonly log: Logger
}

/** The producers of this process, one a shard, in the order of their shards. */
export class OwnProducers {
  readonly all: readonly Producer[]
  readonly ids: readonly string[]
  readonly #options: OwnProducersOptions
  readonly #first: Producer

  /** Throws when a journal cannot be written. */
  constructor(options: OwnProducersOptions) {
    const { folders, reserve, streams, journals, producers } = options
    this.#options = options
    this.all = folders.map(({ path, producer }, shard) => {
      const stream = streams[shard] ?? ''
      const journal = journals.create(path, stream, reserve)
      return producers.add({ id: producer, journal, stream, committedOffset: 0 })
    })
    this.ids = this.all.map(({ id }) => id)
    const [first] = this.all
    if (first === undefined) throw new Error('a ledger has at least one shard')
    this.#first = first
  }

  /** The one that numbers the client's records. */
  of(clientId: string): Producer {
    const { all } = this
    return all.length === 1 ? this.#first : (all[shardOf(clientId, all.length)] ?? this.#first)
  }

  /** Tells whether a disk refuses the journal of any of them: new calls of all shards are refused then. */
  get refuse(): boolean {
    for (const { journal } of this.all) if (journal.refuses) return true
    return false
  }

  get openCalls(): number {
    return this.#sum((producer) => producer.journal.openCalls)
  }

  /**
   * How many of their records the journals have, which survive power loss, are on the streams, are in Postgres, are
   * gone.
   */
  get progress() {
    return {
      last: this.#sum(({ journal }) => journal.last),
      synced: this.#sum(({ journal }) => journal.synced),
      sent: this.#sum(({ sent }) => sent),
      committedOffset: this.#sum(({ committedOffset }) => committedOffset),
      pruned: this.#sum(({ journal }) => journal.prunedTo),
    }
  }

  /** Commits and syncs what was handed in before. */
  async flush(): Promise<void> {
    await Promise.all(this.all.map(({ journal }) => journal.flush()))
  }

  /** Ends shipping, closes the journals, and deletes the folders of which nothing is needed. */
  async close(): Promise<void> {
    const { producers, folders } = this.#options
    const unused = this.all.map((own) => own.isEmpty && own.journal.openCalls === 0 && own.journal.isWritten)
    // All of them before any folder goes: the first one has the reserve.
    for (const own of this.all) await producers.remove(own)
    await Promise.all(folders.map((folder, shard) => this.#release(folder, shard, unused[shard] ?? false)))
  }

  async #release(folder: ProducerFolder, shard: number, isUnused: boolean): Promise<void> {
    const { journalDir, log } = this.#options
    const { journal, stream } = this.all[shard] ?? this.#first
    try {
      if (isUnused) await finishProducer(journalDir, { folder, last: journal.last, stream }, false)
    } catch (error) {
      log.warn(
        { event: 'journal.folder_not_deleted', err: error, producer: folder.producer },
        'the folder of an unused journal could not be deleted',
      )
    } finally {
      folder.lock.release()
    }
  }

  #sum(read: (producer: Producer) => number): number {
    return this.all.reduce((sum, producer) => sum + read(producer), 0)
  }
}

/**
 * The shard of a client's records, from 0 to `shards` - 1. All gateways must agree on it: a client lives in one
 * shard, so that no two shards wait for the same rows. The hash never changes.
 */
export function shardOf(clientId: string, shards: number): number {
  if (shards === 1) return 0
  // FNV-1a over UTF-16 code units, then the last step of MurmurHash3: FNV alone leaves low bits alike.
  let hash = 0x811c9dc5
  for (let index = 0; index < clientId.length; index += 1) {
    hash = Math.imul(hash ^ clientId.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % shards
}
