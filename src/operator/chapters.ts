import { LIMITS } from '../limits/operations/chapter.ts'
import type { AnyOperation, Chapter } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'

/** What the operations of all chapters use. */
export type AllPorts = Ports

/** Every chapter that declares operations, in the order of the command line's help. */
export const CHAPTERS: readonly Chapter<AllPorts>[] = [LIMITS]

export const OPERATIONS: readonly AnyOperation<AllPorts>[] = CHAPTERS.flatMap(({ operations }) => operations)
