import { max, min, sum } from 'd3-array'
import { scaleBand, scaleLinear } from 'd3-scale'
import { stack, stackOffsetDiverging } from 'd3-shape'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { fullDay, shortDay } from './format.ts'

export interface Series {
  readonly label: string
  /** Where its name leads; absent: nowhere. */
  readonly href?: string
  /** One for each start. */
  readonly values: readonly number[]
}

interface ChartProps {
  readonly label: string
  /** The first UTC day of each place, YYYY-MM-DD. */
  readonly starts: readonly string[]
  /** Stacked from the axis on; the last may be what no other has. */
  readonly series: readonly Series[]
  /** Whether the last place goes on. */
  readonly isOpen: boolean
  readonly format: (value: number) => string
  readonly tick: (value: number) => string
}

const HEIGHT = 240
const MARGIN = { top: 12, right: 4, bottom: 26, left: 54 }
const COLORS = 10

/** Stacked bars over time. Arrow keys read single places; the table beside it has the same figures as text. */
export function Chart({ label, starts, series, isOpen, format, tick }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [pointed, setPointed] = useState<number | null>(null)
  useEffect(() => {
    if (frame.current === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  const places = starts.map((start, index) => ({ start, index }))
  const layers = stack<(typeof places)[number], number>()
    .keys(series.keys())
    .value(({ index }, key) => series[key]?.values[index] ?? 0)
    .offset(stackOffsetDiverging)(places)
  const x = scaleBand(
    starts.map((_, index) => index),
    [MARGIN.left, Math.max(MARGIN.left + 1, width - MARGIN.right)],
  ).paddingInner(starts.length > 120 ? 0 : 0.25)
  const ends = layers.flatMap((layer) => layer.flatMap((end) => [...end]))
  const y = scaleLinear(
    [Math.min(0, min(ends) ?? 0), max(ends) || 1],
    [HEIGHT - MARGIN.bottom, MARGIN.top],
  ).nice(4)
  const total = sum(series.flatMap(({ values }) => values))
  const move = (step: number) =>
    setPointed((at) =>
      Math.min(starts.length - 1, Math.max(0, (at ?? (step > 0 ? -1 : starts.length)) + step)),
    )
  const every = Math.max(1, Math.ceil(66 / Math.max(1, x.step())))
  return (
    <div class="chart" ref={frame}>
      {width > 0 && (
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: so that arrow keys come here
          tabIndex={0}
          aria-label={`${label}, ${shortDay(starts[0] ?? '')} to ${shortDay(starts.at(-1) ?? '')}: ${format(total)} in all. Arrow keys read single places.`}
          onPointerLeave={() => setPointed(null)}
          onBlur={() => setPointed(null)}
          onKeyDown={(event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
            if (step === undefined) return
            event.preventDefault()
            move(step)
          }}
        >
          {y.ticks(4).map((value) => (
            <g key={value} class="tick">
              <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(value)} y2={y(value)} />
              <text x={MARGIN.left - 8} y={y(value)} dy="0.32em">
                {tick(value)}
              </text>
            </g>
          ))}
          {places.map(({ index }) => (
            <g
              key={index}
              class={placeClass(index === pointed, isOpen && index === places.length - 1)}
              onPointerEnter={() => setPointed(index)}
            >
              <rect
                class="hit"
                x={(x(index) ?? 0) - (x.step() - x.bandwidth()) / 2}
                y={MARGIN.top}
                width={x.step()}
                height={HEIGHT - MARGIN.top - MARGIN.bottom}
              />
              {layers.map((layer) => {
                const [from = 0, to = 0] = layer[index] ?? []
                return to - from === 0 ? null : (
                  <rect
                    key={layer.key}
                    class={colorOf(layer.key)}
                    x={x(index)}
                    width={Math.max(1, x.bandwidth())}
                    y={Math.min(y(from), y(to))}
                    height={Math.abs(y(from) - y(to))}
                  />
                )
              })}
            </g>
          ))}
          {places
            .filter(({ index }) => (starts.length - 1 - index) % every === 0)
            .map(({ start, index }) => {
              const isLast = index === starts.length - 1
              return (
                <text
                  key={start}
                  class="date"
                  x={isLast ? width - MARGIN.right : (x(index) ?? 0) + x.bandwidth() / 2}
                  y={HEIGHT - 8}
                  text-anchor={isLast ? 'end' : 'middle'}
                >
                  {shortDay(start)}
                </text>
              )
            })}
        </svg>
      )}
      {pointed !== null && starts[pointed] !== undefined && (
        <Tip
          title={`${fullDay(starts[pointed])}${isOpen && pointed === starts.length - 1 ? ', so far' : ''}`}
          x={(x(pointed) ?? 0) + x.bandwidth() / 2}
          isBefore={pointed > starts.length / 2}
        >
          {series.map(({ label: name, values }, key) =>
            (values[pointed] ?? 0) === 0 ? null : (
              <div key={name}>
                <span>
                  <i class={colorOf(key)} />
                  <bdi>{name}</bdi>
                </span>
                <b>{format(values[pointed] ?? 0)}</b>
              </div>
            ),
          )}
          <div>
            <span>in all</span>
            <b>{format(sum(series, ({ values }) => values[pointed] ?? 0))}</b>
          </div>
        </Tip>
      )}
      {series.length > 1 && (
        <ul class="legend">
          {series.map(({ label: name, href }, key) => (
            <li key={name}>
              <i class={colorOf(key)} />
              {href === undefined ? (
                <bdi>{name}</bdi>
              ) : (
                <a href={href}>
                  <bdi>{name}</bdi>
                </a>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function placeClass(isPointed: boolean, isOpen: boolean): string {
  return `place${isPointed ? ' pointed' : ''}${isOpen ? ' open' : ''}`
}

function colorOf(key: number): string {
  return `c${key % COLORS}`
}

interface TipProps {
  readonly title: string
  readonly x: number
  readonly isBefore: boolean
  readonly children: ComponentChildren
}

function Tip({ title, x, isBefore, children }: TipProps) {
  return (
    <div
      class={isBefore ? 'tip before' : 'tip'}
      role="status"
      style={{ left: `${x + (isBefore ? -14 : 14)}px` }}
    >
      <strong>{title}</strong>
      {children}
    </div>
  )
}
