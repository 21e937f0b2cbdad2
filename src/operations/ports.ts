import type { MemberPolicy } from '../domain/member-policy.ts'
import type { Postgres } from '../store/connection/postgres.ts'

/** What every operation may use. A chapter that needs more extends it. */
export interface Ports {
  readonly pool: Postgres
  /** Runs queries over many rows, where that delays no client: on the replica, where there is one. */
  read<Result>(work: (pool: Postgres) => Promise<Result>): Promise<Result>
  /** Wall clock, milliseconds since 1970. */
  now(): number
  /**
   * Where long work says how far it has come.
   *
   * @param unit What is counted: `rows`.
   */
  progress(unit: string): Progress
  /** Whether the asker holds the answer with this tag, so that it need not be read again. */
  holds(tag: string): boolean
  /** Says one thing beside the answer to a person; programs see it in the answer. */
  remark(text: string): void
}

/** Says how far long work has come. */
export interface Progress {
  /** @param done So far, in all; `where` names the place, such as a day. */
  at(where: string, done: number): void
}

export const NO_PROGRESS: Progress = { at() {} }

/** What operations of roles of clients use: each is about the client that asks, or about members of a group that it owns. */
export interface ClientPorts extends Ports {
  readonly client: AskingClient
}

/** A client that asks about itself. */
export interface AskingClient {
  readonly id: string
  readonly name: string
  /** The key that it signed in with; `null`: an operator let it in, or it is a member. */
  readonly key: { readonly id: string; readonly name: string } | null
  /** The models of that key, names or `prefix*`; `null`: every one. */
  readonly models: readonly string[] | null
  readonly tokenEndsAt: Date
  /** `null`: its token can only read. */
  readonly member: AskingMember | null
}

/** A member of a group that signed in with the company's account. */
export interface AskingMember {
  /** The one that it is in now. */
  readonly group: { readonly id: string; readonly name: string }
  readonly isOwner: boolean
  /** Keys that it made end then, unless it signs in before. */
  readonly keysEndAt: Date
  readonly policy: MemberPolicy
}
