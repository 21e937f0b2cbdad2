import type { Cell } from '../cells.ts'
import type { Rig } from '../rig.ts'

/** How a run is to be made. */
export interface RunOptions {
  readonly rounds: number
  /** Of the usual number of calls and seconds; less to see only that all works. */
  readonly scale: number
  /** Whether the cell of this name is to be measured. */
  readonly isAsked: (cell: string) => boolean
}

/** A column of a part's table. */
export interface Column {
  /** A figure, or the title of a comparison. */
  readonly figure: string
  readonly title: string
  readonly digits: number
  /** What stands behind a median: the lowest and the highest figure, which is usual, or its confidence interval. */
  readonly around?: 'range' | 'interval'
}

/** One part of the bench: what it measures, and how its table looks. */
export interface Part {
  /** As `--only` names it. */
  readonly name: string
  readonly title: string
  readonly about: string
  readonly columns: readonly Column[]
  readonly measure: (rig: Rig, options: RunOptions) => Promise<readonly Cell[]>
}
