import { inOrderOf, type Spread, spreadOf } from '../stand/figures.ts'
import type { Target } from './targets/target.ts'

/** One round's figures of one target. */
export type Figures = Readonly<Record<string, number | null>>

/** A figure of one target beside the same of another one, in the same round. */
export interface Comparison {
  readonly figure: string
  readonly with: string
  readonly by: 'ratio' | 'difference'
}

/** One thing that is measured on several targets in turn. */
export interface CellPlan {
  readonly name: string
  readonly targets: readonly Target[]
  readonly rounds: number
  /** Whether each target is to do it once before it is measured, because it has done nothing of the kind yet. */
  readonly isNew: boolean
  readonly measure: (target: Target) => Promise<Figures>
  readonly comparisons: readonly Comparison[]
}

/** What came of it. Of each figure, and of each comparison by its title: the spread over the rounds. */
export interface Cell {
  readonly name: string
  readonly rounds: number
  readonly targets: Readonly<Record<string, Readonly<Record<string, Spread | null>>>>
}

/** `cpuUs / bare`, `p50 - origin`: where a comparison stands among the figures. */
export function titleOf({ figure, with: other, by }: Comparison): string {
  return `${figure} ${by === 'ratio' ? '/' : '-'} ${other}`
}

/** Measures all targets in rounds, in another order each. */
export async function measureCell(plan: CellPlan): Promise<Cell> {
  const byTarget = new Map<string, Figures[]>(plan.targets.map(({ name }) => [name, []]))
  if (plan.isNew) for (const target of plan.targets) await plan.measure(target)
  for (let round = 0; round < plan.rounds; round += 1)
    for (const target of inOrderOf(plan.targets, round))
      byTarget.get(target.name)?.push(await plan.measure(target))
  return summarise(plan, byTarget)
}

export function summarise(
  { name, rounds, comparisons }: Pick<CellPlan, 'name' | 'rounds' | 'comparisons'>,
  byTarget: ReadonlyMap<string, readonly Figures[]>,
): Cell {
  const targets = [...byTarget].map(([target, measured]) => {
    const titles = new Set(measured.flatMap((figures) => Object.keys(figures)))
    const figures = [...titles].map((title) => [title, spreadOf(measured.map((one) => one[title] ?? null))])
    const compared = comparisons
      .filter((comparison) => comparison.with !== target)
      .map((comparison) => {
        const others = byTarget.get(comparison.with) ?? []
        const values = measured.map((one, round) => compare(one, others[round], comparison))
        return [titleOf(comparison), spreadOf(values)]
      })
    return [target, Object.fromEntries([...figures, ...compared])]
  })
  return { name, rounds, targets: Object.fromEntries(targets) }
}

function compare(one: Figures, other: Figures | undefined, { figure, by }: Comparison): number | null {
  const [mine, theirs] = [one[figure] ?? null, other?.[figure] ?? null]
  if (mine === null || theirs === null) return null
  return by === 'ratio' ? mine / theirs : mine - theirs
}
