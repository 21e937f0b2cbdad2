/** A query of a panel: PromQL, in which Grafana puts `$__rate_interval` and `$__range`. */
export interface Query {
  readonly expr: string
  /** Names the line; `{{label}}` stands for the label's value. */
  readonly legend: string
}

export interface Panel {
  readonly title: string
  /** `number`: the last value, large. `lines`: over time. `bars`: the last value of each series. */
  readonly show: 'number' | 'lines' | 'bars'
  /** Of Grafana: `s`, `bytes`, `percentunit`, `currencyUSD`, `short`, `reqps`. */
  readonly unit: string
  readonly queries: readonly Query[]
  /** What it means, where the title says too little. */
  readonly help?: string
  /** From here on a number is red. */
  readonly redFrom?: number
}

export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

export interface Dashboard {
  /** Stays for good: links have it. */
  readonly uid: string
  readonly title: string
  readonly rows: readonly Row[]
}

const TYPES = { number: 'stat', lines: 'timeseries', bars: 'bargauge' } as const
const WIDTH = 24
const HEIGHTS = { number: 4, lines: 8, bars: 8 } as const
const SCHEMA_VERSION = 41

/** The dashboard as Grafana reads it. */
export function renderDashboard({ uid, title, rows }: Dashboard): string {
  const panels: object[] = []
  let y = 0
  for (const row of rows) {
    panels.push({
      ...{ id: panels.length + 1, type: 'row', title: row.title, collapsed: false, panels: [] },
      gridPos: { h: 1, w: WIDTH, x: 0, y },
    })
    y += 1
    const w = Math.floor(WIDTH / Math.min(row.panels.length, row.panels[0]?.show === 'number' ? 8 : 3))
    let x = 0
    let h = 0
    for (const panel of row.panels) {
      if (x + w > WIDTH) {
        x = 0
        y += h
        h = 0
      }
      panels.push(panelOf(panel, panels.length + 1, { x, y, w, h: HEIGHTS[panel.show] }))
      x += w
      h = Math.max(h, HEIGHTS[panel.show])
    }
    y += h
  }
  const dashboard = {
    uid,
    title,
    tags: ['tallygate'],
    timezone: 'utc',
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus', current: {} },
      ],
    },
    panels,
  }
  return `${JSON.stringify(dashboard, null, 2)}\n`
}

function panelOf(panel: Panel, id: number, gridPos: object): object {
  const { title, show, unit, queries, help, redFrom } = panel
  const datasource = { type: 'prometheus', uid: '$' + '{datasource}' }
  const steps = [
    { color: 'green', value: null },
    ...(redFrom === undefined ? [] : [{ color: 'red', value: redFrom }]),
  ]
  return {
    id,
    type: TYPES[show],
    title,
    ...(help === undefined ? {} : { description: help }),
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    options: show === 'lines' ? { legend: { displayMode: 'list', placement: 'bottom' } } : {},
    targets: queries.map(({ expr, legend }, index) => ({
      ...{ refId: String.fromCharCode(65 + index), datasource, expr, legendFormat: legend },
      ...(show === 'lines' ? { range: true } : { instant: true }),
    })),
  }
}
