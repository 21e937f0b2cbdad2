/** How many of something each client has. */
export class CountsByClient {
  readonly #of = new Map<string, number>()
  /** Of all clients together. */
  size = 0

  of(clientId: string): number {
    return this.#of.get(clientId) ?? 0
  }

  add(clientId: string): void {
    this.size += 1
    this.#of.set(clientId, this.of(clientId) + 1)
  }

  drop(clientId: string): void {
    this.size -= 1
    const left = this.of(clientId) - 1
    if (left > 0) this.#of.set(clientId, left)
    else this.#of.delete(clientId)
  }
}
