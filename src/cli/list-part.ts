import type { PageOrder } from '../keys/listed-page.ts'
import type { Cli } from './cli.ts'

/** Options of a command that may show a part of a list. */
export interface ListOptions {
  readonly limit?: number
  readonly cursor?: string
}

export function pageOrder({ limit, cursor }: ListOptions): PageOrder {
  return { limit: limit ?? null, cursor: cursor ?? null }
}

/** Says how to go on behind the part that was printed; `next`: its cursor, `null`: nothing is behind it. */
export function sayNext(cli: Cli, next: string | null): void {
  if (next !== null) cli.remark(`there is more behind these: --cursor ${next}`)
}
