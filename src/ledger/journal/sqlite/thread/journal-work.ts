import { Worker } from 'node:worker_threads'
import type { Prepared } from '../../journal-store.ts'

/** What the thread is to do: make ready the journal in the folder `path`. */
export interface ThreadRequest {
  readonly id: number
  readonly task: 'prepare'
  readonly path: string
}

export type ThreadReply =
  | { readonly id: number; readonly task: 'prepare'; readonly prepared: Prepared }
  | { readonly id: number; readonly task: 'failed'; readonly message: string }

interface Waiting {
  resolve(reply: ThreadReply): void
  reject(error: Error): void
}

/**
 * Work on journals that blocks on the disk, one task after the other, in a thread that starts with the first task. A
 * task that fails, or whose thread dies, rejects; the next one gets a new thread.
 */
export class JournalWork {
  #thread: JournalThread | null = null

  /** Makes the journal in a dead producer's folder fit to be opened. */
  async prepare(folder: string): Promise<Prepared> {
    const reply = await this.#current().ask((id) => ({ id, task: 'prepare', path: folder }))
    if (reply.task !== 'prepare') throw new Error(`unexpected answer ${reply.task}`)
    return reply.prepared
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate()
  }

  #current(): JournalThread {
    if (this.#thread === null || this.#thread.ended) this.#thread = new JournalThread()
    return this.#thread
  }
}

class JournalThread {
  readonly #worker = new Worker(new URL('./journal-thread.ts', import.meta.url), { execArgv: [] })
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1
  #ended = false

  constructor() {
    this.#worker.unref()
    this.#worker.on('message', (reply: ThreadReply) => this.#settle(reply))
    this.#worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    this.#worker.on('exit', () => this.#end(new Error('the journal thread ended')))
  }

  get ended(): boolean {
    return this.#ended
  }

  ask(build: (id: number) => ThreadRequest): Promise<ThreadReply> {
    const { promise, resolve, reject } = Promise.withResolvers<ThreadReply>()
    const request = build(this.#nextId++)
    this.#waiting.set(request.id, { resolve, reject })
    this.#worker.postMessage(request)
    return promise
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  #settle(reply: ThreadReply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (reply.task === 'failed') waiting?.reject(new Error(reply.message))
    else waiting?.resolve(reply)
  }

  #end(error: Error): void {
    this.#ended = true
    for (const waiting of this.#waiting.values()) waiting.reject(error)
    this.#waiting.clear()
  }
}
