import type { Logger } from '../../lib/logger.ts'
import type { Producer } from '../shipping/producer.ts'
import type { Producers } from '../shipping/producers.ts'
import type { ProducerFolder } from './producer-folder.ts'
import { finishProducer } from './retired-producers.ts'

/** A dead producer that this process manages. */
export interface AdoptedProducer {
  readonly producer: Producer
  readonly folder: ProducerFolder
  /** Something in its journal could not be read: in the end its folder is kept. */
  readonly damaged: boolean
}

export interface AdoptedProducersOptions {
  readonly journalDir: string
  /** Ships the adopted journals. */
  readonly producers: Producers
  readonly log: Logger
}

/** The dead producers that this process manages, until nothing in their folders is needed. */
export class AdoptedProducers {
  readonly #options: AdoptedProducersOptions
  readonly #adopted = new Map<string, AdoptedProducer>()
  #corrupt = 0

  constructor(options: AdoptedProducersOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#adopted.size
  }

  get folders(): readonly ProducerFolder[] {
    return this.all.map(({ folder }) => folder)
  }

  /** How many folders of the journal directory are quarantined, by any process. */
  get corrupt(): number {
    return this.#corrupt
  }

  set corrupt(folders: number) {
    this.#corrupt = folders
  }

  get all(): readonly AdoptedProducer[] {
    return [...this.#adopted.values()]
  }

  has(producer: string): boolean {
    return this.#adopted.has(producer)
  }

  add(adopted: AdoptedProducer): void {
    this.#adopted.set(adopted.producer.id, adopted)
  }

  /** Closes the journal of a producer of which nothing is needed, and removes its folder. */
  async finish({ producer, folder, damaged }: AdoptedProducer): Promise<void> {
    await producer.journal.shrink()
    await this.#options.producers.remove(producer)
    this.#adopted.delete(producer.id)
    const counted = Math.max(producer.journal.last, producer.committedOffset)
    await this.finishFolder(folder, counted, producer.stream, damaged)
  }

  /**
   * Nothing in the folder is needed: deletes it, or quarantines it under another name. Its lock is held to the end.
   *
   * @param counted up to where Postgres has its records.
   */
  async finishFolder(folder: ProducerFolder, counted: number, stream: string, keep: boolean): Promise<void> {
    const { journalDir, log } = this.#options
    const { producer, lock } = folder
    try {
      const path = await finishProducer(journalDir, { folder, last: counted, stream }, keep)
      if (path === null) return
      log.error(
        { event: 'adoption.journal_quarantined', producer, path },
        'a damaged journal was renamed and kept for inspection',
      )
      this.#corrupt++
    } finally {
      lock.release()
    }
  }

  /** Closes the journal of one. The next adopter finds it. */
  async release({ producer, folder }: AdoptedProducer): Promise<void> {
    await this.#options.producers.remove(producer)
    this.#adopted.delete(producer.id)
    folder.lock.release()
  }

  /** Closes all journals. */
  async releaseAll(): Promise<void> {
    for (const adopted of this.all) await this.release(adopted)
  }
}
