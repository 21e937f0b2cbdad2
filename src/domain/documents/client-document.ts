/** The fields of a client that operators are shown. */
export interface ListedClient {
  readonly id: string
  readonly name: string
  readonly disabled: boolean
  readonly createdAt: Date
}

/** A client as JSON, the same on the command line and over HTTP. */
export function renderClient({ id, name, disabled, createdAt }: ListedClient) {
  return { id, name, disabled, created_at: createdAt.toISOString() }
}
