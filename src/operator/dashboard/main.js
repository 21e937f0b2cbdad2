import { ask, clearToken, hasToken, keepToken, NotSignedIn } from './api.js'
import { drawChart, MEASURES } from './chart.js'
import { byId, choice, element } from './elements.js'
import { count, exactUsd, milliseconds, plural, roughly, usd } from './format.js'
import { drawChecks, drawLedger, drawUnpriced, lacksPrice } from './health.js'
import { drawUsage, GROUPS } from './tables.js'

const PERIODS = [
  { value: 1, label: 'Today' },
  { value: 7, label: '7 days' },
  { value: 30, label: '30 days' },
]
const CHART_DAYS = 30
const REFRESH_MS = 10_000
/** The examination opens connections of its own, so it is made less often. */
const CHECKS_EVERY_MS = 60_000

/** What the checks need. */
const chosen = { days: 30, measure: MEASURES[0], group: GROUPS[0] }
/** What was answered last; `null`: nothing yet. */
let figures = null
let examination = null
let examinedAt = Number.NEGATIVE_INFINITY
let timer = 0
/** Of the newest request: a slower answer to an older one is dropped. */
let asked = 0

async function load() {
  const { days, group } = chosen
  const [first, ...others] = PERIODS
  const total = await ask('usage', { days: first.value }) // alone: a wrong token is reported once
  const [totals, byDay, grouped, unpriced, ledger] = await Promise.all([
    Promise.all(others.map(({ value }) => ask('usage', { days: value }))),
    ask('usage', { days: CHART_DAYS, by: 'day' }),
    ask('usage', { days, by: group.by }),
    ask('unpriced', { days }),
    ask('ledger'),
  ])
  return { totals: [total, ...totals], byDay, grouped, unpriced, ledger, days, group }
}

/** Asks for everything, shows it, and asks again later while the page can be seen. */
async function refresh() {
  clearTimeout(timer)
  asked += 1
  const query = asked
  try {
    const answer = await load()
    if (query !== asked) return
    figures = answer
    showProblem(null)
    byId('updated').textContent = `as of ${new Date().toLocaleTimeString()}`
    draw()
    await runChecks()
  } catch (error) {
    if (query !== asked) return
    if (error instanceof NotSignedIn) {
      signOut('That is not the admin token of this gateway.')
      return
    }
    showProblem(error instanceof TypeError ? 'The gateway does not answer.' : error.message)
  }
  if (query === asked && !document.hidden) timer = setTimeout(refresh, REFRESH_MS)
}

async function runChecks() {
  if (performance.now() - examinedAt < CHECKS_EVERY_MS) return
  examinedAt = performance.now()
  examination = await ask('doctor')
  drawChecks(byId('checks'), examination)
}

function draw() {
  if (figures === null) return
  drawTotals()
  drawMeasures()
  const chart = {
    rows: figures.byDay,
    days: CHART_DAYS,
    chosenDays: chosen.days,
    measure: chosen.measure,
  }
  whenChanged('chart', [chart, byId('chart').clientWidth], () => drawChart(byId('chart'), chart))
  choice(
    byId('groups'),
    GROUPS.map(({ value, heading }) => ({ value, content: [heading] })),
    chosen.group.value,
    (value) => {
      chosen.group = GROUPS.find((group) => group.value === value)
      draw()
      refresh()
    },
  )
  byId('usage-title').textContent =
    `Usage, ${PERIODS.find(({ value }) => value === figures.days).label.toLowerCase()}`
  const unpriced = new Set(figures.unpriced.filter(lacksPrice).map(({ model }) => model))
  whenChanged('usage', [figures.grouped, figures.group, figures.unpriced], () =>
    drawUsage(byId('usage'), figures.grouped, figures.group, unpriced),
  )
  drawUnpriced(byId('unpriced'), figures.unpriced)
  drawLedger(byId('ledger'), figures.ledger)
  byId('figures').hidden = false
}

const drawn = new Map()

/** Draws a part again only where it would differ, so that what is pointed at or focused stays. */
function whenChanged(part, shown, drawPart) {
  const state = JSON.stringify(shown)
  if (drawn.get(part) === state) return
  drawn.set(part, state)
  drawPart()
}

function drawTotals() {
  const options = PERIODS.map(({ value, label }, index) => {
    const total = figures.totals[index]
    return {
      value,
      content: [
        element('span', { class: 'label' }, label),
        element('span', { class: 'amount', title: exactUsd(total.cost_usd) }, usd(total.cost_usd)),
        element('span', { class: 'facts' }, plural(total.requests, 'request')),
        element(
          'span',
          { class: 'facts', title: `${count(total.input_tokens)} in, ${count(total.output_tokens)} out` },
          `${roughly(total.input_tokens)} tokens in · ${roughly(total.output_tokens)} out`,
        ),
        element('span', { class: 'facts' }, `${milliseconds(total.avg_latency_ms)} on average`),
      ],
    }
  })
  choice(byId('totals'), options, chosen.days, (value) => {
    chosen.days = value
    draw()
    refresh()
  })
}

function drawMeasures() {
  byId('chart-title').textContent = chosen.measure.title
  choice(
    byId('measures'),
    MEASURES.map(({ value, label }) => ({ value, content: [label] })),
    chosen.measure.value,
    (value) => {
      chosen.measure = MEASURES.find((measure) => measure.value === value)
      draw()
    },
  )
}

/** Figures that are shown stay, with the time they are of. */
function showProblem(problem) {
  byId('problem').hidden = problem === null
  byId('problem').textContent = problem === null ? '' : `${problem} Trying again.`
}

function signIn() {
  byId('sign-in').hidden = true
  byId('sign-out').hidden = false
  examinedAt = Number.NEGATIVE_INFINITY
  refresh()
}

function signOut(problem = '') {
  asked += 1
  clearTimeout(timer)
  clearToken()
  figures = null
  showProblem(null)
  byId('figures').hidden = true
  byId('sign-out').hidden = true
  byId('updated').textContent = ''
  byId('sign-in-problem').textContent = problem
  byId('sign-in').hidden = false
  byId('token').value = ''
  byId('token').focus()
}

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  keepToken(byId('token').value.trim())
  byId('sign-in-problem').textContent = ''
  signIn()
})
byId('sign-out').addEventListener('click', () => signOut())
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && hasToken()) refresh()
})
new ResizeObserver(() => draw()).observe(byId('chart'))

if (hasToken()) signIn()
else signOut()
