import { ask, clearToken, hasToken, keepToken } from './api.js'
import { drawChart, MEASURES } from './chart.js'
import { byId, choice, element } from './elements.js'
import { count, exactUsd, milliseconds, plural, roughly, usd } from './format.js'
import { drawChecks, drawLedger, drawUnpriced, lacksPrice } from './health.js'
import { drawBudgets, drawRefused, SHOWN_BUDGETS } from './limits.js'
import { createRounds, sentenceOf } from './rounds.js'
import { drawUsage, GROUPS } from './tables.js'

const PERIODS = [
  { value: 1, label: 'Today' },
  { value: 7, label: '7 days' },
  { value: 30, label: '30 days' },
]
const CHART_DAYS = 30
/** Keys may be a million: those that cost most are asked for. */
const MOST_ROWS = 500
/** The examination opens connections of its own, so it is made less often. */
const CHECKS_EVERY_MS = 15_000

/** What the checks need. */
const chosen = { days: 30, measure: MEASURES[0], group: GROUPS[0] }
/** What was answered last, by part; absent: nothing yet. */
let figures = {}
let checkedAt = Number.NEGATIVE_INFINITY

/** What the page shows, each with its query. The first one alone tells a wrong token. */
function listParts() {
  const { days, group } = chosen
  const isDue = performance.now() - checkedAt >= CHECKS_EVERY_MS
  return [
    ...PERIODS.map(({ value, label }) => part(label, value, () => ask('usage', { days: value }))),
    part('Usage', 'grouped', async () => ({
      rows: await ask('usage', { days, by: group.by, limit: MOST_ROWS }),
      days,
      group,
    })),
    part('Chart', 'byDay', () => ask('usage', { days: CHART_DAYS, by: 'day' })),
    part('Calls without a cost', 'unpriced', () => ask('unpriced', { days })),
    part('Limits', 'limits', () => ask('limits', { sort: 'used', limit: SHOWN_BUDGETS + 1 })),
    part('Refused calls', 'refusals', () => ask('refused', { days, group_by: 'client,reason' })),
    part('Ledger', 'ledger', () => ask('ledger')),
    ...(isDue ? [part('Checks', 'checks', askDoctor)] : []),
  ]
}

function askDoctor() {
  checkedAt = performance.now()
  return ask('doctor')
}

function part(name, key, ask) {
  return {
    name,
    ask,
    take(answer) {
      figures[key] = answer
      draw()
    },
  }
}

const rounds = createRounds({
  listParts,
  ended(problems) {
    showProblems(problems)
    if (problems.length === 0) byId('updated').textContent = `as of ${new Date().toLocaleTimeString()}`
  },
  refused: () => signOut('That is not the admin token of this gateway.'),
  isSeen: () => !document.hidden,
})

/** Draws each part that was answered; the others stay as they are. */
function draw() {
  const { grouped, byDay, unpriced = [], limits, refusals, ledger, checks } = figures
  if (Object.keys(figures).length === 0) return
  byId('figures').hidden = false
  drawTotals()
  drawMeasures()
  drawGroups()
  if (byDay !== undefined) {
    const chart = { rows: byDay, days: CHART_DAYS, chosenDays: chosen.days, measure: chosen.measure }
    whenChanged('chart', [chart, byId('chart').clientWidth], () => drawChart(byId('chart'), chart))
  }
  if (grouped !== undefined) {
    const { rows, days, group } = grouped
    const names = new Set(unpriced.filter(lacksPrice).map(({ model }) => model))
    byId('usage-title').textContent =
      `Usage, ${PERIODS.find(({ value }) => value === days).label.toLowerCase()}`
    const whole = figures[days]?.cost_usd ?? 0
    const isCut = rows.length === MOST_ROWS
    whenChanged('usage', [rows, group, unpriced, whole], () =>
      drawUsage(byId('usage'), { rows, group, unpriced: names, whole, isCut }),
    )
  }
  drawUnpriced(byId('unpriced'), unpriced)
  if (limits !== undefined) whenChanged('limits', limits, () => drawBudgets(byId('budgets'), limits))
  if (refusals !== undefined) whenChanged('refused', refusals, () => drawRefused(byId('refused'), refusals))
  if (ledger !== undefined) drawLedger(byId('ledger'), ledger, checks?.checks)
  if (checks !== undefined) drawChecks(byId('checks'), checks)
}

function drawGroups() {
  choice(
    byId('groups'),
    GROUPS.map(({ value, heading }) => ({ value, content: [heading] })),
    chosen.group.value,
    (value) => {
      chosen.group = GROUPS.find((group) => group.value === value)
      draw()
      rounds.begin()
    },
  )
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
  const options = PERIODS.map(({ value, label }) => {
    const total = figures[value]
    if (total === undefined) return { value, content: [element('span', { class: 'label' }, label)] }
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
    rounds.begin()
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

/** Which parts are not of now, and why. Their figures of before stay. */
function showProblems(problems) {
  byId('problem').hidden = problems.length === 0
  byId('problem').textContent = sentenceOf(problems)
}

function signIn() {
  byId('sign-in').hidden = true
  byId('sign-out').hidden = false
  checkedAt = Number.NEGATIVE_INFINITY
  rounds.begin()
}

function signOut(problem = '') {
  rounds.stop()
  clearToken()
  figures = {}
  showProblems([])
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
  if (!document.hidden && hasToken()) rounds.begin()
})
new ResizeObserver(() => draw()).observe(byId('chart'))

if (hasToken()) signIn()
else signOut()
