interface ClientQueue<T> {
  readonly items: { readonly item: T; readonly bytes: number }[]
  bytes: number
}

/**
 * Items that wait for one server, one queue per client. Clients are served in turn, each in its own order.
 */
export class FairQueue<T> {
  /** In serving order; a client without items is absent. */
  readonly #queues = new Map<string, ClientQueue<T>>()
  #length = 0
  #bytes = 0

  get length(): number {
    return this.#length
  }

  /** Size of all items together, as passed to {@link push}. */
  get bytes(): number {
    return this.#bytes
  }

  /** The items of one client. */
  waitingOf(clientId: string): { readonly length: number; readonly bytes: number } {
    const queue = this.#queues.get(clientId)
    return { length: queue?.items.length ?? 0, bytes: queue?.bytes ?? 0 }
  }

  push(clientId: string, item: T, bytes: number): void {
    let queue = this.#queues.get(clientId)
    if (queue === undefined) {
      queue = { items: [], bytes: 0 }
      this.#queues.set(clientId, queue)
    }
    queue.items.push({ item, bytes })
    queue.bytes += bytes
    this.#length += 1
    this.#bytes += bytes
  }

  /** Takes the first item of the client whose turn it is, and moves that client to the end. */
  shift(): T | undefined {
    const [next] = this.#queues
    if (next === undefined) return undefined
    const [clientId, queue] = next
    this.#queues.delete(clientId)
    const first = queue.items.shift()
    if (queue.items.length > 0) this.#queues.set(clientId, queue)
    return this.#taken(queue, first)
  }

  /** Takes the newest item of the client with the most items. */
  popFromLongest(): T | undefined {
    return this.#popFromMost((queue) => queue.items.length)
  }

  /** Takes the newest item of the client with the most bytes. */
  popFromLargest(): T | undefined {
    return this.#popFromMost((queue) => queue.bytes)
  }

  #popFromMost(measure: (queue: ClientQueue<T>) => number): T | undefined {
    let most: [string, ClientQueue<T>] | null = null
    for (const entry of this.#queues) {
      if (most === null || measure(entry[1]) > measure(most[1])) most = entry
    }
    if (most === null) return undefined
    const [clientId, queue] = most
    const last = queue.items.pop()
    if (queue.items.length === 0) this.#queues.delete(clientId)
    return this.#taken(queue, last)
  }

  #taken(queue: ClientQueue<T>, entry: ClientQueue<T>['items'][number] | undefined): T | undefined {
    if (entry === undefined) return undefined
    queue.bytes -= entry.bytes
    this.#bytes -= entry.bytes
    this.#length -= 1
    return entry.item
  }
}
