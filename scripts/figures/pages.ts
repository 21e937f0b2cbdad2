import {
  renderBillion,
  renderCells,
  renderExport,
  renderPrices,
  renderQueries,
  renderRollUp,
  renderSizing,
  renderSoak,
} from './of-growth.ts'
import {
  renderConnections,
  renderEvents,
  renderJson,
  renderLatency,
  renderOpenStreams,
  renderParts,
  renderStart,
  renderStreams,
  renderSummary,
} from './of-overhead.ts'

/** Pages that quote the results of benches. */
export const PAGES = ['README.md', 'docs/benchmarks.md', 'docs/scaling.md'] as const

/** What stands between `<!-- figures:NAME -->` and `<!-- /figures -->`, from `bench/results`. */
export const FIGURES: Readonly<Record<string, () => readonly string[]>> = {
  'overhead:parts': renderParts,
  'overhead:connections': renderConnections,
  'overhead:json': renderJson,
  'overhead:streams': renderStreams,
  'overhead:events': renderEvents,
  'overhead:open-streams': renderOpenStreams,
  'overhead:latency': renderLatency,
  'overhead:start': renderStart,
  'overhead:summary': renderSummary,
  'rollup:scale': renderRollUp,
  'rollup:sizing': renderSizing,
  'rollup:billion': renderBillion,
  'rollup:cells': renderCells,
  'usage:queries': renderQueries,
  'usage:export': renderExport,
  'soak:hour': renderSoak,
  'prices:agreed': renderPrices,
}

const MARKED = /^<!-- figures:([\w:-]+) -->$[\s\S]*?^<!-- \/figures -->$/gm

/**
 * A page with its figures as the results have them now.
 *
 * @throws where a marker names figures that there are none of, or results lack one
 */
export function withFigures(page: string): string {
  return page.replace(MARKED, (_, name: string) => {
    const render = FIGURES[name]
    if (render === undefined) throw new Error(`no figures are called ${name}`)
    return [`<!-- figures:${name} -->`, '', ...render(), '', '<!-- /figures -->'].join('\n')
  })
}

/** The figures that a page quotes, by name. */
export function figuresOf(page: string): string[] {
  return [...page.matchAll(MARKED)].map(([, name = '']) => name)
}
