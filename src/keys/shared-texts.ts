import type { KeyRecord } from './key-records.ts'

/** Labels that many keys have, such as `default`, are few. Others would only fill the map. */
const MAX_LABELS = 1_000

/** Keeps what many keys have in common once: their client's id and name, labels, and lists of models. */
export class SharedTexts {
  readonly #clients = new Map<string, { readonly clientId: string; readonly clientName: string }>()
  readonly #labels = new Map<string, string>()
  readonly #models = new Map<string, readonly string[]>()

  /** The same record, with texts that were met before in place of its own. */
  share(record: KeyRecord): KeyRecord {
    const { clientId, clientName, models } = record
    let client = this.#clients.get(clientId)
    if (client === undefined || client.clientName !== clientName) {
      client = { clientId, clientName }
      this.#clients.set(clientId, client)
    }
    return {
      ...record,
      clientId: client.clientId,
      clientName: client.clientName,
      keyName: known(this.#labels, record.keyName, record.keyName),
      models: models === null ? null : known(this.#models, models.join(' '), models),
    }
  }
}

function known<T>(all: Map<string, T>, name: string, value: T): T {
  const found = all.get(name)
  if (found !== undefined) return found
  if (all.size < MAX_LABELS) all.set(name, value)
  return value
}
