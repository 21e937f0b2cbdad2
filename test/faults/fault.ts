import type { World } from './world.ts'

type Env = Readonly<Record<string, string>>

/** Where people look. */
export type Surface = 'doctor' | '/readyz' | 'alert' | 'start'

/** Something that goes wrong in production. */
export interface Fault {
  readonly name: string
  /** Of the gateway and of the worker, above what the world sets. */
  readonly gateway?: Env | (() => Promise<Env>)
  readonly worker?: Env
  /** No calls are made: it is named all the same. */
  readonly isQuiet?: true
  /** Brings it about. A text that it gives was printed by a process that could not start. */
  begin(world: World): Promise<unknown>
  /** The line of `doctor` that names it; `null`: it is named elsewhere. */
  readonly line: string | null
  /** What the line, or what else names it, says: the fault, and what repairs it. */
  readonly says: RegExp
  readonly advice: RegExp
  /** The exit code stays 0 where nothing is refused or counted late. */
  readonly state?: 'wrong' | 'note'
  /** The word of `degraded`. */
  readonly item?: string
  /** The kind of the alert. */
  readonly alert?: string
  /** Does what is printed. */
  repair(world: World): Promise<unknown>
  /** What has to hold behind it, beside that all is well again. */
  after?(world: World): Promise<unknown>
}

/** Within this time of the first call that meets it, it is named where people look first. */
export const NAMED_WITHIN_MS = 15_000
/** By then every surface names it: a run of `doctor` alone takes seconds where the machine has other work. */
export const NAMED_EVERYWHERE_WITHIN_MS = 30_000
/** Within this time of the repair, nothing is wrong. */
export const WELL_WITHIN_MS = 30_000
