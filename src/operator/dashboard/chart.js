import { element, svg } from './elements.js'
import {
  count,
  exactUsd,
  fullDay,
  lastDays,
  milliseconds,
  roughly,
  shortDay,
  tickUsd,
  usd,
} from './format.js'

/** What bars may stand for. */
export const MEASURES = [
  {
    value: 'cost',
    title: 'Cost per UTC day',
    label: 'Cost',
    of: (row) => row.cost_usd,
    format: usd,
    tick: tickUsd,
  },
  {
    value: 'requests',
    title: 'Requests per UTC day',
    label: 'Requests',
    of: (row) => row.requests,
    format: roughly,
    tick: roughly,
  },
  {
    value: 'tokens',
    title: 'Tokens per UTC day',
    label: 'Tokens',
    of: (row) => row.total_tokens,
    format: roughly,
    tick: roughly,
  },
]

const HEIGHT = 220
const MARGIN = { top: 14, right: 4, bottom: 26, left: 58 }

/**
 * Bars for the last `days` days; days that are in the chosen period stand out.
 *
 * @param {HTMLElement} frame
 * @param {{ rows: Record<string, unknown>[], days: number, chosenDays: number, measure: typeof MEASURES[number] }} shown
 */
export function drawChart(frame, { rows, days, chosenDays, measure }) {
  // One that is not shown yet has no width.
  const width = frame.clientWidth || 320
  const byDay = new Map(rows.map((row) => [row.day, row]))
  const bars = lastDays(days).map((day) => ({
    day,
    row: byDay.get(day),
    value: measured(byDay.get(day), measure),
  }))
  const ticks = ticksUpTo(Math.max(...bars.map(({ value }) => value)))
  const top = ticks.at(-1)
  const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom }
  const step = inner.width / days
  const barWidth = Math.max(2, Math.min(26, step - Math.max(2, step * 0.25)))
  const y = (value) => MARGIN.top + inner.height * (1 - value / top)

  const tip = element('div', { class: 'tip', hidden: true, role: 'status' })
  const groups = bars.map(({ day, value }, index) => {
    const left = MARGIN.left + index * step
    const isChosen = index >= days - chosenDays
    const bar = barPath(
      left + (step - barWidth) / 2,
      y(value),
      barWidth,
      MARGIN.top + inner.height - y(value),
    )
    return svg(
      'g',
      { class: isChosen ? 'day chosen' : 'day', 'data-day': day, onpointerenter: () => point(index) },
      svg('rect', { class: 'hit', x: left, y: MARGIN.top, width: step, height: inner.height }),
      value > 0 ? svg('path', { class: 'bar', d: bar }) : null,
    )
  })

  let pointed = -1
  function point(index) {
    groups[pointed]?.classList.remove('pointed')
    pointed = index
    const found = bars[index]
    tip.hidden = found === undefined
    if (found === undefined) return
    groups[index].classList.add('pointed')
    tip.replaceChildren(...tipContent(found))
    const centre = MARGIN.left + (index + 0.5) * step
    const isRight = centre > width / 2
    tip.style.left = `${centre + (isRight ? -1 : 1) * (step / 2 + 8)}px`
    tip.classList.toggle('before', isRight)
  }

  const total = bars.reduce((sum, { value }) => sum + value, 0)
  const drawing = svg(
    'svg',
    {
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
      tabindex: 0,
      role: 'img',
      'aria-label': `${measure.title}, last ${days} days: ${measure.format(total)} in all. Arrow keys read single days.`,
      onpointerleave: () => point(-1),
      onblur: () => point(-1),
      onkeydown: (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
        if (move === undefined) return
        event.preventDefault()
        point(pointed < 0 ? days - 1 : Math.min(days - 1, Math.max(0, pointed + move)))
      },
    },
    ...ticks.map((value) =>
      svg(
        'g',
        { class: 'tick' },
        svg('line', { x1: MARGIN.left, x2: width - MARGIN.right, y1: y(value), y2: y(value) }),
        svg('text', { x: MARGIN.left - 8, y: y(value), dy: '0.32em' }, measure.tick(value)),
      ),
    ),
    ...groups,
    ...bars.flatMap(({ day }, index) => {
      const every = Math.ceil(64 / step)
      if ((days - 1 - index) % every !== 0) return []
      const isLast = index === days - 1
      const x = isLast ? MARGIN.left + inner.width : MARGIN.left + (index + 0.5) * step
      const anchor = isLast ? 'end' : 'middle'
      return [svg('text', { class: 'date', x, y: HEIGHT - 8, 'text-anchor': anchor }, shortDay(day))]
    }),
  )
  frame.replaceChildren(drawing, tip)
}

function measured(row, measure) {
  return row === undefined ? 0 : Math.max(0, measure.of(row))
}

function tipContent({ day, row }) {
  const line = (label, text) => element('div', {}, element('span', {}, label), element('b', {}, text))
  const head = element('strong', {}, fullDay(day))
  if (row === undefined) return [head, element('div', {}, 'nothing was used')]
  return [
    head,
    line('Cost', exactUsd(row.cost_usd)),
    line('Requests', count(row.requests)),
    line('Input tokens', count(row.input_tokens)),
    line('Output tokens', count(row.output_tokens)),
    line('Average latency', milliseconds(row.avg_latency_ms)),
  ]
}

/** A bar that is round at its top. */
function barPath(x, y, width, height) {
  const radius = Math.min(3, width / 2, height)
  return `M${x},${y + height}v${radius - height}q0,${-radius} ${radius},${-radius}h${width - 2 * radius}q${radius},0 ${radius},${radius}v${height - radius}z`
}

/** Two to four round numbers from 0, the last at or above `highest`. */
function ticksUpTo(highest) {
  if (highest <= 0) return [0, 1]
  const power = 10 ** Math.floor(Math.log10(highest / 3))
  const size = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one * 4 >= highest)
  return Array.from({ length: Math.ceil(highest / size - 1e-9) + 1 }, (_, index) => index * size)
}
